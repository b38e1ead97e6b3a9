#include "policy/trial_rooms.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr std::string_view kTrialRooms = "trial-rooms/", kFreed = "freed by others",
                           kAnyName = "any";
constexpr std::size_t kNumbersAhead = 4, kNumbersEach = 5;

/// How many times this is free, in parts as well.
double times_free(const Resources& each, const Resources& free) {
  const auto part = [](std::int32_t have, std::int32_t need) {
    return need == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(have) / need;
  };
  return std::min({part(free.gpus, each.gpus), part(free.milli_cpus, each.milli_cpus),
                   part(free.memory_mib, each.memory_mib)});
}

}  // namespace

TrialRooms::TrialRooms(PolicyContext& context)
    : yard_(context.yard()),
      rights_(context.rights()),
      worth_(context.worth()),
      gpu_price_(context.gpu_price()) {
  const Cluster& cluster = yard_.cluster();
  gpus_of_kind_.assign(cluster.kinds.size(), 0);
  for (const Machine& machine : cluster.machines) {
    all_.gpus += machine.capacity.gpus;
    all_.milli_cpus += machine.capacity.milli_cpus;
    all_.memory_mib += machine.capacity.memory_mib;
    if (machine.kind != kAnyKind) gpus_of_kind_[index(machine.kind)] += machine.capacity.gpus;
  }
  at_most_ = {all_.gpus / kMostPart, all_.milli_cpus / kMostPart, all_.memory_mib / kMostPart};
}

std::int64_t TrialRooms::Room::times_in(const Amounts& all) const {
  const auto times = [&](std::int64_t have, std::int32_t need) {
    return need == 0 ? kMost : have / need / std::max(workers, 1);
  };
  return std::min({times(all.gpus, each.gpus), times(all.milli_cpus, each.milli_cpus),
                   times(all.memory_mib, each.memory_mib)});
}

// --- Learning ------------------------------------------------------------------------------------

void TrialRooms::on_phase(JobId job, Phase from, Phase to) {
  const Shape& shape = yard_.shape(job);
  if (shape.gpus() == 0) return;
  if (to == Phase::done) take_end(job);
  if (!rights_.acts_as_trial(job) || yard_.now() <= began_) return;
  const JobState& state = yard_.state(job);
  if (from == Phase::absent && to == Phase::queued)
    take_arrival(of(shape.kind), {yard_.now(), {shape.per_worker, shape.workers}});
  if (to == Phase::starting && state.first_start == yard_.now() && state.waited > Duration{})
    of(shape.kind).waits.add(std::min(state.waited, kLongestWait));
}

void TrialRooms::take_end(JobId job) {
  const Shape& shape = yard_.shape(job);
  if (rights_.acts_as_trial(job))
    return of(shape.kind).runs.add(yard_.now() - yard_.state(job).first_start);
  freed_.push_back({yard_.now(), shape.gpus()});
  if (freed_.size() > kLast) freed_.pop_front();
}

TrialRooms::OfKind& TrialRooms::of(KindId kind) {
  const auto found = std::ranges::find(kinds_, kind, &OfKind::kind);
  if (found != kinds_.end()) return *found;
  kinds_.emplace_back().kind = kind;
  return kinds_.back();
}

void TrialRooms::take_arrival(OfKind& of, const Arrival& arrival) const {
  of.last.push_back(arrival);
  if (of.last.size() > kLast) of.last.pop_front();
  of.room = {};
  for (const auto& [at, room] : of.last) {
    if (room.gpus() == 0 || room.times_in(at_most_) == 0) continue;
    Resources& each = of.room.each;
    each.gpus = std::max(each.gpus, room.each.gpus);
    each.milli_cpus = std::max(each.milli_cpus, room.each.milli_cpus);
    each.memory_mib = std::max(each.memory_mib, room.each.memory_mib);
    of.room.workers = std::max(of.room.workers, room.workers);
  }
}

// --- Holding back --------------------------------------------------------------------------------

std::int32_t TrialRooms::kept(const OfKind& of, JobId from) const {
  if (of.last.size() < 2 || of.waits.count == 0 || of.room.workers == 0) return 0;
  const double span_s = (yard_.now() - of.last.front().at).seconds();
  const double silence_s = (yard_.now() - of.last.back().at).seconds() / kSilence;
  const double between_s =
      std::max({span_s / static_cast<double>(of.last.size() - 1), silence_s, 1e-6});
  const double worth = worth_.trial() * of.waits.seconds() / between_s;
  const double come = back_after_s(of) / between_s;
  const double cost = cost_of_holding(from);
  const std::int64_t most = most_beside(from, of.room);
  std::int32_t rooms = 0;
  double exactly = std::exp(-come), or_more = 1;  // so many as there are rooms come
  while (rooms < most && worth * or_more >= cost) {
    or_more -= exactly;
    exactly *= come / ++rooms;
  }
  return rooms;
}

double TrialRooms::cost_of_holding(JobId job) const {
  return 1 + std::max(yard_.shape(job).gpus(), 1) * gpu_price_.per_second();
}

std::int64_t TrialRooms::most_beside(JobId job, const Room& room) const {
  const Shape& shape = yard_.shape(job);
  const auto all_but = [&](std::int64_t all, std::int32_t each) {
    return std::max<std::int64_t>(all - std::int64_t{shape.workers} * each, 0);
  };
  const std::int64_t gpus = shape.kind == kAnyKind ? all_.gpus : gpus_of_kind_[index(shape.kind)];
  const Amounts beside{all_but(gpus, shape.per_worker.gpus),
                       all_but(all_.milli_cpus, shape.per_worker.milli_cpus),
                       all_but(all_.memory_mib, shape.per_worker.memory_mib)};
  return std::min<std::int64_t>({room.times_in(at_most_), room.times_in(beside), kMost});
}

/// Until a room that is taken is there again. No less than it takes to make it.
double TrialRooms::back_after_s(const OfKind& of) const {
  constexpr double kLeast = 1e-6;
  double freed_gpus = 0;
  for (const Freed& freed : freed_) freed_gpus += freed.gpus;
  double a_second = of.runs.count == 0 ? 0 : 1 / std::max(of.runs.seconds(), kLeast);
  if (!freed_.empty())
    a_second += freed_gpus / static_cast<double>(of.room.gpus()) /
                std::max((yard_.now() - freed_.front().at).seconds(), kLeast);
  return a_second == 0 ? of.waits.seconds() : std::max(1 / a_second, of.waits.seconds());
}

void TrialRooms::begin_round() {
  for (OfKind& of : kinds_) of.has_sites = false;
}

/// The machines with the most free GPUs are looked at, as many as kLooks.
void TrialRooms::find_sites(OfKind& of) const {
  constexpr std::size_t kLooks = 256;
  const CountIndex& machines = yard_.free().of(of.kind).machines;
  of.has_sites = true;
  of.sites.clear();
  std::size_t count = machines.largest_count(), at = 0;
  for (std::size_t looks = 0; looks < kLooks && count != CountIndex::kNone && count > 0;) {
    at = machines.next(at, count, count);
    if (at == CountIndex::kNone) {
      --count, at = 0;
      continue;
    }
    const MachineId machine{static_cast<std::uint32_t>(at++)};
    const double rooms = times_free(of.room.each, yard_.free().on(machine));
    if (rooms > 0) of.sites.push_back({machine, rooms});
    ++looks;
  }
  std::ranges::stable_sort(of.sites, std::greater<>(), &Site::rooms);
}

/// Visits the machines on which room is kept from this job: visit(what is kept there, machine, how
/// many rooms for a worker have to stay free). Where less than one is free, one is on its way.
template <class Visit>
void TrialRooms::each_site(JobId from, Visit visit) {
  for (OfKind& of : kinds_) {
    std::int32_t workers = kept(of, from) * of.room.workers;
    if (workers > 0 && !of.has_sites) find_sites(of);
    for (auto site = of.sites.begin(); workers > 0 && site != of.sites.end(); ++site) {
      const std::int32_t there = std::clamp(static_cast<std::int32_t>(site->rooms), 1, workers);
      visit(of, site->machine, std::min(site->rooms, static_cast<double>(there)));
      workers -= there;
    }
  }
}

bool TrialRooms::would_be_taken(JobId job, const Placement& there, std::span<const JobId> leave) {
  free_then_.clear();
  const auto add = [&](MachineId machine, const Resources& freed) {
    auto then = std::ranges::find(free_then_, machine, [](const auto& of) { return of.first; });
    if (then == free_then_.end())
      then = free_then_.insert(then, {machine, yard_.free().on(machine)});
    then->second += freed;
  };
  for (const auto& [machine, workers] : there)
    add(machine, yard_.shape(job).demand(machine) * -workers);
  for (const JobId victim : leave)
    for (std::size_t i = 0; i < yard_.placement(victim).size(); ++i)
      add(yard_.placement(victim)[i].machine, yard_.held(victim, i));
  bool is_taken = false;
  each_site(job, [&](const OfKind& of, MachineId machine, double rooms) {
    for (const auto& [changed, free] : free_then_)
      is_taken = is_taken || (changed == machine && times_free(of.room.each, free) < rooms &&
                              !are_enough(of, kept(of, job) * of.room.workers));
  });
  return is_taken;
}

/// Whether so many whole rooms of a worker are free then.
bool TrialRooms::are_enough(const OfKind& of, std::int32_t workers) const {
  for (auto site = of.sites.begin(); workers > 0 && site != of.sites.end(); ++site)
    workers -= static_cast<std::int32_t>(
        std::clamp(times_free(of.room.each, free_then(site->machine)), 0.0, 1e6));
  return workers <= 0;
}

Resources TrialRooms::free_then(MachineId machine) const {
  const auto then = std::ranges::find(free_then_, machine, [](const auto& of) { return of.first; });
  return then == free_then_.end() ? yard_.free().on(machine) : then->second;
}

const Avoid& TrialRooms::kept_from(JobId job, const Avoid* avoided) {
  if (avoided != nullptr) {
    avoid_ = *avoided;
  } else {
    avoid_.assign(yard_.cluster().machines.size(), false);
  }
  each_site(job, [&](const OfKind&, MachineId machine, double) { avoid_[index(machine)] = true; });
  return avoid_;
}

/// What a silence changes is seen when it has become twice as long.
Time TrialRooms::next_look() const {
  Time next = Time::never();
  for (const OfKind& of : kinds_)
    if (!of.last.empty())
      next = std::min(next, yard_.now() + std::max(yard_.now() - of.last.back().at, minutes(1)));
  return next;
}

std::string TrialRooms::describe(JobId job) const {
  for (const OfKind& of : kinds_)
    if (const std::int32_t rooms = kept(of, job); rooms > 0)
      return fmt::format("room for {} of up to {} GPU{} is kept free",
                         rooms == 1 ? "a trial job" : fmt::format("{} trial jobs", rooms),
                         of.room.gpus(), of.room.gpus() == 1 ? "" : "s");
  return {};
}

// --- Over a restart ------------------------------------------------------------------------------

void TrialRooms::save_learnt(Learnt& learnt) const {
  for (const OfKind& of : kinds_) {
    std::vector<double> numbers{of.waits.sum_s, of.waits.count, of.runs.sum_s, of.runs.count};
    for (const auto& [at, room] : of.last)
      for (const double number :
           {(yard_.now() - at).seconds(), double(room.each.gpus), double(room.each.milli_cpus),
            double(room.each.memory_mib), double(room.workers)})
        numbers.push_back(number);
    const std::string kind(of.kind == kAnyKind ? kAnyName : yard_.cluster().kinds[index(of.kind)]);
    learnt[std::string(kTrialRooms) + kind] = numbers;
  }
  std::vector<double>& freed = learnt[std::string(kFreed)];
  freed.clear();
  for (const auto& [at, gpus] : freed_)
    freed.insert(freed.end(), {(yard_.now() - at).seconds(), double(gpus)});
}

void TrialRooms::recall(const Learnt& learnt, Time now) {
  began_ = now;
  const auto ago = [&](double seconds) {
    return now - Duration{std::llround(std::min(seconds, 1e9) * 1e6)};
  };
  each_learnt(learnt, kFreed, [&](std::string_view rest, std::span<const double> numbers) {
    if (!rest.empty() || numbers.size() % 2 != 0 || numbers.size() > 2 * kLast) return;
    for (std::size_t i = 0; i < numbers.size(); i += 2)
      freed_.push_back({ago(numbers[i]), static_cast<std::int32_t>(std::min(numbers[i + 1], 1e8))});
  });
  each_learnt(learnt, kTrialRooms, [&](std::string_view name, std::span<const double> numbers) {
    const std::uint32_t found = yard_.cluster().kinds.find(name);
    if (name != kAnyName && found == yard_.cluster().kinds.size()) return;
    if (numbers.size() % kNumbersEach != kNumbersAhead) return;
    OfKind& mine = of(name == kAnyName ? kAnyKind : KindId{static_cast<std::uint16_t>(found)});
    mine.waits = {numbers[0], numbers[1]};
    mine.runs = {numbers[2], numbers[3]};
    const auto whole = [&](std::size_t i) {
      return static_cast<std::int32_t>(std::min(numbers[i], 1e8));
    };
    for (std::size_t i = kNumbersAhead; i < numbers.size(); i += kNumbersEach)
      take_arrival(mine,
                   {ago(numbers[i]), {{whole(i + 1), whole(i + 2), whole(i + 3)}, whole(i + 4)}});
  });
}

}  // namespace trainyard
