#include "live/loop/live_demand.h"

#include <algorithm>
#include <limits>

#include "perf/catalogue_speed.h"

namespace trainyard {
namespace {

/// As much as fits into the type: more than any machine has all the same.
std::int32_t times(std::int32_t amount, std::int32_t workers) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(
      std::int64_t{amount} * workers, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

void set_demand(Job& job, const JobSpec& spec, Workload& workload) {
  // A job whose size may vary starts with the fewest workers, of which its time is said.
  job.workers = job.min_workers = spec.workers;
  job.max_workers = spec.sizes().max;
  job.per_worker = spec.per_worker;
  if (spec.exclusive) {
    job.per_worker.gpus = times(spec.per_worker.gpus, spec.workers);
    job.per_worker.memory_mib = times(spec.per_worker.memory_mib, spec.workers);
    job.workers = job.min_workers = job.max_workers = 1;
  }
  const MachineTerms terms = terms_of(spec);
  if (terms != MachineTerms{}) job.terms = workload.terms.add(terms);
}

void set_kinds(Job& job, const JobSpec& spec, const Cluster& cluster, Workload& workload) {
  const auto number = [&](const std::string& kind) {
    return KindId{static_cast<std::uint16_t>(workload.kinds.add(kind))};
  };
  if (!spec.gpu_kind.empty())
    if (const auto kind = kind_named(spec.gpu_kind, cluster))
      job.kind = number(cluster.kinds[index(*kind)]);
  if (!spec.measured_on.empty()) job.measured_on = number(spec.measured_on);
}

Resources share_on(const JobSpec& spec, const Machine& machine) {
  const Resources there = amounts_on(terms_of(spec), spec.per_worker, machine.capacity);
  return there == kForbidden ? spec.per_worker : there;
}

std::int32_t fewest_gpus(const JobSpec& spec, const Cluster& cluster) {
  if (!spec.exclusive) return spec.per_worker.gpus;
  std::int32_t fewest = kForbidden.gpus;
  for (const Machine& machine : cluster.machines)
    fewest = std::min(fewest, demand_on(terms_of(spec), spec.per_worker, cluster, machine).gpus);
  return fewest == kForbidden.gpus ? spec.per_worker.gpus : fewest / spec.workers;
}

std::string misfit(const JobSpec& spec, const Cluster& cluster) {
  if (!spec.gpu_kind.empty())
    if (const auto kind = kind_named(spec.gpu_kind, cluster); !kind) return kind.error().message;
  if (!spec.measured_on.empty())
    if (std::string why = unknown_measure(spec.measured_on, cluster, Catalogue::builtin());
        !why.empty())
      return why;
  const bool could_share = std::ranges::any_of(cluster.machines, [&](const Machine& machine) {
    return machine.capacity.gpus > 0 && machine.capacity.gpus % spec.workers == 0;
  });
  if (spec.exclusive && !could_share)
    return fmt::format(
        "asks for a whole machine, and no machine has GPUs that {} workers can share evenly",
        spec.workers);
  Workload workload;
  Job job;
  set_demand(job, spec, workload);
  set_kinds(job, spec, cluster, workload);
  return misfit(workload, job, cluster);
}

}  // namespace trainyard
