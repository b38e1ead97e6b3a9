#include "yard/shape.h"

#include <algorithm>

#include "perf/skew.h"

namespace trainyard {

std::size_t Shapes::Hash::operator()(const Shape& shape) const {
  std::uint64_t hash = 0;
  for (const std::uint64_t part :
       {std::uint64_t(shape.per_worker.gpus), std::uint64_t(shape.per_worker.milli_cpus),
        std::uint64_t(shape.per_worker.memory_mib), std::uint64_t(shape.workers),
        std::uint64_t(shape.terms),
        std::uint64_t(shape.kind) * 4 + std::uint64_t(shape.job_class) * 2 + shape.skewed}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

ShapeId Shapes::of(const Job& job, const Workload& workload, const Cluster& cluster) {
  Shape shape{job.per_worker,
              job.workers,
              cluster_kind(workload, job.kind, cluster),
              job.job_class,
              job.model != kNoModel && is_skewed(workload.models[index(job.model)]),
              job.terms};
  if (!shapes_.empty() && shape == last_) return last_id_;
  const auto [found, is_new] = ids_.try_emplace(shape, ShapeId{static_cast<std::uint32_t>(size())});
  if (is_new) {
    shapes_.push_back(shape);
    if (job.terms != kNoTerms) add_fit(workload.terms[job.terms], cluster, shapes_.back());
  }
  last_ = shape;
  last_id_ = found->second;
  return last_id_;
}

void Shapes::add_fit(const MachineTerms& terms, const Cluster& cluster, Shape& shape) {
  MachineFit fit{{kForbidden}, {}, std::vector<bool>(cluster.kinds.size())};
  Resources least = kForbidden;
  for (const Machine& machine : cluster.machines) {
    const bool is_its_kind = shape.kind == kAnyKind || shape.kind == machine.kind;
    const Resources here =
        is_its_kind ? demand_on(terms, shape.per_worker, cluster, machine) : kForbidden;
    const auto known = std::ranges::find(fit.demands, here);
    fit.by_machine.push_back(static_cast<std::uint32_t>(known - fit.demands.begin()));
    if (known == fit.demands.end()) fit.demands.push_back(here);
    if (here == kForbidden) continue;
    fit.kinds[index(machine.kind)] = true;
    least = {std::min(least.gpus, here.gpus), std::min(least.milli_cpus, here.milli_cpus),
             std::min(least.memory_mib, here.memory_mib)};
  }
  if (fit.demands.size() > 1) shape.per_worker = least;
  shape.fit = &*fits_.insert(std::move(fit)).first;
}

}  // namespace trainyard
