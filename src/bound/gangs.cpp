#include "bound/gangs.h"

#include <algorithm>

#include "model/counted.h"

namespace trainyard {
namespace {

/// Of the kinds that it takes; 1 where its duration holds.
double highest_power(const Workload& workload, const Cluster& cluster, const PlacementSpeed& speed,
                     const Job& job) {
  if (job.measured_on == kAnyKind || job.per_worker.gpus == 0) return 1;
  if (job.kind != kAnyKind) return speed.power(job, cluster_kind(workload, job.kind, cluster));
  double highest = 0;
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind)
    highest = std::max(highest, speed.power(job, KindId{static_cast<std::uint16_t>(kind)}));
  return highest;
}

/// Of checkpoints, or of pauses in their place.
Duration least_interruptions(const Job& job) {
  if (job.checkpoint_interval.us == 0) return {};
  const std::int64_t count = (job.duration.us - 1) / job.checkpoint_interval.us;
  return std::min(job.checkpoint_cost, job.grace + job.save + job.load) * count;
}

std::int32_t most_workers(const Job& job, const Cluster& cluster) {
  if (job.per_worker.gpus == 0) return job.max_workers;
  return std::min(job.max_workers, cluster.total_gpus / job.per_worker.gpus);
}

}  // namespace

std::vector<Gang> gangs_of(const Workload& workload, const Cluster& cluster,
                           const PlacementSpeed& speed) {
  std::vector<Gang> gangs;
  const Time origin = workload.jobs.empty() ? Time{} : workload.jobs.front().submit;
  for (std::size_t j = 0; j < workload.jobs.size(); ++j) {
    if (!counts(workload, j)) continue;
    const Job& job = workload.jobs[j];
    const Duration load = job.first_start_loads ? job.load : Duration{};
    const double work_s = job.duration.seconds() / highest_power(workload, cluster, speed, job);
    Gang gang{.submit_s = (job.submit - origin).seconds()};
    if (job.is_elastic()) {
      const std::int32_t workers = most_workers(job, cluster);
      gang.ready_s = gang.submit_s + load.seconds();
      gang.length_s = work_s * job.workers / workers;
      gang.gpus = static_cast<double>(workers) * job.per_worker.gpus;
    } else {
      gang.ready_s = gang.submit_s;
      gang.length_s = (load + least_interruptions(job)).seconds() + work_s;
      gang.gpus = job.gpus();
    }
    gangs.push_back(gang);
  }
  return gangs;
}

}  // namespace trainyard
