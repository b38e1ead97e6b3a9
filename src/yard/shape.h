// The shape of a job: all that a placement looks at. A trace of a million jobs has a few dozen.
//
// What a worker takes may differ from machine to machine (model/machine_terms.h). A shape then has
// a MachineFit: for each machine the demand there, kForbidden where the job may not run, so that
// counting the workers that fit checks features as well. Jobs without terms have none, and cost a
// compare.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/resources.h"
#include "model/job.h"
#include "model/workload.h"

namespace trainyard {

enum class ShapeId : std::uint32_t {};

/// What a worker takes of each machine, where that differs.
struct MachineFit {
  std::vector<Resources> demands;         // the first is kForbidden
  std::vector<std::uint32_t> by_machine;  // which of them
  std::vector<bool> kinds;                // of GPU: those with a machine that is not forbidden

  auto operator<=>(const MachineFit&) const = default;
};

struct Shape {
  Resources per_worker;  // with a MachineFit, the least that a worker takes anywhere
  std::int32_t workers = 1;
  KindId kind = kAnyKind;  // numbered by the cluster
  JobClass job_class = JobClass::batch;
  bool skewed = false;  // its model suffers when spread over machines (perf/skew.h)
  TermsId terms = kNoTerms;
  const MachineFit* fit = nullptr;  // of jobs with terms; kept by Shapes

  bool operator==(const Shape&) const = default;
  [[nodiscard]] std::int32_t gpus() const { return workers * per_worker.gpus; }
  /// What a worker takes of this machine; kForbidden where its terms keep the job from it.
  [[nodiscard]] const Resources& demand(MachineId machine) const {
    return fit == nullptr ? per_worker : fit->demands[fit->by_machine[index(machine)]];
  }
  /// How many workers, `most` at most, fit into `room` on this machine.
  [[nodiscard]] std::int32_t fitting(MachineId machine, const Resources& room,
                                     std::int32_t most) const {
    return workers_that_fit(demand(machine), room, most);
  }
  /// True if the job may run on some machine with GPUs of this kind.
  [[nodiscard]] bool suits(KindId gpus) const {
    return (kind == kAnyKind || kind == gpus) && (fit == nullptr || fit->kinds[index(gpus)]);
  }
};

/// Numbers shapes in order of first appearance.
class Shapes {
 public:
  Shapes() = default;
  Shapes(const Shapes&) = delete;
  Shapes& operator=(const Shapes&) = delete;

  ShapeId of(const Job& job, const Workload& workload, const Cluster& cluster);
  [[nodiscard]] const Shape& operator[](ShapeId id) const { return shapes_[index(id)]; }
  [[nodiscard]] std::size_t size() const { return shapes_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Shape& shape) const;
  };
  /// Finds the demand on each machine, and makes `shape.per_worker` the least of them.
  void add_fit(const MachineTerms& terms, const Cluster& cluster, Shape& shape);

  std::vector<Shape> shapes_;
  std::unordered_map<Shape, ShapeId, Hash> ids_;
  std::set<MachineFit> fits_;  // whose elements stay where they are
  Shape last_;                 // a run of equal jobs, the common case, needs no look-up
  ShapeId last_id_{0};
};

}  // namespace trainyard
