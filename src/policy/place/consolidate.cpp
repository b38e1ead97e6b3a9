// As few machines as possible, and one rack if that costs no further machine. A job may be made to
// wait for the fewest machines that it could ever have, rather than take more now.
//
// Filling the machines with the most room first takes the fewest; the last of them is the one with
// the least room that suffices for the rest, so that large holes stay whole. Of equal room the
// fewest free GPUs, then the lowest number.
#include <algorithm>

#include "base/grow.h"
#include "policy/members.h"
#include "policy/place/machines.h"

namespace trainyard {
namespace {

enum class WaitFor : std::uint8_t { all, skewed, none };

class Consolidate final : public PlaceStage {
 public:
  explicit Consolidate(const Params& params) {
    const std::string& who = params.choice("wait_for");
    wait_for_ = who == "all" ? WaitFor::all : who == "skewed" ? WaitFor::skewed : WaitFor::none;
  }

  bool find(const Yard& yard, const Shape& shape, const Avoid* avoid, Placement& out) override {
    if (yard.free().of(shape.kind).free_gpus < shape.gpus()) return false;
    gather_all(yard, shape, avoid);
    if (!fewest_machines(shape, out)) return false;
    if (waits(shape) && out.size() > static_cast<std::size_t>(fewest_ever(yard, shape)))
      return false;
    if (out.size() > 1 && yard.cluster().racks.size() > 1) prefer_one_rack(yard, shape, avoid, out);
    return true;
  }

  [[nodiscard]] std::int32_t max_machines(const Yard& yard, const Shape& shape) const override {
    return waits(shape) ? fewest_ever(yard, shape) : shape.workers;
  }

 private:
  struct Room {
    std::size_t machine;
    std::int32_t slots;
    std::int32_t free_gpus;
  };

  [[nodiscard]] bool waits(const Shape& shape) const {
    return wait_for_ == WaitFor::all || (wait_for_ == WaitFor::skewed && shape.skewed);
  }

  /// On an empty cluster. Depends on the shape alone, and is remembered.
  std::int32_t fewest_ever(const Yard& yard, const Shape& shape) const {
    const auto at = static_cast<std::size_t>(&shape - &yard.shapes()[ShapeId{0}]);
    grow_to(fewest_ever_, at, yard.shapes().size());
    if (fewest_ever_[at] == 0) fewest_ever_[at] = count_fewest(yard, shape);
    return fewest_ever_[at];
  }

  static std::int32_t count_fewest(const Yard& yard, const Shape& shape) {
    std::vector<std::int32_t> slots;
    for (const Machine& machine : yard.cluster().machines)
      if (shape.kind == kAnyKind || machine.kind == shape.kind)
        slots.push_back(workers_that_fit(shape.per_worker, machine.capacity, shape.workers));
    std::sort(slots.begin(), slots.end(), std::greater<>());
    std::int32_t left = shape.workers, machines = 0;
    while (left > 0 && machines < static_cast<std::int32_t>(slots.size()))
      left -= slots[static_cast<std::size_t>(machines++)];
    return machines;
  }

  /// How many workers this machine has room for; it is noted when there are any.
  std::int32_t consider(const Yard& yard, const Shape& shape, const Avoid* avoid, std::size_t m) {
    if (avoid != nullptr && (*avoid)[m]) return 0;
    const Resources& free = yard.free().on(MachineId{static_cast<std::uint32_t>(m)});
    const std::int32_t slots = workers_that_fit(shape.per_worker, free, shape.workers);
    if (slots > 0) rooms_.push_back({m, slots, free.gpus});
    return slots;
  }

  /// By free GPUs, the most first, until the gang has room on machines of which none further down
  /// can have more slots. Of those below, which can only be its last machine, the first of each
  /// count; where CPUs or memory are short that one may not be the tightest.
  void gather_all(const Yard& yard, const Shape& shape, const Avoid* avoid) {
    rooms_.clear();
    const CountIndex& machines = yard.free().of(shape.kind).machines;
    const std::int32_t each = shape.per_worker.gpus;
    bool enough = false;
    for (std::size_t count = machines.max_count() + 1; count-- > static_cast<std::size_t>(each);) {
      const std::int32_t most =
          each == 0 ? shape.workers
                    : std::min(shape.workers, static_cast<std::int32_t>(count) / each);
      std::int64_t slots = enough ? shape.workers : slots_of_rooms_with(most);
      each_with(machines, count, [&](std::size_t m) {
        const std::int32_t here = consider(yard, shape, avoid, m);
        if (here >= most) slots += here;
        return here == 0 || slots < shape.workers;
      });
      enough = slots >= shape.workers;
    }
  }

  [[nodiscard]] std::int64_t slots_of_rooms_with(std::int32_t least) const {
    std::int64_t sum = 0;
    for (const Room& room : rooms_)
      if (room.slots >= least) sum += room.slots;
    return sum;
  }

  bool fewest_machines(const Shape& shape, Placement& out) {
    out.clear();
    std::sort(rooms_.begin(), rooms_.end(), [](const Room& a, const Room& b) {
      if (a.slots != b.slots) return a.slots > b.slots;
      return a.free_gpus != b.free_gpus ? a.free_gpus < b.free_gpus : a.machine < b.machine;
    });
    std::int32_t left = shape.workers;
    for (std::size_t i = 0; i < rooms_.size() && left > 0; ++i) {
      std::size_t pick = i;
      if (rooms_[i].slots >= left)
        while (pick + 1 < rooms_.size() && rooms_[pick + 1].slots >= left) ++pick;
      // The first of those with as many slots.
      while (pick > i && rooms_[pick - 1].slots == rooms_[pick].slots) --pick;
      const std::int32_t here = std::min(left, rooms_[pick].slots);
      out.push_back({MachineId{static_cast<std::uint32_t>(rooms_[pick].machine)}, here});
      left -= here;
    }
    return left == 0;
  }

  /// The fullest rack that has the gang on no more machines; `out` stays where none has.
  void prefer_one_rack(const Yard& yard, const Shape& shape, const Avoid* avoid, Placement& out) {
    const CountIndex& racks = yard.free().of(shape.kind).racks;
    const auto wanted = static_cast<std::size_t>(shape.gpus());
    bool found = false;
    for (std::size_t count = std::min(wanted, racks.max_count());
         count <= racks.max_count() && !found; ++count)
      each_with(racks, count, [&](std::size_t rack) {
        gather_rack(yard, shape, avoid, yard.cluster().racks[rack]);
        found = fewest_machines(shape, in_rack_) && in_rack_.size() <= out.size();
        return !found;
      });
    if (found) out = in_rack_;
  }

  void gather_rack(const Yard& yard, const Shape& shape, const Avoid* avoid, const Rack& rack) {
    rooms_.clear();
    for (std::uint32_t m = 0; m < rack.machine_count; ++m) {
      const MachineId machine{rack.first_machine + m};
      const bool right = shape.kind == kAnyKind || yard.cluster().machine(machine).kind == shape.kind;
      if (right && yard.free().is_up(machine)) consider(yard, shape, avoid, index(machine));
    }
  }

  WaitFor wait_for_;
  std::vector<Room> rooms_;
  Placement in_rack_;
  mutable std::vector<std::int32_t> fewest_ever_;  // by shape; 0: not known yet
};

}  // namespace

Member<PlaceStage> place_consolidate() {
  return {{"consolidate",
           "the fewest machines, in one rack if that costs no further machine",
           "consolidation as in Gandiva and Tiresias; waiting by tensor skew: Gu et al., NSDI 2019",
           {{"wait_for", ParamType::choice, "all",
             "who waits for the fewest machines it could ever have instead of taking more",
             {"all", "skewed", "none"}}}},
          [](const Params& params) -> std::unique_ptr<PlaceStage> {
            return std::make_unique<Consolidate>(params);
          }};
}

}  // namespace trainyard
