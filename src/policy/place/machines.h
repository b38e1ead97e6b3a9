// What the placements share: filling machines with the workers of a gang until it is whole.
#pragma once

#include <algorithm>

#include "policy/extend.h"

namespace trainyard {

class GangFiller {
 public:
  GangFiller(const Yard& yard, const Shape& shape, const Avoid* avoid, Placement& out)
      : yard_(yard), shape_(shape), avoid_(avoid), out_(out), left_(shape.workers) {
    out_.clear();
  }

  /// As many of the remaining workers as fit on this machine.
  void fill(std::size_t m) {
    if (avoid_ != nullptr && (*avoid_)[m]) return;
    const MachineId machine{static_cast<std::uint32_t>(m)};
    const std::int32_t here = shape_.fitting(machine, yard_.free().on(machine), left_);
    if (here == 0) return;
    out_.push_back({machine, here});
    left_ -= here;
  }

  [[nodiscard]] bool complete() const { return left_ == 0; }
  [[nodiscard]] std::int32_t left() const { return left_; }

 private:
  const Yard& yard_;
  const Shape& shape_;
  const Avoid* avoid_;
  Placement& out_;
  std::int32_t left_;
};

/// Calls visit(item) for the items with this count, by number, until it returns false.
template <class Visit>
void each_with(const CountIndex& index, std::size_t count, Visit visit) {
  for (std::size_t i = index.next(0, count, count); i != CountIndex::kNone;
       i = index.next(i + 1, count, count))
    if (!visit(i)) return;
}

/// Calls visit(item) for the items with at least this count, the least first, ties by number, until
/// it returns false.
template <class Visit>
void each_from(const CountIndex& index, std::size_t count, Visit visit) {
  bool goes_on = true;
  for (count = index.smallest_count(count); count != CountIndex::kNone && goes_on;
       count = index.smallest_count(count + 1))
    each_with(index, count, [&](std::size_t item) { return goes_on = visit(item); });
}

/// The same from the most down to this count.
template <class Visit>
void each_down_to(const CountIndex& index, std::size_t least, Visit visit) {
  bool goes_on = true;
  for (std::size_t count = index.largest_count();
       count != CountIndex::kNone && count >= least && goes_on;
       count = count == 0 ? CountIndex::kNone : index.largest_count(count - 1))
    each_with(index, count, [&](std::size_t item) { return goes_on = visit(item); });
}

}  // namespace trainyard
