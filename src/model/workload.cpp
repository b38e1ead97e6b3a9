#include "model/workload.h"

#include <optional>

namespace trainyard {

KindId cluster_kind(const Workload& workload, KindId kind, const Cluster& cluster) {
  if (kind == kAnyKind) return kAnyKind;
  return KindId{static_cast<std::uint16_t>(cluster.kinds.find(workload.kinds[index(kind)]))};
}

namespace {

std::string describe_demand(const Job& job, const MachineTerms& terms) {
  const std::string workers = fmt::format("{} worker{}", job.workers, job.workers == 1 ? "" : "s");
  if (terms.whole_machine) return workers + " of a whole machine each";
  const Resources& each = job.per_worker;
  const std::string cpus = terms.shares_cpus ? "a share of the CPUs"
                                             : fmt::format("{:g} CPUs", each.milli_cpus / 1000.0);
  const std::string memory =
      terms.shares_memory ? "a share of the memory" : format_memory(each.memory_mib);
  return fmt::format("{} of {} GPU{}, {} and {} each", workers, each.gpus,
                     each.gpus == 1 ? "" : "s", cpus, memory);
}

}  // namespace

std::string misfit(const Workload& workload, const Job& job, const Cluster& cluster) {
  static const MachineTerms kNone;
  const MachineTerms& terms = job.terms == kNoTerms ? kNone : workload.terms[job.terms];
  const KindId kind = cluster_kind(workload, job.kind, cluster);
  if (kind != kAnyKind && index(kind) == cluster.kinds.size())
    return fmt::format("wants GPUs of kind {}, and the cluster has none",
                       quoted(workload.kinds[index(job.kind)]));
  std::int64_t room = 0;
  bool is_met = false;
  for (const Machine& machine : cluster.machines) {
    if (kind != kAnyKind && machine.kind != kind) continue;
    is_met = is_met || meets(terms.constraint, cluster, machine);
    const Resources each = demand_on(terms, job.per_worker, cluster, machine);
    room += workers_that_fit(each, machine.capacity, job.workers);
    if (room >= job.workers) return {};
  }
  if (!is_met)
    return fmt::format("asks for a machine with {}, and none{} has that: {}",
                       quoted(describe(terms.constraint)),
                       kind == kAnyKind ? "" : " with its kind of GPU", describe_features(cluster));
  return fmt::format("needs {}; the empty cluster has room for {}", describe_demand(job, terms),
                     room);
}

Expected<void> check_fits(const Workload& workload, const Cluster& cluster) {
  std::size_t misfits = 0;
  std::string first;
  // Neighbours in a trace are often alike, and most machines are: remember the last good demand.
  std::optional<Job> fitted;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    if (fitted && job.workers <= fitted->workers && job.per_worker.fits_in(fitted->per_worker) &&
        job.kind == fitted->kind && job.terms == fitted->terms)
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
