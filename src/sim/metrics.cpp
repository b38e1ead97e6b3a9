// From the yard's books to the result of a run.
#include <algorithm>

#include "base/cycle_clock.h"
#include "model/counted.h"
#include "sim/simulation.h"

namespace trainyard {
namespace {

double slowdown(const Job& job, const JobState& state) {
  return (state.end() - job.submit).seconds() / job.duration.seconds();
}

/// One metric after the other over the same scratch, so that a million jobs need 8 MB, not 72. Jobs
/// that come while the cluster fills or empties may be left out.
template <class Wanted>
JobTimes times_of(const Yard& yard, Wanted wanted, std::vector<double>& scratch) {
  const auto over_jobs = [&](auto metric) {
    scratch.clear();
    const Workload& workload = yard.workload();
    for (std::size_t i = 0; i < yard.jobs(); ++i) {
      const JobId id{static_cast<std::uint32_t>(i)};
      if (counts(workload, i) && yard.state(id).phase == Phase::done && wanted(yard.job(id)))
        scratch.push_back(metric(yard.job(id), yard.state(id)));
    }
    return summarize(scratch);
  };
  JobTimes times;
  times.jct_s = over_jobs(
      [](const Job& job, const JobState& state) { return (state.end() - job.submit).seconds(); });
  times.jobs = scratch.size();
  times.wait_s =
      over_jobs([](const Job&, const JobState& state) { return state.waited.seconds(); });
  times.slowdown = over_jobs(slowdown);
  return times;
}

std::string pause_costs(PauseCosts from, bool are_free) {
  if (are_free) return "free";
  return from == PauseCosts::modelled ? "modelled" : "given";
}

}  // namespace

void Simulation::add_placements_and_pauses(Result& result) const {
  const std::vector<Tier>& tiers = yard_.cluster().tiers;
  for (std::size_t i = 0; i < tiers.size(); ++i)
    result.placements.push_back({tiers[i].name, tiers_.starts()[i]});
  std::vector<double> away_s = pauses_.away_s();
  result.away_s = summarize(away_s);
  for (const PauseGains::Pause& pause : gains_.pauses()) {
    if (pause.pending > 0) continue;
    result.pause_gain_s.expected += pause.expected_s;
    result.pause_gain_s.actual += pause.actual_s;
  }
}

void Simulation::add_times(Result& result, std::vector<double>& scratch) const {
  result.trial = times_of(
      yard_, [](const Job& job) { return job.job_class == JobClass::trial; }, scratch);
  result.batch = times_of(
      yard_, [](const Job& job) { return job.job_class == JobClass::batch; }, scratch);
  // Most workloads have one class only; then its figures are those of all.
  if (result.trial.jobs == 0) {
    result.all = result.batch;
  } else if (result.batch.jobs == 0) {
    result.all = result.trial;
  } else {
    result.all = times_of(
        yard_, [](const Job&) { return true; }, scratch);
  }
}

Result Simulation::result() const {
  Result result;
  result.policy = policy_name_;
  result.seed = options_.seed;
  result.jobs = workload_.jobs.size();
  Time last;
  double lost_gpu_us = 0, slowed_gpu_us = 0, slowed_us = 0;
  bool pauses_are_free = true;
  std::vector<double> scratch;
  scratch.reserve(yard_.jobs());
  for (std::size_t i = 0; i < yard_.jobs(); ++i) {
    const JobId id{static_cast<std::uint32_t>(i)};
    const Job& job = yard_.job(id);
    const JobState& state = yard_.state(id);
    pauses_are_free = pauses_are_free && job.grace.us + job.save.us + job.load.us == 0;
    result.preemptions += state.pauses;
    if (state.pauses > 0) ++result.paused_jobs;
    if (!job.is_elastic()) {
      lost_gpu_us += static_cast<double>(state.lost.us) * job.gpus();
      slowed_gpu_us += static_cast<double>(state.slowed.us) * job.gpus();
    }
    if (state.phase != Phase::done) continue;
    ++result.finished;
    slowed_us += static_cast<double>(state.slowed.us);
    last = std::max(last, state.end());
    scratch.push_back(1 / slowdown(job, state));
  }
  if (elastic_) {
    const ElasticTime::Sums elastic = elastic_->sums();
    lost_gpu_us += elastic.lost, slowed_gpu_us += elastic.slowed;
  }
  result.pause_costs = pause_costs(workload_.pause_costs, pauses_are_free);
  result.lost_gpu_s = lost_gpu_us / 1e6;
  if (failures_) result.failures = failures_->sum();
  result.slowed_gpu_s = slowed_gpu_us / 1e6;
  add_placements_and_pauses(result);
  if (result.finished > 0) {
    result.slowed_mean_s = slowed_us / 1e6 / static_cast<double>(result.finished);
    result.makespan_s = (last - workload_.jobs.front().submit).seconds();
    result.fairness_jain = jain_index(scratch);
  }
  add_times(result, scratch);
  if (learning_) result.learning = learning_->result();
  const double gpus = yard_.cluster().total_gpus;
  if (result.makespan_s > 0 && gpus > 0)
    result.gpu_utilization = utilization_.gpu_us() / 1e6 / gpus / result.makespan_s;
  result.utilization = utilization_.series(yard_.cluster().total_gpus);
  result.events = events_;
  result.decisions = decision_ticks_.count();
  const double rate = CycleClock::ticks_per_us();
  result.decision_us.p50 = decision_ticks_.percentile(0.50) / rate;
  result.decision_us.p99 = decision_ticks_.percentile(0.99) / rate;
  result.decision_us.max = static_cast<double>(decision_ticks_.max()) / rate;
  result.wall_s = wall_s_;
  if (wall_s_ > 0) {
    result.events_per_s = static_cast<double>(events_) / wall_s_;
    result.jobs_per_s = static_cast<double>(result.finished) / wall_s_;
  }
  return result;
}

}  // namespace trainyard
