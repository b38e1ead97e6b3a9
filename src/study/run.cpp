#include "study/run.h"

#include "model/counted.h"

namespace trainyard {
namespace {

template <class Wanted>
JobDistributions distributions(const Yard& yard, Wanted wanted) {
  std::vector<double> jct, wait, slowdown;
  for (std::size_t i = 0; i < yard.jobs(); ++i) {
    const JobId id{static_cast<std::uint32_t>(i)};
    const Job& job = yard.job(id);
    const JobState& state = yard.state(id);
    if (!counts(yard.workload(), i) || state.phase != Phase::done || !wanted(job)) continue;
    jct.push_back((state.end() - job.submit).seconds());
    wait.push_back(state.waited.seconds());
    slowdown.push_back(jct.back() / job.duration.seconds());
  }
  return {distribution_of(jct), distribution_of(wait), distribution_of(slowdown)};
}

}  // namespace

Run summarize_run(const Simulation& simulation) {
  const Yard& yard = simulation.yard();
  Run run{simulation.result(), distributions(yard, [](const Job&) { return true; }),
          distributions(yard, [](const Job& job) { return job.job_class == JobClass::trial; }),
          distributions(yard, [](const Job& job) { return job.job_class == JobClass::batch; })};
  std::int32_t least = 0;
  for (std::size_t i = 0; i < kSizeGroups.size(); ++i) {
    const std::int32_t most = kSizeGroups[i].most_gpus;
    run.by_size[i] = distributions(
        yard, [&](const Job& job) { return job.gpus() >= least && job.gpus() <= most; });
    if (most < std::numeric_limits<std::int32_t>::max()) least = most + 1;
  }
  return run;
}

}  // namespace trainyard
