// The shape of a job: all that a placement looks at. A trace of a million jobs has a few dozen.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/resources.h"
#include "model/job.h"
#include "model/workload.h"

namespace trainyard {

enum class ShapeId : std::uint32_t {};

struct Shape {
  Resources per_worker;
  std::int32_t workers = 1;
  KindId kind = kAnyKind;  // numbered by the cluster
  JobClass job_class = JobClass::batch;
  bool skewed = false;  // its model suffers when spread over machines (perf/skew.h)

  bool operator==(const Shape&) const = default;
  [[nodiscard]] std::int32_t gpus() const { return workers * per_worker.gpus; }
};

/// Numbers shapes in order of first appearance.
class Shapes {
 public:
  ShapeId of(const Job& job, const Workload& workload, const Cluster& cluster);
  [[nodiscard]] const Shape& operator[](ShapeId id) const { return shapes_[index(id)]; }
  [[nodiscard]] std::size_t size() const { return shapes_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Shape& shape) const;
  };
  std::vector<Shape> shapes_;
  std::unordered_map<Shape, ShapeId, Hash> ids_;
  Shape last_;  // a run of equal jobs, the common case, needs no look-up
  ShapeId last_id_{0};
};

}  // namespace trainyard
