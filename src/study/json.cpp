#include "study/json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace trainyard {
namespace {

using nlohmann::ordered_json;

ordered_json summary_json(const Summary& s) {
  return {{"mean", s.mean}, {"p50", s.p50}, {"p95", s.p95}, {"p99", s.p99}, {"max", s.max}};
}

ordered_json class_json(const JobTimes& times) {
  return {{"jobs", times.jobs},
          {"jct_s", summary_json(times.jct_s)},
          {"wait_s", summary_json(times.wait_s)},
          {"slowdown", summary_json(times.slowdown)}};
}

ordered_json placements_json(const std::vector<Result::TierStarts>& placements) {
  ordered_json json = ordered_json::object();
  for (const Result::TierStarts& tier : placements) json[tier.tier] = tier.starts;
  return json;
}

ordered_json gain_json(const Result& r) {
  return {{"expected", r.pause_gain_s.expected}, {"actual", r.pause_gain_s.actual}};
}

ordered_json failures_json(const FailureSum& sum) {
  return {{"machines", sum.machines}, {"runs", sum.runs}, {"lost_gpu_s", sum.lost_gpu_s}};
}

void collect(const ordered_json& json, const std::string& path, std::vector<Number>& numbers) {
  for (const auto& [key, value] : json.items()) {
    const std::string here = path.empty() ? key : path + "." + key;
    if (value.is_object()) collect(value, here, numbers);
    if (value.is_number() && here != "seed") numbers.push_back({here, value.get<double>()});
  }
}

ordered_json intervals_json(const std::vector<ordered_json>& runs) {
  std::vector<std::vector<Number>> numbers;  // all runs have the same ones in the same order
  for (const ordered_json& run : runs) numbers.push_back(numbers_of(run));
  ordered_json intervals = ordered_json::object();
  for (std::size_t i = 0; !numbers.empty() && i < numbers.front().size(); ++i) {
    std::vector<double> values;
    for (const auto& run : numbers) values.push_back(run[i].value);
    intervals[numbers.front()[i].path] = to_json(mean_interval(values));
  }
  return intervals;
}

/// One object a seed.
ordered_json bounds_json(const std::vector<LowerBound>& bounds,
                         const std::vector<std::uint64_t>& seeds) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < bounds.size(); ++i) list.push_back(to_json(bounds[i], seeds[i]));
  return list;
}

ordered_json learning_json(const LearningResult& r) {
  return {{"jobs", r.jobs},
          {"to_90_s", summary_json(r.to_90_s)},
          {"to_95_s", summary_json(r.to_95_s)},
          {"late_slowdown", summary_json(r.late_slowdown)},
          {"interval_s", r.interval.seconds()},
          {"accuracy", r.accuracy}};
}

}  // namespace

ordered_json to_json(const Result& r) {
  ordered_json json = {
      {"policy", r.policy},
      {"jobs", r.jobs},
      {"finished", r.finished},
      {"makespan_s", r.makespan_s},
      {"jct_s", summary_json(r.all.jct_s)},
      {"wait_s", summary_json(r.all.wait_s)},
      {"slowdown", summary_json(r.all.slowdown)},
      {"by_class", {{"trial", class_json(r.trial)}, {"batch", class_json(r.batch)}}},
      {"pause_costs", r.pause_costs},
      {"preemptions", r.preemptions},
      {"paused_jobs", r.paused_jobs},
      {"away_s", summary_json(r.away_s)},
      {"pause_gain_s", gain_json(r)},
      {"lost_gpu_s", r.lost_gpu_s},
      {"failures", failures_json(r.failures)},
      {"slowed_gpu_s", r.slowed_gpu_s},
      {"slowed_mean_s", r.slowed_mean_s},
      {"placements", placements_json(r.placements)},
      {"gpu_utilization", r.gpu_utilization},
      {"fairness_jain", r.fairness_jain},
      {"events", r.events},
      {"decisions", r.decisions},
      {"decision_us",
       {{"p50", r.decision_us.p50}, {"p99", r.decision_us.p99}, {"max", r.decision_us.max}}},
      {"wall_s", r.wall_s},
      {"events_per_s", r.events_per_s},
      {"jobs_per_s", r.jobs_per_s},
      {"seed", r.seed}};
  if (r.learning.jobs > 0) json["learning"] = learning_json(r.learning);
  return json;
}

ordered_json to_json(const Interval& interval) {
  const auto [mean, half_width] = interval;
  return {{"mean", mean}, {"low", mean - half_width}, {"high", mean + half_width}};
}

ordered_json to_json(const LowerBound& bound, std::uint64_t seed) {
  std::vector<double> price = bound.prices.price;
  if (bound.jobs > 0) price.push_back(0);
  return {{"seed", seed},
          {"jobs", bound.jobs},
          {"mean_jct_s", bound.mean_jct_s},
          {"mean_run_s", bound.mean_run_s},
          {"gpu_price", {{"from_s", bound.prices.from_s}, {"price", std::move(price)}}}};
}

ordered_json to_json(const BoundRuns& runs) {
  ordered_json bounds = bounds_json(runs.bounds, runs.seeds);
  ordered_json intervals = intervals_json({bounds.begin(), bounds.end()});
  return {{"workload", runs.workload},
          {"cluster", runs.cluster},
          {"seeds", runs.seeds},
          {"bounds", std::move(bounds)},
          {"intervals", std::move(intervals)}};
}

std::vector<Number> numbers_of(const ordered_json& run) {
  std::vector<Number> numbers;
  collect(run, "", numbers);
  return numbers;
}

ordered_json to_json(const Comparison& comparison) {
  ordered_json results = ordered_json::array();
  ordered_json intervals = ordered_json::object();
  for (const PolicyRuns& policy : comparison.policies) {
    std::vector<ordered_json> runs;
    for (const Run& run : policy.runs) runs.push_back(to_json(run.result));
    intervals[policy.policy] = intervals_json(runs);
    for (ordered_json& run : runs) results.push_back(std::move(run));
  }
  ordered_json json = {{"workload", comparison.workload},
                       {"cluster", comparison.cluster},
                       {"seeds", comparison.seeds},
                       {"results", std::move(results)},
                       {"intervals", std::move(intervals)}};
  if (!comparison.bounds.empty()) json["bounds"] = bounds_json(comparison.bounds, comparison.seeds);
  return json;
}

std::string to_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace trainyard
