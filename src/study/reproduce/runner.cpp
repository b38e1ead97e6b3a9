#include "study/reproduce/runner.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>

#include "bound/gangs.h"
#include "perf/catalogue_speed.h"
#include "study/bound.h"
#include "study/instances.h"
#include "study/json.h"
#include "study/parallel.h"
#include "study/promises.h"
#include "study/recipe.h"
#include "workload/generate/generate.h"
#include "workload/pauses.h"
#include "workload/read.h"

namespace trainyard {
namespace {

/// What is measured of the machine, not of the run.
bool is_of_the_machine(std::string_view metric) {
  constexpr std::array<std::string_view, 3> kSpeeds{"wall_s", "events_per_s", "jobs_per_s"};
  return metric.starts_with("decision_us.") || std::ranges::find(kSpeeds, metric) != kSpeeds.end();
}

Expected<Workload> make_workload(const StudyRun& run, const Cluster& cluster) {
  return names_generator(run.workload) ? generate(run.workload, cluster, run.seed)
                                       : read_workload(run.workload);
}

/// Workload and cluster of several runs: made for the first of them, gone after the last.
class Ground {
 public:
  void add_user() { ++users_; }
  /// Of runs that are done already, too: what is made depends on the plan alone.
  void note(const StudyRun& run) {
    const auto policy = PolicySpec::parse(policy_of_line(run.policy), run.settings);
    with_curves_ = with_curves_ || (policy && goes_by_curves(*policy));
  }

  Expected<Metrics> run(const StudyRun& run) {
    auto metrics = simulate(run);
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) made_.reset();
    return metrics;
  }

 private:
  struct Made {
    Cluster cluster;
    Workload workload;
    Catalogue models;
  };

  Expected<Metrics> simulate(const StudyRun& run) {
    if (auto ok = make(run); !ok) return tl::make_unexpected(ok.error());
    if (run.policy == kLowerBoundLine) return bound();
    const auto policy = PolicySpec::parse(policy_of_line(run.policy), run.settings);
    if (!policy) return tl::make_unexpected(policy.error());
    const auto network = parse_network(run.network);
    if (!network) return tl::make_unexpected(network.error());
    const SimOptions options{.seed = run.seed, .models = &made_->models, .network = *network};
    if (names_forecast(run.policy))
      return judge_promises(made_->cluster, made_->workload, *policy, options);
    const auto simulation = make_simulation(made_->cluster, made_->workload, *policy, options);
    if (!simulation) return tl::make_unexpected(simulation.error());
    (*simulation)->run();
    Metrics metrics = metrics_of((*simulation)->result());
    metrics.emplace(kPauseTakes, mean_pause(made_->workload).seconds());
    return metrics;
  }

  [[nodiscard]] Metrics bound() const {
    const auto& [cluster, workload, models] = *made_;
    const std::vector<Gang> gangs =
        gangs_of(workload, cluster, CatalogueSpeed(cluster, workload, models));
    const auto jobs = static_cast<double>(workload.jobs.size());
    return {{"jobs", jobs},
            {"finished", jobs},
            {"jct_s.mean", lower_bound(gangs, cluster.total_gpus).mean_jct_s}};
  }

  Expected<void> make(const StudyRun& run) {
    const std::lock_guard lock(mutex_);
    if (made_) return {};
    auto cluster = parse_study_cluster(run.cluster);
    if (!cluster) return tl::make_unexpected(cluster.error());
    auto workload = make_workload(run, *cluster);
    if (!workload) return tl::make_unexpected(workload.error());
    Catalogue models = Catalogue::builtin();
    if (!run.models.empty())
      if (auto ok = models.add_toml(run.models, "its models"); !ok) return ok;
    if (auto ok = prepare(*cluster, models, {.with_curves = with_curves_}, *workload); !ok)
      return ok;
    made_ = Made{std::move(*cluster), std::move(*workload), std::move(models)};
    return {};
  }

  std::mutex mutex_;  // guards the making and the end of made_, which is read without it between
  std::optional<Made> made_;
  std::size_t users_ = 0;
  bool with_curves_ = false;
};

using Grounds = std::map<std::tuple<std::string, std::string, std::uint64_t, std::string>, Ground>;

Ground& ground_of(const StudyRun& run, Grounds& grounds) {
  return grounds[{run.cluster, run.workload, run.seed, run.models}];
}

}  // namespace

Metrics metrics_of(const Result& result) {
  Metrics metrics;
  for (const Number& number : numbers_of(to_json(result)))
    if (!is_of_the_machine(number.path)) metrics.emplace(number.path, number.value);
  for (const LearningOfJob& of : result.learning.by_job) {
    metrics.emplace(fmt::format("learning.by_job.{}.to_90_s", index(of.job)), of.to_90_s);
    metrics.emplace(fmt::format("learning.by_job.{}.to_95_s", index(of.job)), of.to_95_s);
  }
  return metrics;
}

Expected<std::vector<Metrics>> run_plan(const StudyPlan& plan, const RunnerOptions& options) {
  std::vector<Metrics> results(plan.runs.size());
  std::vector<std::size_t> left;
  Grounds grounds;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const StudyRun& run = plan.runs[i];
    const Metrics* known = options.journal ? options.journal->find(run) : nullptr;
    if (known != nullptr)
      results[i] = *known;
    else
      left.push_back(i);
    if (names_instances(run.policy)) continue;
    Ground& ground = ground_of(run, grounds);
    ground.note(run);
    if (known == nullptr) ground.add_user();
  }
  options.on_begin(plan.runs.size() - left.size());
  const auto run_one = [&](std::size_t i) -> Expected<void> {
    const StudyRun& run = plan.runs[left[i]];
    auto metrics = names_instances(run.policy) ? solve_instances(run.policy, run.seed)
                                               : ground_of(run, grounds).run(run);
    if (!metrics)
      return fail_at(fmt::format("{} with seed {}", run.policy, run.seed), metrics.error());
    if (options.journal) options.journal->add(run, *metrics);
    results[left[i]] = std::move(*metrics);
    options.on_run_done();
    return {};
  };
  if (auto ok = in_parallel(left.size(), options.threads, run_one); !ok)
    return tl::make_unexpected(ok.error());
  return results;
}

}  // namespace trainyard
