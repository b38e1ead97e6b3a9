// As few machines as possible, and one rack if that costs no further machine. A job may be made to
// wait for the fewest machines that it could ever have, rather than take more now.
//
// Filling the machines with room for the most workers first takes the fewest (ties: more free GPUs,
// then the lower number); the last of them is the one with the fewest free GPUs that suffices for
// the rest, so that large holes stay whole. Of the racks that will do, the one with the fewest
// free GPUs.
#include <algorithm>
#include <functional>
#include <map>

#include "base/grow.h"
#include "policy/members.h"
#include "policy/place/machines.h"

namespace trainyard {
namespace {

enum class WaitFor : std::uint8_t { all, skewed, none };

class Consolidate final : public PlaceStage {
 public:
  Consolidate(const Params& params, PolicyContext& context) : PlaceStage(params, context) {
    const std::string& who = params.choice("wait_for");
    wait_for_ = who == "all" ? WaitFor::all : who == "skewed" ? WaitFor::skewed : WaitFor::none;
  }

  bool find(JobId job, const Avoid* avoid, Placement& out) override {
    const Shape& shape = yard_.shape(job);
    if (yard_.free().of(shape.kind).free_gpus < shape.gpus()) return false;
    gather_all(shape, avoid);
    if (!fewest_machines(shape, out)) return false;
    if (waits(shape) && out.size() > static_cast<std::size_t>(fewest_ever(job))) return false;
    if (out.size() > 1 && yard_.cluster().racks.size() > 1) prefer_one_rack(shape, avoid, out);
    return true;
  }

  [[nodiscard]] Reach reach(JobId job) const override {
    const Shape& shape = yard_.shape(job);
    return {waits(shape) ? fewest_ever(job) : shape.workers};
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
  std::int32_t fewest_ever(JobId job) const {
    const ShapeId id = yard_.state(job).shape;
    grow_to(fewest_ever_, index(id), yard_.shapes().size());
    std::int32_t& known = fewest_ever_[index(id)];
    if (known == 0) known = count_fewest(yard_.shape(job));
    return known;
  }

  [[nodiscard]] std::int32_t count_fewest(const Shape& shape) const {
    std::map<std::int32_t, std::int32_t, std::greater<>> machines_with;  // by slots, most first
    const Machine* last = nullptr;  // most machines are like the one before
    std::int32_t* alike = nullptr;
    for (std::uint32_t m = 0; m < yard_.cluster().machines.size(); ++m) {
      const Machine& machine = yard_.cluster().machines[m];
      if (shape.kind != kAnyKind && machine.kind != shape.kind) continue;
      if (last == nullptr || shape.fit != nullptr || !(last->capacity == machine.capacity))
        alike = &machines_with[shape.fitting(MachineId{m}, machine.capacity, shape.workers)];
      last = &machine;
      ++*alike;
    }
    std::int64_t left = shape.workers, machines = 0;
    for (const auto& [slots, count] : machines_with) {
      const std::int64_t taken =
          slots == 0 ? count : std::min<std::int64_t>(count, (left + slots - 1) / slots);
      machines += taken;
      left -= taken * slots;
      if (left <= 0) break;
    }
    return static_cast<std::int32_t>(machines);
  }

  void consider(const Shape& shape, const Avoid* avoid, std::size_t m) {
    if (avoid != nullptr && (*avoid)[m]) return;
    const MachineId machine{static_cast<std::uint32_t>(m)};
    const Resources& free = yard_.free().on(machine);
    const std::int32_t slots = shape.fitting(machine, free, shape.workers);
    if (slots > 0) rooms_.push_back({m, slots, free.gpus});
  }

  /// The machines with the most free GPUs, until the gang has room; of those with less, which can
  /// only be the last of its machines, the first of each count. A machine that is short of CPUs or
  /// memory counts for neither: behind it may be one that takes more workers.
  void gather_all(const Shape& shape, const Avoid* avoid) {
    rooms_.clear();
    const CountIndex& machines = yard_.free().of(shape.kind).machines;
    const auto least = static_cast<std::size_t>(shape.per_worker.gpus);
    std::int64_t slots = 0;
    for (std::size_t count = machines.max_count() + 1; count-- > least;) {
      const Resources gpus_alone{.gpus = shape.per_worker.gpus};
      const std::int32_t most =
          workers_that_fit(gpus_alone, {.gpus = static_cast<std::int32_t>(count)}, shape.workers);
      each_with(machines, count, [&](std::size_t m) {
        const std::size_t before = rooms_.size();
        consider(shape, avoid, m);
        if (rooms_.size() == before || rooms_.back().slots < most) return true;
        slots += most;
        return slots < shape.workers;
      });
    }
  }

  bool fewest_machines(const Shape& shape, Placement& out) {
    out.clear();
    std::sort(rooms_.begin(), rooms_.end(), [](const Room& a, const Room& b) {
      if (a.slots != b.slots) return a.slots > b.slots;
      return a.free_gpus != b.free_gpus ? a.free_gpus > b.free_gpus : a.machine < b.machine;
    });
    std::int32_t left = shape.workers;
    for (std::size_t i = 0; i < rooms_.size() && left > 0; ++i) {
      const Room& room = rooms_[last_machine(i, left)];
      const std::int32_t here = std::min(left, room.slots);
      out.push_back({MachineId{static_cast<std::uint32_t>(room.machine)}, here});
      left -= here;
    }
    return left == 0;
  }

  /// From i on, the one with the fewest free GPUs and room for all that is left; i if none has.
  [[nodiscard]] std::size_t last_machine(std::size_t i, std::int32_t left) const {
    std::size_t pick = i;
    for (std::size_t j = i + 1; j < rooms_.size() && rooms_[j].slots >= left; ++j) {
      const Room &best = rooms_[pick], &room = rooms_[j];
      if (room.free_gpus != best.free_gpus ? room.free_gpus < best.free_gpus
                                           : room.machine < best.machine)
        pick = j;
    }
    return pick;
  }

  /// The fullest rack that has the gang on no more machines; `out` stays where none has.
  void prefer_one_rack(const Shape& shape, const Avoid* avoid, Placement& out) {
    const CountIndex& racks = yard_.free().of(shape.kind).racks;
    const auto wanted = static_cast<std::size_t>(shape.gpus());
    bool found = false;
    each_from(racks, std::min(wanted, racks.max_count()), [&](std::size_t rack) {
      gather_rack(shape, avoid, yard_.cluster().racks[rack]);
      found = fewest_machines(shape, in_rack_) && in_rack_.size() <= out.size();
      return !found;
    });
    if (found) out = in_rack_;
  }

  void gather_rack(const Shape& shape, const Avoid* avoid, const Rack& rack) {
    rooms_.clear();
    for (std::uint32_t m = 0; m < rack.machine_count; ++m) {
      const MachineId machine{rack.first_machine + m};
      const bool right =
          shape.kind == kAnyKind || yard_.cluster().machine(machine).kind == shape.kind;
      if (right && yard_.free().is_up(machine)) consider(shape, avoid, index(machine));
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
           {{"wait_for",
             ParamType::choice,
             "all",
             "which jobs wait for the fewest machines they could ever have instead of taking more",
             {"all", "skewed", "none"}}}},
          make_member<PlaceStage, Consolidate>};
}

}  // namespace trainyard
