#include "reference_simulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "perf/skew.h"
#include "reference_gain.h"
#include "reference_state.h"

namespace trainyard::reference {
namespace {

using Jobs = std::vector<std::size_t>;

/// What a loop over jobs sets its variable to, so that it goes on with the first.
constexpr std::size_t kRestart = static_cast<std::size_t>(-1);

/// All that a placement looks at. Where the first of those that are alike found no room in a round,
/// the others are not tried in it.
using Likeness = std::tuple<std::array<std::int32_t, 4>, KindId, JobClass, bool>;

class Simulator {
 public:
  Simulator(const Cluster& cluster, const Workload& workload, const std::vector<Fault>& faults,
            const std::vector<Event>& revisions, const Settings& settings)
      : workload_(workload),
        faults_(faults),
        revisions_(revisions),
        set_(settings),
        state_(cluster, workload) {}

  std::vector<Outcome> run();

 private:
  // Time.
  [[nodiscard]] Time next_instant() const;
  void happen();
  bool take_no_time();
  void note_leaving(std::size_t j);
  void change_machine(const Fault& fault);
  template <class Change>
  void note_new_ends(Change change);
  void note_the_queued();

  // A round of deciding.
  void decide();
  bool try_start(std::size_t j);
  std::optional<Spots> find_place(std::size_t j, const Free& free) const;
  bool make_room(std::size_t j);
  bool make_room_by_score(std::size_t j);
  bool make_room_by_gain(std::size_t j);
  [[nodiscard]] PauseCase pause_case(std::size_t waiter) const;
  [[nodiscard]] PauseCase::Victim pause_terms(std::size_t victim) const;
  [[nodiscard]] double size(std::size_t j) const;
  void greedy();
  void easy(std::size_t head);
  void reserve_for(std::size_t head);
  void wake_for_patience();

  // Who is next?
  [[nodiscard]] std::array<std::int64_t, 2> key(std::size_t j) const;
  [[nodiscard]] Jobs queue() const;
  [[nodiscard]] std::optional<std::size_t> overdue() const;
  void refresh_levels();
  [[nodiscard]] Time next_sinking(std::size_t j) const;

  // Who gives way?
  [[nodiscard]] Jobs would_rather_see_leave(std::size_t waiter) const;
  [[nodiscard]] Time pausable_from(std::size_t victim, std::size_t waiter) const;
  struct Room {
    Spots spots;
    Jobs victims;
  };
  [[nodiscard]] std::optional<Room> room_by(std::size_t waiter, const Jobs& leaving) const;
  [[nodiscard]] Jobs by_end() const;

  [[nodiscard]] Likeness likeness(std::size_t j) const;
  [[nodiscard]] bool is_skewed_job(std::size_t j) const;
  [[nodiscard]] std::int32_t max_machines(std::size_t j) const;
  [[nodiscard]] bool closed(std::size_t j) const { return closed_.contains(likeness(j)); }
  void wake_at(Time t) { wake_ = std::min(wake_, t); }

  const Workload& workload_;
  const std::vector<Fault>& faults_;
  const std::vector<Event>& revisions_;
  const Settings& set_;
  State state_;
  std::size_t next_job_ = 0, next_fault_ = 0, next_revision_ = 0;
  Time wake_ = Time::never();
  std::set<Likeness> closed_;  // in this round

  // The reservation of easy.
  std::optional<std::size_t> head_;
  Time head_start_ = Time::never();
  Spots head_spots_;
};

// --- Time ----------------------------------------------------------------------------------------

std::vector<Outcome> Simulator::run() {
  const auto over = [](const Train& train) { return train.stage == Stage::done; };
  while (!std::all_of(state_.trains.begin(), state_.trains.end(), over)) {
    state_.now = next_instant();
    happen();
    do {
      decide();
    } while (take_no_time());
  }
  std::vector<Outcome> outcomes;
  for (const Train& train : state_.trains)
    outcomes.push_back({train.first_start, train.since, train.pauses});
  return outcomes;
}

Time Simulator::next_instant() const {
  Time next = wake_;
  if (next_job_ < workload_.jobs.size()) next = std::min(next, state_.job(next_job_).submit);
  if (next_fault_ < faults_.size()) next = std::min(next, faults_[next_fault_].at);
  if (next_revision_ < revisions_.size()) next = std::min(next, revisions_[next_revision_].at);
  for (std::size_t j = 0; j < state_.trains.size(); ++j) next = std::min(next, state_.next_of(j));
  return next;
}

void Simulator::happen() {
  const Time now = state_.now;
  for (; next_job_ < workload_.jobs.size() && state_.job(next_job_).submit == now; ++next_job_)
    state_.submit(next_job_);
  for (; next_fault_ < faults_.size() && faults_[next_fault_].at == now; ++next_fault_) {
    change_machine(faults_[next_fault_]);
    take_no_time();
  }
  for (; next_revision_ < revisions_.size() && revisions_[next_revision_].at == now;
       ++next_revision_) {
    const Event& revision = revisions_[next_revision_];
    if (revision.subject >= state_.trains.size()) continue;
    Train& train = state_.trains[revision.subject];
    if (train.stage != Stage::absent && train.stage != Stage::done)
      note_new_ends([&] { train.estimate = revision.estimate.work; });
  }
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    if (state_.next_of(j) > now) continue;
    if (state_.trains[j].stage != Stage::starting) note_leaving(j);
    state_.progress(j);
    j = kRestart;  // someone before it may have started by that
  }
  note_the_queued();
}

void Simulator::change_machine(const Fault& fault) {
  const std::size_t machine = index(fault.machine);
  if (fault.speed) return note_new_ends([&] { state_.set_speed(machine, *fault.speed); });
  if (state_.up[machine] != fault.up) head_.reset();
  if (fault.up) return state_.repair_machine(machine);
  for (std::size_t j = 0; state_.up[machine] && j < state_.trains.size(); ++j)
    if (state_.holds(j) && state_.trains[j].spots[machine] > 0) note_leaving(j);
  state_.fail_machine(machine);
}

/// The reservation of easy falls when somebody is now expected to end at another time.
template <class Change>
void Simulator::note_new_ends(Change change) {
  const auto ends = [&] {
    std::vector<Time> all;
    for (std::size_t j = 0; j < state_.trains.size(); ++j) {
      const Stage stage = state_.trains[j].stage;
      const bool listed = stage == Stage::starting || stage == Stage::running;
      all.push_back(listed ? state_.expected_end(j) : Time::never());
    }
    return all;
  };
  const std::vector<Time> before = ends();
  change();
  if (ends() != before) head_.reset();
}

/// Loading or leaving in zero seconds. True when there is something to decide again.
bool Simulator::take_no_time() {
  bool again = false;
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    const Stage stage = state_.trains[j].stage;
    if (stage == Stage::running || state_.trains[j].since != state_.now) continue;
    if (state_.next_of(j) != state_.now) continue;
    if (stage == Stage::draining) note_leaving(j);
    again = again || stage == Stage::draining || set_.preempt != "none";
    state_.progress(j);
    j = kRestart;
  }
  note_the_queued();
  return again;
}

/// The reservation of easy stands as long as everybody leaves when expected, or later (and while
/// machines stay as they are, and nobody starts but who respects it).
void Simulator::note_leaving(std::size_t j) {
  const bool ran = state_.trains[j].stage == Stage::running;
  if (!ran || state_.now < state_.expected_end(j)) head_.reset();
}

/// A job that comes back to the queue sinks to where its service belongs, and waits for promotion.
void Simulator::note_the_queued() {
  for (const std::size_t j : state_.queued_now) {
    Train& train = state_.trains[j];
    const std::int64_t counted = state_.service(j) - train.forgiven;
    std::size_t level = 0;
    while (level < set_.thresholds.size() && counted >= set_.thresholds[level].us) ++level;
    train.level = std::max(train.level, level);
    train.promotion = Time::never();
    if (train.level == 0 || set_.promote == 0) continue;
    const double ran = static_cast<double>(counted) / state_.job(j).gpus();
    const Duration wait{static_cast<std::int64_t>(set_.promote * ran)};
    train.promotion = state_.now + std::max(set_.promote_wait, wait);
  }
  state_.queued_now.clear();
}

// --- Deciding ------------------------------------------------------------------------------------

void Simulator::decide() {
  wake_ = Time::never();
  closed_.clear();
  refresh_levels();
  while (!queue().empty()) {
    const std::optional<std::size_t> late = overdue();
    const std::size_t head = late ? *late : queue().front();
    if (try_start(head)) continue;
    if (late || set_.backfill == "easy") {
      easy(head);
    } else if (set_.backfill == "greedy") {
      greedy();
    }
    break;
  }
  wake_for_patience();
  wake_ = std::max(wake_, Time{state_.now.us + 1});
}

bool Simulator::try_start(std::size_t j) {
  if (closed(j)) return false;
  if (const auto spots = find_place(j, state_.free_for(j))) {
    state_.start(j, *spots);
    head_.reset();
    return true;
  }
  if (make_room(j)) {
    head_.reset();
    return true;
  }
  for (const std::size_t victim : state_.trains[j].gave_way_to)
    if (const Time from = pausable_from(victim, j); set_.preempt != "none" && from > state_.now)
      wake_at(from);
  closed_.insert(likeness(j));
  return false;
}

std::optional<Spots> Simulator::find_place(std::size_t j, const Free& free) const {
  const Gang gang = state_.gang(j);
  if (set_.place == "first-fit") return first_fit(gang, free);
  if (set_.place == "best-fit") return best_fit(gang, free);
  if (set_.place == "spread") return spread(gang, free);
  return consolidate(gang, free, state_.free_for(j), state_.cluster, max_machines(j));
}

void Simulator::greedy() {
  for (const std::size_t j : queue()) try_start(j);
}

void Simulator::easy(std::size_t head) {
  const bool stands = head_ == head && state_.now < head_start_ && head_start_ != Time::never();
  if (!stands) reserve_for(head);
  for (const std::size_t j : queue()) {
    if (closed(j)) continue;
    State alone = state_;  // to ask when it would end if it started now
    alone.start(j, Spots(state_.up.size()));
    const bool ends_before = head_start_ == Time::never() || alone.expected_end(j) <= head_start_;
    Free beside = state_.free_for(j);
    for (std::size_t m = 0; m < beside.size(); ++m)
      if (!ends_before && head_spots_[m] > 0) beside[m].reset();
    if (const auto spots = find_place(j, beside)) state_.start(j, *spots);
  }
}

void Simulator::reserve_for(std::size_t head) {
  head_ = head;
  head_start_ = Time::never();
  head_spots_.assign(state_.up.size(), 0);
  const auto room = room_by(head, by_end());
  if (!room) return;
  head_spots_ = room->spots;
  head_start_ = state_.now;
  for (const std::size_t j : room->victims)
    head_start_ = std::max(head_start_, state_.expected_end(j));
}

// --- Who is next? --------------------------------------------------------------------------------

std::array<std::int64_t, 2> Simulator::key(std::size_t j) const {
  const Job& job = state_.job(j);
  const std::int64_t left = state_.expected_remaining(j).us;
  if (set_.order == "sjf") return {state_.trains[j].estimate.us, 0};
  if (set_.order == "srtf") return {left, 0};
  if (set_.order == "srsf") return {left * job.gpus(), 0};
  if (set_.order == "las")
    return {static_cast<std::int64_t>(state_.trains[j].level), job.submit.us};
  if (set_.order == "trial-first") {
    const Train& train = state_.trains[j];
    const bool comes_back = train.first_start != Time::never();
    if (job.job_class == JobClass::trial) return {0, set_.by_remaining ? left : job.submit.us};
    if (comes_back && set_.reentry == "head") return {1, set_.by_remaining ? left : job.submit.us};
    if (set_.by_remaining) return {2, left};
    return {2, comes_back && set_.reentry == "tail" ? train.since.us : job.submit.us};
  }
  return {job.submit.us, 0};
}

Jobs Simulator::queue() const {
  Jobs jobs = state_.in(Stage::queued);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return jobs;
}

std::optional<std::size_t> Simulator::overdue() const {
  const bool can_starve = set_.order != "fifo" || set_.backfill == "greedy";
  if (set_.patience == Duration::max() || !can_starve) return {};
  std::optional<std::size_t> longest;
  for (const std::size_t j : state_.in(Stage::queued)) {
    const Time since = state_.trains[j].since;
    if (state_.now - since <= set_.patience) continue;
    if (!longest || since < state_.trains[*longest].since) longest = j;
  }
  return longest;
}

/// Somebody will have waited for longer than patience, if nobody has yet.
void Simulator::wake_for_patience() {
  const bool can_starve = set_.order != "fifo" || set_.backfill == "greedy";
  if (set_.patience == Duration::max() || !can_starve || overdue()) return;
  for (const std::size_t j : state_.in(Stage::queued))
    wake_at(state_.trains[j].since + set_.patience + microseconds(1));
}

void Simulator::refresh_levels() {
  if (set_.order != "las") return;
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    Train& train = state_.trains[j];
    if (train.stage == Stage::running)
      while (next_sinking(j) <= state_.now) ++train.level;
    if (train.stage == Stage::queued && train.promotion <= state_.now) {
      train.forgiven = state_.service(j);
      train.level = 0;
      train.promotion = Time::never();
    }
    if (train.stage == Stage::running) wake_at(next_sinking(j));
    if (train.stage == Stage::queued) wake_at(train.promotion);
  }
}

Time Simulator::next_sinking(std::size_t j) const {
  const Train& train = state_.trains[j];
  const std::int64_t gpus = state_.job(j).gpus();
  if (train.level >= set_.thresholds.size() || gpus == 0) return Time::never();
  const std::int64_t left = set_.thresholds[train.level].us - (state_.service(j) - train.forgiven);
  if (left <= 0) return state_.now;
  return state_.now + microseconds((left + gpus - 1) / gpus);
}

// --- Who gives way? ------------------------------------------------------------------------------

bool Simulator::make_room(std::size_t j) {
  if (set_.preempt == "fitgpp") return make_room_by_score(j);
  if (set_.preempt == "benefit") return make_room_by_gain(j);
  Jobs leaving;
  Time retry = Time::never();
  for (const std::size_t victim : would_rather_see_leave(j)) {
    const Time from = pausable_from(victim, j);
    if (from > state_.now) {
      retry = std::min(retry, from);
      continue;
    }
    leaving.push_back(victim);
    if (const auto room = room_by(j, leaving)) {
      state_.reserve(j, room->spots, room->victims);
      return true;
    }
  }
  wake_at(retry);
  return false;
}

/// Of a job that holds GPUs: how much of its machines it takes.
double Simulator::size(std::size_t j) const {
  double size = 0;
  for (std::size_t m = 0; m < state_.up.size(); ++m) {
    const Resources& held = state_.trains[j].held[m];
    const Resources& all = state_.cluster.machines[m].capacity;
    const auto part = [](std::int32_t some, std::int32_t of) {
      return of == 0 ? 0.0 : static_cast<double>(some) / of;
    };
    size += std::hypot(part(held.gpus, all.gpus), part(held.milli_cpus, all.milli_cpus),
                       part(held.memory_mib, all.memory_mib));
  }
  return size;
}

/// The batch job with the least score whose leaving lets the trial job, a single worker, onto its
/// machine; on the first such machine, there the last submitted.
bool Simulator::make_room_by_score(std::size_t j) {
  const Resources& demand = state_.job(j).per_worker;
  if (state_.job(j).job_class != JobClass::trial) return false;
  struct Candidate {
    std::size_t machine, job;
  };
  std::vector<Candidate> candidates;
  double largest_size = 0, largest_pause = 0;
  const auto pause = [&](std::size_t v) { return state_.job(v).expected_pause().seconds(); };
  const auto count = [&](std::size_t v) {
    largest_size = std::max(largest_size, size(v));
    largest_pause = std::max(largest_pause, pause(v));
  };
  for (const std::size_t v : state_.in(Stage::running)) {
    if (state_.job(v).job_class != JobClass::batch) continue;
    if (!set_.over_candidates) count(v);
    const Time from = pausable_from(v, j);
    if (from > state_.now) wake_at(from);
    if (from > state_.now || state_.trains[v].pauses >= set_.most_pauses) continue;
    for (std::size_t m = 0; m < state_.up.size(); ++m) {
      if (state_.trains[v].spots[m] == 0 || !state_.suits(j, m)) continue;
      if (!demand.fits_in(state_.free_on(m) + state_.trains[v].held[m])) continue;
      candidates.push_back({m, v});
      if (set_.over_candidates) count(v);
    }
  }
  if (candidates.empty()) return false;
  const auto score = [&](const Candidate& c) {
    const double by_size = largest_size > 0 ? 1 / largest_size * size(c.job) : 0;
    const double by_pause = largest_pause > 0 ? set_.s / largest_pause * pause(c.job) : 0;
    return by_size + by_pause;
  };
  const Candidate best = *std::min_element(
      candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
        if (score(a) != score(b)) return score(a) < score(b);
        return a.machine != b.machine ? a.machine < b.machine : a.job > b.job;
      });
  Spots spots(state_.up.size());
  spots[best.machine] = 1;
  state_.reserve(j, spots, {best.job});
  return true;
}

PauseCase::Victim Simulator::pause_terms(std::size_t victim) const {
  const Job& job = state_.job(victim);
  const double price = job.job_class == JobClass::trial ? set_.trial_price : 1;
  return {static_cast<double>((state_.expected_end(victim) - state_.now).us),
          static_cast<double>(job.expected_pause().us), static_cast<double>(job.load.us),
          std::max(static_cast<double>(job.gpus()), 1.0), price};
}

PauseCase Simulator::pause_case(std::size_t waiter) const {
  const Job& job = state_.job(waiter);
  PauseCase set{static_cast<double>(state_.expected_remaining(waiter).us),
                static_cast<double>(job.load.us),
                job.job_class == JobClass::trial ? set_.trial_price : 1,
                static_cast<double>(state_.in(Stage::queued).size() - 1),
                std::max(static_cast<double>(state_.cluster.total_gpus), 1.0),
                std::numeric_limits<double>::infinity()};
  Jobs leaving;
  for (const std::size_t j : by_end()) {
    if (state_.trains[j].stage != Stage::running || pause_terms(j).left <= 0) continue;
    leaving.push_back(j);
    if (!room_by(waiter, leaving)) continue;
    set.first_room = pause_terms(j).left;
    break;
  }
  return set;
}

/// Of the two sets that are looked at, the one that gains more, if it gains anything.
bool Simulator::make_room_by_gain(std::size_t j) {
  const PauseCase empty = pause_case(j);
  Jobs would_pay;
  Time retry = Time::never();
  for (const std::size_t v : state_.in(Stage::running)) {
    const PauseCase::Victim terms = pause_terms(v);
    const double most =
        empty.price * terms.left - std::min(set_.trial_price, 1.0) * (empty.remaining + empty.load);
    const Time from = pausable_from(v, j);
    if (most > 0 && from > state_.now) retry = std::min(retry, from);
    if (from <= state_.now && empty.gain_alone(terms) > 0) would_pay.push_back(v);
  }
  const auto by_gain = [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t v) {
      return std::tuple(empty.gain_alone(pause_terms(v)), state_.expected_end(v), v);
    };
    return key(a) > key(b);
  };
  const auto by_loss = [&](std::size_t a, std::size_t b) {
    const auto each = [&](std::size_t v) {
      return empty.loss_of(pause_terms(v)) / pause_terms(v).gpus;
    };
    return each(a) != each(b) ? each(a) < each(b) : by_gain(a, b);
  };
  const auto with = [&](const Jobs& victims) {
    PauseCase set = empty;
    for (const std::size_t v : victims) set.victims.push_back(pause_terms(v));
    return set;
  };
  std::sort(would_pay.begin(), would_pay.end(), by_gain);
  std::optional<Room> room = room_by(j, would_pay);
  if (room) {
    PauseCase set = with(room->victims);
    if (room->victims.size() > 1) {
      std::sort(would_pay.begin(), would_pay.end(), by_loss);
      const Room other = *room_by(j, would_pay);
      const PauseCase second = with(other.victims);
      if (std::min(set.worth(), second.worth()) - second.loss() > set.worth() - set.loss()) {
        room = other;
        set = second;
      }
    }
    if (set.worth() >= set.loss()) {
      state_.reserve(j, room->spots, room->victims);
      return true;
    }
  }
  wake_at(retry);
  return false;
}

Jobs Simulator::would_rather_see_leave(std::size_t waiter) const {
  Jobs jobs = by_end();
  std::reverse(jobs.begin(), jobs.end());
  const auto keep_if = [&](auto wanted) {
    std::erase_if(jobs, [&](std::size_t j) { return !wanted(j); });
  };
  if (set_.preempt == "none") return {};
  if (set_.preempt == "srtf-blind") {
    const Time end = state_.now + state_.expected_remaining(waiter);
    keep_if([&](std::size_t j) { return state_.expected_end(j) > end; });
  }
  if (set_.preempt == "srsf-blind") {
    const auto service = [&](std::size_t j) {
      return (state_.expected_end(j) - state_.now).us * state_.job(j).gpus();
    };
    const std::int64_t own = state_.expected_remaining(waiter).us * state_.job(waiter).gpus();
    keep_if([&](std::size_t j) { return service(j) > own; });
    std::sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(service(a), a) > std::pair(service(b), b);
    });
  }
  if (set_.preempt == "longest-remaining") {
    if (state_.job(waiter).job_class != JobClass::trial) return {};
    keep_if([&](std::size_t j) {
      return state_.job(j).job_class == JobClass::batch && state_.expected_end(j) > state_.now;
    });
  }
  if (set_.preempt == "by-level") {
    const auto level = [&](std::size_t j) {
      return set_.order == "las" ? state_.trains[j].level : 0;
    };
    keep_if([&](std::size_t j) { return level(j) > level(waiter); });
    std::sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(level(a), a) > std::pair(level(b), b);
    });
  }
  return jobs;
}

Time Simulator::pausable_from(std::size_t victim, std::size_t waiter) const {
  const Train& train = state_.trains[victim];
  if (train.stage != Stage::running || train.pauses >= set_.max_pauses) return Time::never();
  Duration least = set_.min_run, turn = set_.turn;
  for (std::size_t n = state_.trains[waiter].gave_way_to.count(victim); n > 0; --n) {
    least = std::max(least, turn);
    turn = turn * 2;
  }
  return least == Duration::max() ? Time::never() : train.since + least;
}

/// Those that start or run, by when they are expected to end.
Jobs Simulator::by_end() const {
  Jobs jobs;
  for (std::size_t j = 0; j < state_.trains.size(); ++j)
    if (state_.holds(j) && state_.trains[j].stage != Stage::draining) jobs.push_back(j);
  std::stable_sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
    return state_.expected_end(a) < state_.expected_end(b);
  });
  return jobs;
}

/// The gang's room as soon as enough of these, in their order, would have left; and who of them has
/// to, those at the end of the list being spared first.
std::optional<Simulator::Room> Simulator::room_by(std::size_t waiter, const Jobs& leaving) const {
  Free free = state_.free_for(waiter);
  const auto change = [&](std::size_t j, std::int32_t sign) {
    for (std::size_t m = 0; m < free.size(); ++m)
      if (free[m]) *free[m] += state_.trains[j].held[m] * sign;
  };
  const Gang gang = state_.gang(waiter);
  Room room;
  for (const std::size_t j : leaving) {
    change(j, 1);
    room.victims.push_back(j);
    const auto spots = most_slots_first(gang, free, max_machines(waiter));
    if (!spots) continue;
    room.spots = *spots;
    const auto still_fits = [&] {
      for (std::size_t m = 0; m < free.size(); ++m)
        if (free[m] && !(gang.each * room.spots[m]).fits_in(*free[m])) return false;
      return true;
    };
    for (std::size_t i = room.victims.size(); i-- > 0;) {
      const std::size_t victim = room.victims[i];
      change(victim, -1);
      if (still_fits()) {
        room.victims.erase(room.victims.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        change(victim, 1);
      }
    }
    return room;
  }
  return {};
}

// --- What jobs are like --------------------------------------------------------------------------

bool Simulator::is_skewed_job(std::size_t j) const {
  const ModelId model = state_.job(j).model;
  return model != kNoModel && is_skewed(workload_.models[index(model)]);
}

Likeness Simulator::likeness(std::size_t j) const {
  const Job& job = state_.job(j);
  return {{job.per_worker.gpus, job.per_worker.milli_cpus, job.per_worker.memory_mib, job.workers},
          job.kind,
          job.job_class,
          is_skewed_job(j)};
}

std::int32_t Simulator::max_machines(std::size_t j) const {
  const bool waits = set_.place == "consolidate" &&
                     (set_.wait_for == "all" || (set_.wait_for == "skewed" && is_skewed_job(j)));
  if (!waits) return state_.job(j).workers;
  const State empty(state_.cluster, workload_);
  return fewest_machines_ever(state_.gang(j), empty.free_for(j));
}

}  // namespace

Settings settings_of(const PolicySpec& spec) {
  Settings set;
  set.order = spec.member("order");
  set.backfill = spec.member("backfill");
  set.place = spec.member("place");
  set.preempt = spec.member("preempt");
  if (set.place == "consolidate") set.wait_for = spec.params("place").choice("wait_for");
  if (set.order == "las") {
    const Params las = spec.params("order");
    set.thresholds = las.durations("thresholds");
    set.promote = las.real("promote");
    set.promote_wait = las.duration("promote_wait");
  }
  if (set.order == "trial-first") {
    set.reentry = spec.params("order").choice("reentry");
    set.by_remaining = spec.params("order").choice("within") == "remaining";
  }
  if (set.preempt == "benefit") set.trial_price = spec.params("preempt").real("trial_price");
  if (set.preempt == "fitgpp") {
    const Params fitgpp = spec.params("preempt");
    set.s = fitgpp.real("s");
    set.most_pauses = fitgpp.whole("P");
    set.over_candidates = fitgpp.choice("normalise") == "candidates";
  }
  set.patience = spec.params("queue").duration("patience");
  const Params yard = spec.params("yard");
  set.min_run = yard.duration("min_run");
  set.turn = yard.duration("turn");
  set.max_pauses = yard.whole("max_pauses");
  return set;
}

std::vector<Outcome> simulate(const Cluster& cluster, const Workload& workload,
                              const std::vector<Fault>& faults, const std::vector<Event>& revisions,
                              const Settings& settings) {
  return Simulator(cluster, workload, faults, revisions, settings).run();
}

}  // namespace trainyard::reference
