// Delay scheduling (Dally): a job takes the closest placement there is, if it is ready for one so
// far apart (delay_clocks.h); else it declines, and those behind it may have the GPUs.
//
//   one machine    the one with the fewest free GPUs that suffices
//   one rack       the one with the fewest free GPUs that suffices, on its fewest machines
//   one group      the first, by number, whose racks suffice together, fewest racks first
//   anywhere       fewest racks, on each the fewest machines
#include <algorithm>
#include <map>

#include "policy/members.h"
#include "policy/place/delay_clocks.h"
#include "policy/place/machines.h"

namespace trainyard {
namespace {

DelaySettings settings_of(const Params& params) {
  using Timers = DelaySettings::Timers;
  const std::string& timers = params.choice("timers");
  return {timers == "fixed"   ? Timers::fixed
          : timers == "tuned" ? Timers::tuned
                              : Timers::learnt,
          params.real("skew"),
          params.duration("rack_wait"),
          params.duration("net_wait"),
          std::max(params.duration("lease"), microseconds(1)),
          params.whole("history")};
}

class Delay final : public PlaceStage {
 public:
  Delay(const Params& params, PolicyContext& context)
      : PlaceStage(params, context),
        rack_free_(params.whole("rack_free")),
        clocks_(settings_of(params),
                params.choice("timers") == "learnt" ? &context.estimates() : nullptr) {}

  bool find(JobId job, const Avoid* avoid, Placement& out) override {
    const Shape& shape = yard_.shape(job);
    if (yard_.free().of(shape.kind).free_gpus < shape.gpus()) return false;
    const std::size_t ready = ready_for(job);
    if (on_one_machine(shape, avoid, out)) return true;
    if (ready >= kRackTier && shape.workers > 1 && in_one_rack(shape, avoid, out)) return true;
    const std::size_t last = yard_.cluster().tiers.size() - 1;
    for (std::size_t tier = kRackTier + 1; tier <= ready && shape.workers > 1; ++tier)
      if (tier == last ? anywhere(shape, avoid, out) : in_one_group(shape, avoid, tier, out))
        return true;
    return false;
  }

  [[nodiscard]] LaneId lane(JobId job) const override {
    const auto shape = static_cast<std::uint32_t>(yard_.state(job).shape);
    return LaneId{shape * static_cast<std::uint32_t>(kMaxTiers) +
                  static_cast<std::uint32_t>(clocks_.tier(job))};
  }

  [[nodiscard]] Reach reach(JobId job) const override {
    const std::size_t tier = std::max(clocks_.tier(job), rack_free_ > 0 ? kRackTier : kMachineTier);
    return {tier == kMachineTier ? 1 : yard_.shape(job).workers, tier};
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    clocks_.on_phase(yard_, job, from, to);
  }
  void save_learnt(Learnt& learnt) const override { clocks_.save_learnt(yard_, learnt); }
  void recall(const Learnt& learnt, Time now) override { clocks_.recall(yard_, learnt, now); }
  void recall_jobs(const Learnt& learnt) override { clocks_.recall_jobs(yard_, learnt); }
  void on_rebid(JobId job) override { clocks_.on_rebid(yard_, job); }
  void refresh(std::vector<JobId>& changed) override { clocks_.refresh(yard_, changed); }
  [[nodiscard]] Time next_change() const override { return clocks_.next_change(); }

  [[nodiscard]] std::string holds_out_for(JobId job) const override {
    const std::size_t tier = clocks_.tier(job);
    const std::vector<Tier>& tiers = yard_.cluster().tiers;
    if (tier + 1 >= tiers.size()) return {};
    const std::int32_t gpus = yard_.job(job).gpus();
    const std::string here = fmt::format("waits for {} GPU{} {} one {}", gpus, gpus == 1 ? "" : "s",
                                         tier == kMachineTier ? "on" : "in", tiers[tier].name);
    const Time until = clocks_.until(job);
    if (until == Time::never()) return here + ", however long that takes";
    const std::string then = tier + 2 == tiers.size() ? "any" : "one " + tiers[tier + 1].name;
    return fmt::format("{} for another {}, then takes {}", here, format(until - yard_.now()), then);
  }

 private:
  /// The tier that it takes now.
  [[nodiscard]] std::size_t ready_for(JobId job) const {
    const std::size_t tier = clocks_.tier(job);
    const bool has_free =
        rack_free_ > 0 && yard_.free().of(yard_.shape(job).kind).free_gpus >= rack_free_;
    return has_free ? std::max(tier, kRackTier) : tier;
  }

  struct RackRoom {
    std::size_t rack;
    std::int64_t slots;
  };

  bool on_one_machine(const Shape& shape, const Avoid* avoid, Placement& out) const {
    const CountIndex& machines = yard_.free().of(shape.kind).machines;
    bool found = false;
    each_from(machines, static_cast<std::size_t>(shape.gpus()), [&](std::size_t m) {
      GangFiller filler(yard_, shape, avoid, out);
      filler.fill(m);
      return !(found = filler.complete());
    });
    return found;
  }

  bool in_one_rack(const Shape& shape, const Avoid* avoid, Placement& out) {
    const CountIndex& racks = yard_.free().of(shape.kind).racks;
    bool found = false;
    const std::size_t least = std::min(static_cast<std::size_t>(shape.gpus()), racks.max_count());
    each_from(racks, least, [&](std::size_t rack) {
      GangFiller filler(yard_, shape, avoid, out);
      fill_rack(shape, avoid, rack, filler);
      return !(found = filler.complete());
    });
    return found;
  }

  /// The machines of the rack with room for the most workers first.
  void fill_rack(const Shape& shape, const Avoid* avoid, std::size_t rack, GangFiller& filler) {
    list_rack(shape, avoid, rack);
    std::sort(machines_.begin(), machines_.end(), [](const auto& a, const auto& b) {
      return a.slots != b.slots ? a.slots > b.slots : a.machine < b.machine;
    });
    for (const MachineRoom& machine : machines_)
      if (!filler.complete()) filler.fill(machine.machine);
  }

  void list_rack(const Shape& shape, const Avoid* avoid, std::size_t rack) {
    machines_.clear();
    const CountIndex& machines = yard_.free().of(shape.kind).machines;
    const auto gpus = static_cast<std::size_t>(shape.per_worker.gpus);
    const Rack& of = yard_.cluster().racks[rack];
    const std::size_t end = of.first_machine + of.machine_count;
    for (std::size_t m = machines.next(of.first_machine, gpus); m < end;
         m = machines.next(m + 1, gpus)) {
      if (avoid != nullptr && (*avoid)[m]) continue;
      const MachineId machine{static_cast<std::uint32_t>(m)};
      const std::int32_t here = shape.fitting(machine, yard_.free().on(machine), shape.workers);
      if (here > 0) machines_.push_back({m, here});
    }
  }

  bool anywhere(const Shape& shape, const Avoid* avoid, Placement& out) {
    const CountIndex& racks = yard_.free().of(shape.kind).racks;
    GangFiller filler(yard_, shape, avoid, out);
    each_down_to(racks, 1, [&](std::size_t rack) {
      fill_rack(shape, avoid, rack, filler);
      return !filler.complete();
    });
    return filler.complete();
  }

  bool in_one_group(const Shape& shape, const Avoid* avoid, std::size_t tier, Placement& out) {
    const FreeIndex::OfKind& of = yard_.free().of(shape.kind);
    std::map<std::uint32_t, std::vector<RackRoom>> groups;
    for (std::size_t rack = of.racks.next(0, 1); rack != CountIndex::kNone;
         rack = of.racks.next(rack + 1, 1))
      groups[group_of(yard_.cluster().tiers[tier], static_cast<std::uint32_t>(rack))].push_back(
          {rack, of.free_in_rack[rack]});
    for (auto& [group, racks] : groups) {
      std::int64_t free = 0;
      for (const RackRoom& rack : racks) free += rack.slots;
      if (free < shape.gpus()) continue;
      std::stable_sort(racks.begin(), racks.end(),
                       [](const RackRoom& a, const RackRoom& b) { return a.slots > b.slots; });
      GangFiller filler(yard_, shape, avoid, out);
      for (const RackRoom& rack : racks)
        if (!filler.complete()) fill_rack(shape, avoid, rack.rack, filler);
      if (filler.complete()) return true;
    }
    return false;
  }

  struct MachineRoom {
    std::size_t machine;
    std::int32_t slots;
  };

  std::int64_t rack_free_;
  DelayClocks clocks_;
  std::vector<MachineRoom> machines_;
};

}  // namespace

Member<PlaceStage> place_delay() {
  const std::string paper = "Dally's, from its first author's public simulator";
  return {
      {"delay",
       "waits for one machine, then for one rack, each for a while, and then takes any",
       "Dally (Sharma et al.), from its first author's public simulator",
       {{"timers",
         ParamType::choice,
         "tuned",
         "how long: as published, as given, or as long as it pays",
         {"tuned", "fixed", "learnt"},
         "tuned and fixed are Dally's; learnt is ours"},
        {"rack_wait",
         ParamType::duration,
         "2h",
         "until a rack will do (timers=fixed)",
         {},
         paper + "; the default is ours"},
        {"net_wait",
         ParamType::duration,
         "4h",
         "until any GPUs will do (timers=fixed)",
         {},
         paper + "; the default is ours"},
        {"skew",
         ParamType::real,
         "0",
         "only jobs wait of models whose largest tensor is more than this part of them; 0: all",
         {},
         "ours; 0.3 has those wait that do so under Tiresias in Dally's simulator"},
        {"lease",
         ParamType::duration,
         "20m",
         "the unit in which waits are told",
         {},
         "ours: the length is not published"},
        {"history",
         ParamType::whole,
         "72",
         "leases for which a wait is remembered: H",
         {},
         "ours: the length is not published"},
        {"rack_free",
         ParamType::whole,
         "0",
         "a job takes a rack, however long it has waited, while so many GPUs are free anywhere; "
         "0: never so",
         {},
         "8, the GPUs of a machine, is how Tiresias is coded in Dally's simulator"}}},
      make_member<PlaceStage, Delay>};
}

}  // namespace trainyard
