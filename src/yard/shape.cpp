#include "yard/shape.h"

#include "perf/skew.h"

namespace trainyard {

std::size_t Shapes::Hash::operator()(const Shape& shape) const {
  std::uint64_t hash = 0;
  for (const std::uint64_t part :
       {std::uint64_t(shape.per_worker.gpus), std::uint64_t(shape.per_worker.milli_cpus),
        std::uint64_t(shape.per_worker.memory_mib), std::uint64_t(shape.workers),
        std::uint64_t(shape.kind) * 4 + std::uint64_t(shape.job_class) * 2 + shape.skewed}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

ShapeId Shapes::of(const Job& job, const Workload& workload, const Cluster& cluster) {
  Shape shape{job.per_worker, job.workers, cluster_kind(workload, job.kind, cluster), job.job_class,
              job.model != kNoModel && is_skewed(workload.models[index(job.model)])};
  if (!shapes_.empty() && shape == last_) return last_id_;
  const auto [found, is_new] = ids_.try_emplace(shape, ShapeId{static_cast<std::uint32_t>(size())});
  if (is_new) shapes_.push_back(shape);
  last_ = shape;
  last_id_ = found->second;
  return last_id_;
}

}  // namespace trainyard
