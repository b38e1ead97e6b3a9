#include "workload/select.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace trainyard {
namespace {

/// Looking for room goes over every machine, and a trace repeats few demands very often: each
/// demand is looked at once.
class Fit {
 public:
  Fit(const Workload& workload, const Cluster& cluster) : workload_(workload), cluster_(cluster) {}

  bool operator()(const Job& job) {
    const Resources& each = job.per_worker;
    const Demand demand{index(job.kind), job.workers,     each.gpus,
                        each.milli_cpus, each.memory_mib, job.terms};
    const auto [known, is_new] = fits_.try_emplace(demand, false);
    if (is_new) known->second = misfit(workload_, job, cluster_).empty();
    return known->second;
  }

 private:
  using Demand =
      std::tuple<std::size_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, TermsId>;
  const Workload& workload_;
  const Cluster& cluster_;
  std::map<Demand, bool> fits_;
};

}  // namespace

void keep_first(std::size_t count, Workload& workload) {
  if (count >= workload.jobs.size()) return;
  workload.jobs.resize(count);
  if (!workload.names.empty()) workload.names.resize(count);
  if (!workload.curves.empty()) workload.curves.resize(count);
}

std::size_t count_larger(const Workload& workload, const Cluster& cluster) {
  Fit fits(workload, cluster);
  return static_cast<std::size_t>(
      std::ranges::count_if(workload.jobs, [&](const Job& job) { return !fits(job); }));
}

std::size_t drop_larger(const Cluster& cluster, Workload& workload, std::vector<Duration>* waits) {
  const bool has_waits = waits != nullptr && waits->size() == workload.jobs.size();
  Fit fits(workload, cluster);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    if (!fits(workload.jobs[i])) continue;
    if (kept != i) {
      workload.jobs[kept] = workload.jobs[i];
      if (!workload.names.empty()) workload.names[kept] = std::move(workload.names[i]);
      if (!workload.curves.empty()) workload.curves[kept] = std::move(workload.curves[i]);
      if (has_waits) (*waits)[kept] = (*waits)[i];
    }
    ++kept;
  }
  const std::size_t dropped = workload.jobs.size() - kept;
  keep_first(kept, workload);
  if (has_waits) waits->resize(kept);
  return dropped;
}

std::size_t mark_trials(Duration limit, std::int32_t max_gpus, Workload& workload) {
  std::size_t trials = 0;
  for (Job& job : workload.jobs) {
    const bool trial = job.duration < limit && job.gpus() <= max_gpus;
    job.job_class = trial ? JobClass::trial : JobClass::batch;
    trials += trial ? 1 : 0;
  }
  return trials;
}

}  // namespace trainyard
