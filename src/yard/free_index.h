// What is free where: every machine's free resources, and for each kind of GPU (and for "any") the
// machines and racks by their free GPUs. Answers "which machines have d free GPUs of this kind",
// "which rack has", and "how much is free" in a few loads. CPUs and memory are not indexed: GPUs
// are what runs out, so a query filters the machines with enough GPUs by the rest.
#pragma once

#include <algorithm>
#include <vector>

#include "model/cluster.h"
#include "model/placement.h"
#include "yard/count_index.h"

namespace trainyard {

class FreeIndex {
 public:
  /// Racks with more free GPUs than this count as having this many.
  static constexpr std::size_t kRackBuckets = 1024;

  /// The machines and racks that have GPUs of one kind, by how many of those are free.
  struct OfKind {
    CountIndex machines, racks;
    std::vector<std::int32_t> free_in_rack;
    std::int64_t free_gpus = 0;
  };

  /// All machines up and empty.
  explicit FreeIndex(const Cluster& cluster);

  [[nodiscard]] const Resources& on(MachineId machine) const { return free_[index(machine)]; }
  [[nodiscard]] const OfKind& of(KindId kind) const {
    return kinds_[kind == kAnyKind ? kinds_.size() - 1 : index(kind)];
  }
  [[nodiscard]] bool is_up(MachineId machine) const { return up_[index(machine)]; }

  void take(MachineId machine, const Resources& amount) { change(machine, on(machine) - amount); }
  void give(MachineId machine, const Resources& amount) { change(machine, on(machine) + amount); }
  /// A machine that is down keeps its books, but nobody finds it.
  void set_up(MachineId machine, bool up);

  /// How often there were more free GPUs than before: as long as this stays, there are nowhere more
  /// than there were.
  [[nodiscard]] std::uint64_t gives() const { return gives_; }

 private:
  void change(MachineId machine, const Resources& now);
  void list(OfKind& of, MachineId machine, std::int32_t before, std::int32_t after);

  const Cluster& cluster_;
  std::vector<Resources> free_;
  std::vector<bool> up_;
  std::vector<OfKind> kinds_;  // the last is "any"; it is the only one when there is one kind
  std::uint64_t gives_ = 0;
};

}  // namespace trainyard
