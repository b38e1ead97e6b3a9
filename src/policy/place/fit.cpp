// Placements that look at one machine after the other: the first that fits, the fullest that fits,
// or one worker each on the emptiest.
#include <algorithm>

#include "policy/members.h"
#include "policy/place/machines.h"

namespace trainyard {
namespace {

/// Machines in order of their number, each filled before the next.
class FirstFit final : public PlaceStage {
 public:
  using PlaceStage::PlaceStage;

  bool find(JobId job, const Avoid* avoid, Placement& out) override {
    const Shape& shape = yard_.shape(job);
    GangFiller filler(yard_, shape, avoid, out);
    const CountIndex& machines = yard_.free().of(shape.kind).machines;
    const auto gpus = static_cast<std::size_t>(shape.per_worker.gpus);
    for (std::size_t m = machines.next(0, gpus); m != CountIndex::kNone && !filler.complete();
         m = machines.next(m + 1, gpus))
      filler.fill(m);
    return filler.complete();
  }
};

/// Fewest free GPUs first, so that large holes stay whole.
class BestFit final : public PlaceStage {
 public:
  using PlaceStage::PlaceStage;

  bool find(JobId job, const Avoid* avoid, Placement& out) override {
    const Shape& shape = yard_.shape(job);
    GangFiller filler(yard_, shape, avoid, out);
    const CountIndex& machines = yard_.free().of(shape.kind).machines;
    each_from(machines, static_cast<std::size_t>(shape.per_worker.gpus),
              [&](std::size_t m) { return filler.fill(m), !filler.complete(); });
    return filler.complete();
  }
};

/// One worker on each of the machines with the most free GPUs; a second only when all have one.
class Spread final : public PlaceStage {
 public:
  using PlaceStage::PlaceStage;

  bool find(JobId job, const Avoid* avoid, Placement& out) override {
    const Shape& shape = yard_.shape(job);
    out.clear();
    const CountIndex& machines = yard_.free().of(shape.kind).machines;
    const auto least = static_cast<std::size_t>(shape.per_worker.gpus);
    const auto wanted = static_cast<std::size_t>(shape.workers);
    slots_.clear();
    each_down_to(machines, least, [&](std::size_t m) {
      const MachineId machine{static_cast<std::uint32_t>(m)};
      const std::int32_t slots = shape.fitting(machine, yard_.free().on(machine), shape.workers);
      if (slots > 0 && !(avoid != nullptr && (*avoid)[m])) {
        out.push_back({machine, 0});
        slots_.push_back(slots);
      }
      return out.size() < wanted;
    });
    std::int32_t left = shape.workers;
    for (bool progress = true; progress && left > 0;) {
      progress = false;
      for (std::size_t i = 0; i < out.size() && left > 0; ++i) {
        if (out[i].workers == slots_[i]) continue;
        ++out[i].workers, --left;
        progress = true;
      }
    }
    return left == 0;
  }

 private:
  std::vector<std::int32_t> slots_;
};

}  // namespace

Member<PlaceStage> place_first_fit() {
  return {{"first-fit", "the first machines, by number, with room", "standard"},
          make_member<PlaceStage, FirstFit>};
}

Member<PlaceStage> place_best_fit() {
  return {{"best-fit", "the machines with the least free GPUs that suffice", "standard"},
          make_member<PlaceStage, BestFit>};
}

Member<PlaceStage> place_spread() {
  return {{"spread", "a worker each on the machines with the most free GPUs", "standard"},
          make_member<PlaceStage, Spread>};
}

}  // namespace trainyard
