#include "model/workload.h"

#include <optional>

namespace trainyard {

KindId cluster_kind(const Workload& workload, KindId kind, const Cluster& cluster) {
  if (kind == kAnyKind) return kAnyKind;
  return KindId{static_cast<std::uint16_t>(cluster.kinds.find(workload.kinds[index(kind)]))};
}

std::string misfit(const Workload& workload, const Job& job, const Cluster& cluster) {
  const KindId kind = cluster_kind(workload, job.kind, cluster);
  if (kind != kAnyKind && index(kind) == cluster.kinds.size())
    return fmt::format("wants GPUs of kind {}, and the cluster has none",
                       quoted(workload.kinds[index(job.kind)]));
  std::int64_t room = 0;
  for (const Machine& machine : cluster.machines) {
    if (kind != kAnyKind && machine.kind != kind) continue;
    room += workers_that_fit(job.per_worker, machine.capacity, job.workers);
    if (room >= job.workers) return {};
  }
  const Resources& each = job.per_worker;
  return fmt::format(
      "needs {} worker{} of {} GPU{}, {:g} CPUs and {} each; the empty cluster has room for {}",
      job.workers, job.workers == 1 ? "" : "s", each.gpus, each.gpus == 1 ? "" : "s",
      each.milli_cpus / 1000.0, format_memory(each.memory_mib), room);
}

Expected<void> check_fits(const Workload& workload, const Cluster& cluster) {
  std::size_t misfits = 0;
  std::string first;
  // Neighbours in a trace are often alike, and most machines are: remember the last good demand.
  std::optional<Job> fitted;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    if (fitted && job.workers <= fitted->workers && job.per_worker.fits_in(fitted->per_worker) &&
        job.kind == fitted->kind)
      continue;
    const std::string why = misfit(workload, job, cluster);
    if (why.empty()) {
      fitted = job;
    } else if (misfits++ == 0) {
      first = fmt::format("{}: job {} {}", workload.source,
                          workload.job_name(JobId{static_cast<std::uint32_t>(i)}), why);
    }
  }
  if (misfits == 0) return {};
  return fail(
      "{} ({} of {} jobs are too large; take a larger cluster, or leave them out with "
      "--drop-larger)",
      first, misfits, workload.jobs.size());
}

}  // namespace trainyard
