#include <algorithm>
#include <cmath>
#include <utility>

#include "base/grow.h"
#include "perf/skew.h"
#include "policy/place/delay_clocks.h"

namespace trainyard {
namespace {

constexpr std::string_view kWindows = "wait windows/", kTables = "wait tables/",
                           kSums = "wait sums/", kClocks = "delay clocks";

/// Whether the machines of a group of this tier could hold a gang of this shape, empty.
bool could_hold(const Cluster& cluster, const Shape& shape, std::size_t tier) {
  if (tier == kMachineTier && shape.gpus() > cluster.largest_machine_gpus) return false;
  std::int64_t slots = 0;  // of the group: its machines stand together
  std::uint32_t last = 0;
  const Machine* before = nullptr;  // most machines are like this
  std::int32_t fit = 0;
  for (std::uint32_t m = 0; m < cluster.machines.size(); ++m) {
    const Machine& machine = cluster.machines[m];
    if (shape.kind != kAnyKind && machine.kind != shape.kind) continue;
    const auto rack = static_cast<std::uint32_t>(machine.rack);
    const std::uint32_t group = tier == kMachineTier ? m
                                : tier == kRackTier  ? rack
                                                     : group_of(cluster.tiers[tier], rack);
    if (std::exchange(last, group) != group) slots = 0;
    if (before == nullptr || shape.fit != nullptr || !(before->capacity == machine.capacity))
      fit = shape.fitting(MachineId{m}, machine.capacity, shape.workers);
    before = &machine;
    if ((slots += fit) >= shape.workers) return true;
  }
  return false;
}

}  // namespace

Time DelayClocks::until(JobId job) const {
  return jobs_[index(job)].due;
}

void DelayClocks::on_phase(const Yard& yard, JobId job, Phase from, Phase to) {
  if (from == Phase::queued) {
    Clock& clock = jobs_[index(job)];
    if (clock.due != Time::never()) due_.erase({clock.due, job});
    clock.due = Time::never();
    if (to == Phase::starting || to == Phase::reserved) note_wait(yard, job);
  }
  if (to == Phase::queued) {
    set_due(job, begin(yard, job));
  }
}

/// Its timer does not matter: it wins room now, or comes to the queue.
void DelayClocks::on_rebid(const Yard& yard, JobId job) {
  (void)begin(yard, job);
}

/// When it will be ready for more than it is at once.
Time DelayClocks::begin(const Yard& yard, JobId job) {
  grow_to(jobs_, index(job), yard.workload().jobs.size());
  Clock& clock = jobs_[index(job)];
  clock.since = yard.now();
  clock.tier = static_cast<std::uint8_t>(lowest_tier(yard, job));
  return next_due(yard, job);
}

/// Moves on to the last tier that it is ready for by now; when it will be for the next.
Time DelayClocks::next_due(const Yard& yard, JobId job) {
  Clock& clock = jobs_[index(job)];
  for (const std::size_t last = yard.cluster().tiers.size() - 1; clock.tier < last; ++clock.tier) {
    const Time due = clock.since + wait_for(yard, job, clock.tier + 1U);
    if (due > yard.now()) return due;
  }
  return Time::never();
}

void DelayClocks::set_due(JobId job, Time due) {
  jobs_[index(job)].due = due;
  if (due != Time::never()) due_.insert({due, job});
}

void DelayClocks::refresh(const Yard& yard, std::vector<JobId>& changed) {
  while (!due_.empty() && due_.front().at <= yard.now()) {
    const JobId job = due_.front().job;
    due_.erase(due_.front());
    // A tuned timer may have grown meanwhile.
    const std::size_t before = jobs_[index(job)].tier;
    set_due(job, next_due(yard, job));
    if (jobs_[index(job)].tier != before) changed.push_back(job);
  }
}

Time DelayClocks::next_change() const {
  return due_.empty() ? Time::never() : due_.front().at;
}

std::size_t DelayClocks::lowest_tier(const Yard& yard, JobId job) {
  const ShapeId shape = yard.state(job).shape;
  grow_to(lowest_, index(shape), 0);
  std::uint8_t& known = lowest_[index(shape)];
  const std::size_t last = yard.cluster().tiers.size() - 1;
  for (std::size_t tier = 0; known == 0 && tier <= last; ++tier)
    if (tier == last || could_hold(yard.cluster(), yard.shapes()[shape], tier))
      known = static_cast<std::uint8_t>(tier + 1);
  return known - 1U;
}

void DelayClocks::save_learnt(const Yard& yard, Learnt& learnt) const {
  JobNotes notes(learnt, kClocks, 3);
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if (const JobId job{static_cast<std::uint32_t>(j)}; yard.state(job).phase == Phase::queued)
      notes.add(job, {number_of(jobs_[j].since), number_of(jobs_[j].due),
                      static_cast<double>(jobs_[j].tier)});
  for (const auto& [gpus, demand] : demands_)
    for (std::size_t tier = 0; tier < demand.tables.size(); ++tier) {
      learnt[fmt::format("{}{}/{}/", kWindows, gpus, tier)] = demand.windows[tier].numbers();
      learnt[fmt::format("{}{}/{}/", kSums, gpus, tier)] = demand.windows[tier].sums();
      learnt[fmt::format("{}{}/{}/", kTables, gpus, tier)] = demand.tables[tier].numbers();
    }
}

void DelayClocks::recall(const Yard& yard, const Learnt& learnt, Time now) {
  began_ = now;
  const auto each = [&](std::string_view begin, auto take) {
    each_learnt(learnt, begin, [&](std::string_view name, std::span<const double> numbers) {
      int gpus = 0, tier = 0;
      const bool is_known = split_number(name, gpus, name) && split_number(name, tier, name);
      if (!is_known || tier < 0 || static_cast<std::size_t>(tier) >= yard.cluster().tiers.size())
        return;
      take(demand_of(yard, gpus), static_cast<std::size_t>(tier), numbers);
    });
  };
  each(kWindows,
       [](Demand& demand, std::size_t tier, auto numbers) { demand.windows[tier].take(numbers); });
  each(kSums, [](Demand& demand, std::size_t tier, auto numbers) {
    demand.windows[tier].take_sums(numbers);
  });
  each(kTables,
       [](Demand& demand, std::size_t tier, auto numbers) { demand.tables[tier].take(numbers); });
}

void DelayClocks::recall_jobs(const Yard& yard, const Learnt& learnt) {
  each_note(learnt, kClocks, 3, yard.jobs(), [&](JobId job, std::span<const double> kept) {
    const JobState& state = yard.state(job);
    if (state.phase != Phase::queued || time_of(kept[0]) != state.since) return;
    Clock& clock = jobs_[index(job)];
    if (clock.due != Time::never()) due_.erase({clock.due, job});
    const auto last = static_cast<double>(yard.cluster().tiers.size() - 1);
    clock.since = state.since;
    clock.tier = static_cast<std::uint8_t>(std::min(kept[2], last));
    set_due(job, time_of(kept[1]));
  });
}

DelayClocks::Demand& DelayClocks::demand_of(const Yard& yard, std::int32_t gpus) {
  Demand& demand = demands_[gpus];
  if (demand.windows.empty()) {
    demand.windows.resize(yard.cluster().tiers.size());
    demand.tables.assign(yard.cluster().tiers.size(), LifeTable(set_.lease));
  }
  return demand;
}

void DelayClocks::note_wait(const Yard& yard, JobId job) {
  if (yard.now() <= began_) return;
  const Duration wait = yard.now() - jobs_[index(job)].since;
  const std::size_t got = tier_of(yard.cluster(), yard.placement(job));
  Demand& demand = demand_of(yard, job);
  const double leases = wait.seconds() / set_.lease.seconds();
  if (leases >= 1) demand.windows[got].add(yard.now(), leases);
  for (std::size_t tier = lowest_tier(yard, job); tier < demand.tables.size(); ++tier)
    demand.tables[tier].add(wait, got <= tier);
}

bool DelayClocks::waits(const Yard& yard, JobId job) const {
  if (set_.skew == 0) return true;
  const ModelId model = yard.job(job).model;
  return model != kNoModel && largest_tensor(yard.workload().models[index(model)]) > set_.skew;
}

Duration DelayClocks::wait_for(const Yard& yard, JobId job, std::size_t tier) {
  if (!waits(yard, job)) return {};
  if (set_.timers == DelaySettings::Timers::tuned) return tuned_wait(yard, job, tier);
  if (set_.timers == DelaySettings::Timers::learnt) return learnt_wait(yard, job, tier);
  const std::size_t last = yard.cluster().tiers.size() - 1;
  if (tier == last) return std::max(set_.rack_wait, set_.net_wait);
  if (tier == kRackTier || set_.rack_wait >= set_.net_wait) return set_.rack_wait;
  const auto step = static_cast<std::int64_t>(tier - kRackTier);
  return set_.rack_wait + Duration{(set_.net_wait - set_.rack_wait).us /
                                   static_cast<std::int64_t>(last - kRackTier)} *
                              step;
}

Duration DelayClocks::tuned_wait(const Yard& yard, JobId job, std::size_t tier) {
  const std::size_t last = yard.cluster().tiers.size() - 1;
  const auto history = static_cast<double>(set_.history);
  Demand& demand = demand_of(yard, job);
  double least = 0;  // leases: never less than for the tier below
  for (std::size_t t = kRackTier; t <= tier; ++t) {
    const double most = t == kRackTier ? std::ceil(0.8 * history) : history;
    const double floor = t == last ? 12 : 6 * static_cast<double>(t);
    const double estimate = demand.windows[t - 1].estimate(yard.now(), set_.lease * set_.history);
    least = std::max(least, std::min(most, std::max(floor, std::ceil(estimate))));
  }
  return set_.lease * static_cast<std::int64_t>(least);
}

Duration DelayClocks::learnt_wait(const Yard& yard, JobId job, std::size_t tier) {
  if (yard.speed() == nullptr) return {};
  const Job& of = yard.job(job);
  const double better = yard.speed()->rate_at(of, tier - 1).time_per_work();
  const double worse = yard.speed()->rate_at(of, tier).time_per_work();
  const double gain_s = (worse - better) * estimates_->remaining(job).seconds();
  const LifeTable& table = demand_of(yard, job).tables[tier - 1];
  for (std::size_t bin = 0; bin < LifeTable::kBins; ++bin)
    if (table.expected_s(bin) >= gain_s) return table.begin_of(bin);
  return Duration::max();
}

}  // namespace trainyard
