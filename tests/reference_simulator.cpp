#include "reference_simulator.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "reference_delay.h"
#include "reference_flow.h"
#include "reference_preempt.h"
#include "reference_rooms.h"
#include "reference_state.h"
#include "reference_where.h"
#include "reference_worth.h"

namespace trainyard::reference {
namespace {

/// What a loop over jobs sets its variable to, so that it goes on with the first.
constexpr std::size_t kRestart = static_cast<std::size_t>(-1);

/// The tier of machines in different racks.
constexpr std::size_t kFarthest = 2;

/// All that a placement looks at. Where the first of those that are alike found no room in a round,
/// the others are not tried in it.
using Likeness =
    std::tuple<std::array<std::int32_t, 4>, TermsId, KindId, JobClass, bool, std::size_t>;

class Simulator {
 public:
  Simulator(const World& world, const Settings& settings)
      : workload_(world.workload),
        faults_(world.faults),
        revisions_(world.revisions),
        set_(settings),
        state_(world, settings),
        rooms_(state_, set_),
        preemption_(state_, set_,
                    [this](std::size_t j, const Spots& spots, const Jobs& victims) {
                      return leaves_rooms(j, spots, victims);
                    }),
        flows_(state_, set_) {
    state_.is_residual = set_.estimates == "residual";
  }

  std::vector<Outcome> run();

 private:
  // Time.
  [[nodiscard]] Time next_instant() const;
  bool happen();
  bool take_no_time();
  void note_leaving(std::size_t j);
  void change_machine(const Fault& fault);
  template <class Change>
  void note_new_ends(Change change);
  void note_the_queued();

  // A round of deciding.
  void decide();
  bool try_start(std::size_t j);
  [[nodiscard]] std::optional<Spots> find_place(std::size_t j, const Free& free) const {
    return reference::find_place(state_, set_, j, free);
  }
  [[nodiscard]] std::optional<Spots> find_unkept_place(std::size_t j, const Free& free);
  bool leaves_rooms(std::size_t j, const Spots& spots, const Jobs& victims);
  void serve_queue();
  void greedy();
  void easy(std::size_t head);
  void reserve_for(std::size_t head);
  void wake_for_patience();

  // Jobs that run and compete anew.
  [[nodiscard]] std::optional<Time> lease_end(std::size_t j) const;
  void take_rebids();
  [[nodiscard]] bool is_spread(std::size_t j) const;
  void wake_for_rebids();
  void hold_auction();
  void give(std::size_t j, const Spots& spots);
  [[nodiscard]] bool is_left(std::size_t j, const Spots& spots) const;
  [[nodiscard]] bool is_closer(const Spots& a, const Spots& b) const;
  void move_closer();

  // Who is next?
  [[nodiscard]] std::array<std::int64_t, 2> key(std::size_t j) const;
  [[nodiscard]] Jobs queue() const;
  [[nodiscard]] std::optional<std::size_t> overdue() const;
  [[nodiscard]] bool is_to_have_a_place(std::size_t j) const;
  void refresh_levels();
  void find_critical();
  [[nodiscard]] Time next_sinking(std::size_t j) const;

  [[nodiscard]] Likeness likeness(std::size_t j) const;
  [[nodiscard]] bool closed(std::size_t j) const { return closed_.contains(likeness(j)); }
  void wake_at(Time t) { wake_ = std::min(wake_, t); }

  const Workload& workload_;
  const std::vector<Fault>& faults_;
  const std::vector<Event>& revisions_;
  const Settings& set_;
  State state_;
  TrialRooms rooms_;
  Preemption preemption_;
  FlowOrder flows_;
  std::size_t next_job_ = 0, next_fault_ = 0, next_revision_ = 0;
  Time wake_ = Time::never();
  std::set<Likeness> closed_;               // in this round
  Jobs rebids_;                             // the jobs that run and bid in it
  std::optional<std::vector<Change>> won_;  // in an auction, while it is held

  // The reservation of easy.
  std::optional<std::size_t> head_;
  Time head_start_ = Time::never();
  Spots head_spots_;
};

// --- Time ----------------------------------------------------------------------------------------

std::vector<Outcome> Simulator::run() {
  const auto over = [](const Train& train) { return train.stage == Stage::done; };
  while (!std::all_of(state_.trains.begin(), state_.trains.end(), over)) {
    state_.go_on_to(next_instant());
    bool has_news = happen();
    note_new_ends([&] { state_.refresh_paces(); });
    while (has_news) {
      decide();
      has_news = take_no_time();
    }
    note_new_ends([&] { state_.refresh_paces(); });
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
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    next = std::min(next, state_.next_of(j));
    if (flows_.hears_points()) next = std::min(next, state_.next_report(j));
  }
  return next;
}

/// True when there is something to decide: more than what jobs tell of their learning.
bool Simulator::happen() {
  const Time now = state_.now;
  bool has_news = wake_ == now;
  for (; next_job_ < workload_.jobs.size() && state_.job(next_job_).submit == now; ++next_job_) {
    state_.submit(next_job_);
    has_news = true;
  }
  for (; next_fault_ < faults_.size() && faults_[next_fault_].at == now; ++next_fault_) {
    change_machine(faults_[next_fault_]);
    take_no_time();
    has_news = true;
  }
  for (; next_revision_ < revisions_.size() && revisions_[next_revision_].at == now;
       ++next_revision_) {
    const Event& revision = revisions_[next_revision_];
    has_news = true;
    if (revision.subject >= state_.trains.size()) continue;
    Train& train = state_.trains[revision.subject];
    if (train.stage != Stage::absent && train.stage != Stage::done)
      note_new_ends([&] { state_.revise(revision.subject, revision.estimate.work); });
  }
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    if (state_.next_of(j) > now) continue;
    if (state_.trains[j].stage != Stage::starting) note_leaving(j);
    state_.progress(j);
    has_news = true;
    j = kRestart;  // someone before it may have started by that
  }
  note_the_queued();
  for (std::size_t j = 0; flows_.hears_points() && j < state_.trains.size(); ++j)
    if (state_.next_report(j) <= now) flows_.note_point(j, state_.take_point(j));
  return has_news;
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

/// A job that comes back to the queue sinks to where its service belongs.
void Simulator::note_the_queued() {
  for (const std::size_t j : state_.queued_now) {
    Train& train = state_.trains[j];
    std::size_t level = 0;
    while (level < set_.thresholds.size() && state_.service(j) >= set_.thresholds[level].us)
      ++level;
    train.level = std::max(train.level, level);
    if (train.stage != Stage::queued) continue;  // it only passed through
    if (set_.place == "delay") begin_to_hold_out(state_, set_, j);
  }
  state_.queued_now.clear();
}

// --- Deciding ------------------------------------------------------------------------------------

void Simulator::decide() {
  wake_ = Time::never();
  closed_.clear();
  rooms_.begin_round();
  state_.refresh_beliefs();
  state_.note_work();
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    wake_at(state_.belief_ends(j));
    if (state_.has_turn(j)) wake_at(state_.trains[j].turn->until);
  }
  refresh_levels();
  find_critical();
  state_.refresh_rights();
  wake_at(state_.rights_change());
  if (set_.place == "delay") wake_at(look_again(state_, set_));
  move_closer();
  take_rebids();
  if (set_.leaves_before_rebid) {
    std::vector<Change> all_leave;
    for (const std::size_t j : rebids_) all_leave.push_back({j, {}});
    state_.change(all_leave);
    rebids_.clear();
  }
  rebids_.empty() ? serve_queue() : hold_auction();
  wake_for_rebids();
  wake_for_patience();
  wake_at(flows_.refresh());
  wake_ = std::max(wake_, Time{state_.now.us + 1});
}

void Simulator::serve_queue() {
  while (!queue().empty()) {
    const std::optional<std::size_t> late = overdue();
    state_.named = late;
    const std::size_t head = late ? *late : queue().front();
    if (try_start(head)) continue;
    if (late || set_.backfill == "easy") {
      easy(head);
    } else if (set_.backfill == "greedy") {
      greedy();
    }
    return;
  }
}

/// Whether there would be room for it on the machines that are up if all others left.
bool Simulator::is_to_have_a_place(std::size_t j) const {
  std::int32_t workers = 0;
  for (std::size_t m = 0; m < state_.up.size(); ++m) {
    Resources left = state_.cluster.machines[m].capacity;
    const std::optional<Resources> each = state_.each_on(j, m);
    if (!state_.suits(j, m) || !each) continue;
    for (; workers < state_.job(j).workers && each->fits_in(left); ++workers) left -= *each;
  }
  return workers == state_.job(j).workers;
}

bool Simulator::try_start(std::size_t j) {
  if (closed(j)) return false;
  if (const auto spots = find_unkept_place(j, state_.free_for(j))) {
    give(j, *spots);
    head_.reset();
    return true;
  }
  if (won_) {
    closed_.insert(likeness(j));
    return false;
  }
  const std::size_t flow_class = flows_.class_at_start(j);
  const bool has_made_room = preemption_.make_room(j);
  wake_at(preemption_.take_retry());
  if (has_made_room) {
    state_.trains[j].flow_class = flow_class;
    head_.reset();
    return true;
  }
  for (const std::size_t victim : state_.trains[j].gave_way_to)
    if (const Time from = preemption_.pausable_from(victim, j);
        set_.preempt != "none" && from > state_.now)
      wake_at(from);
  closed_.insert(likeness(j));
  return false;
}

/// Trial jobs, and overdue jobs whose turn it is, take what is kept for trial jobs. Others look
/// elsewhere.
bool Simulator::leaves_rooms(std::size_t j, const Spots& spots, const Jobs& victims) {
  if (!set_.keeps_rooms || won_ || state_.acts_as_trial(j) || state_.goes_first(j)) return true;
  if (rooms_.are_left_by(j, spots, victims)) return true;
  wake_at(rooms_.next_look());
  return false;
}

std::optional<Spots> Simulator::find_unkept_place(std::size_t j, const Free& free) {
  const auto spots = find_place(j, free);
  if (!spots || leaves_rooms(j, *spots, {})) return spots;
  return find_place(j, rooms_.outside(j, free));
}

/// One pass: jobs that lose their right by what starts come later in it.
void Simulator::greedy() {
  const auto place = [this](std::size_t j) { return std::pair(key(j), j); };
  Jobs left = queue();
  while (!left.empty()) {
    const auto passed = place(left.front());
    try_start(left.front());
    left = queue();
    std::erase_if(left, [&](std::size_t j) { return place(j) <= passed; });
  }
}

void Simulator::easy(std::size_t head) {
  const bool stands = head_ == head && state_.now < head_start_ && head_start_ != Time::never();
  if (!stands) reserve_for(head);
  for (const std::size_t j : queue()) {
    if (closed(j)) continue;
    State alone = state_;  // to ask when it would end if it started now
    alone.start(j, Spots(state_.up.size()));
    alone.trains[j].pace = state_.pace_at(j, kFarthest);
    const bool ends_before = head_start_ == Time::never() || alone.expected_end(j) <= head_start_;
    Free beside = state_.free_for(j);
    for (std::size_t m = 0; m < beside.size(); ++m)
      if (!ends_before && head_spots_[m] > 0) beside[m].reset();
    if (const auto spots = find_unkept_place(j, beside)) give(j, *spots);
  }
}

// --- Jobs that run and compete anew --------------------------------------------------------------

/// A lease is over so long after it began; a job that may not be paused any more has none.
std::optional<Time> Simulator::lease_end(std::size_t j) const {
  const Train& train = state_.trains[j];
  const Duration length = std::max({set_.lease, set_.min_run, microseconds(1)});
  if (set_.preempt != "lease" || length == Duration::max() || train.stage != Stage::running ||
      train.pauses >= set_.max_pauses)
    return {};
  return std::max(train.since, train.renewed) + length;
}

void Simulator::take_rebids() {
  rebids_.clear();
  for (std::size_t j = 0; j < state_.trains.size(); ++j)
    if (const auto end = lease_end(j); end && *end <= state_.now) rebids_.push_back(j);
  for (const std::size_t j : rebids_) state_.trains[j].renewed = state_.now;
}

bool Simulator::is_spread(std::size_t j) const {
  return state_.trains[j].stage == Stage::running && machines_used(state_.trains[j].spots) > 1;
}

void Simulator::wake_for_rebids() {
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    if (const auto end = lease_end(j)) wake_at(*end);
    const Time from = preemption_.pausable_from(j, j);
    if (set_.preempt == "closer" && is_spread(j) && from > state_.now) wake_at(from);
  }
}

/// As if all of them had left: what each wins is remembered, and done at once when all have had
/// their turn.
void Simulator::hold_auction() {
  const std::vector<Train> before = state_.trains;
  for (const std::size_t j : rebids_) {
    Train& train = state_.trains[j];
    train.done = state_.work_done(j);
    train.ran = state_.ran(j);
    train.held.assign(state_.up.size(), {});
    train.stage = Stage::queued;
    train.since = state_.now;
  }
  won_.emplace();
  serve_queue();
  std::vector<Change> changes = *std::exchange(won_, {});
  state_.trains = before;
  const auto has_won = [&](std::size_t j) {
    return std::any_of(changes.begin(), changes.end(),
                       [&](const Change& change) { return change.job == j; });
  };
  Jobs lost;
  for (const std::size_t j : rebids_)
    if (!has_won(j)) lost.push_back(j);
  std::erase_if(changes, [&](const Change& change) {
    const Train& train = state_.trains[change.job];
    return train.stage == Stage::running && train.spots == *change.to;
  });
  for (const std::size_t j : lost) changes.push_back({j, {}});
  state_.change(changes);
}

/// One that runs prefers where it is, if that is left and no closer room is to be had.
void Simulator::give(std::size_t j, const Spots& spots) {
  if (!won_) return state_.start(j, spots);
  Train& train = state_.trains[j];
  const bool runs = std::find(rebids_.begin(), rebids_.end(), j) != rebids_.end();
  Spots room = spots;
  if (runs && is_left(j, train.spots) && !is_closer(spots, train.spots)) room = train.spots;
  won_->push_back({j, room});
  train.spots = room;
  for (std::size_t m = 0; m < room.size(); ++m) train.held[m] = state_.taken(j, m, room[m]);
  train.stage = Stage::reserved;
  if (!runs) head_.reset();
}

bool Simulator::is_left(std::size_t j, const Spots& spots) const {
  for (std::size_t m = 0; m < spots.size(); ++m)
    if (spots[m] > 0 && !(state_.up[m] && state_.taken(j, m, spots[m]).fits_in(state_.free_on(m))))
      return false;
  return true;
}

bool Simulator::is_closer(const Spots& a, const Spots& b) const {
  const auto far = [&](const Spots& spots) {
    return std::tuple(tier_of_spots(state_.cluster, spots), machines_used(spots));
  };
  return far(a) < far(b);
}

void Simulator::move_closer() {
  if (set_.preempt != "closer") return;
  Jobs movers;
  for (std::size_t j = 0; j < state_.trains.size(); ++j)
    if (is_spread(j) && preemption_.pausable_from(j, j) <= state_.now) movers.push_back(j);
  for (const std::size_t j : movers)
    if (const auto spots = find_place(j, state_.free_for(j));
        spots && is_closer(*spots, state_.trains[j].spots))
      state_.change({{j, *spots}});
}

void Simulator::reserve_for(std::size_t head) {
  head_ = head;
  head_start_ = Time::never();
  head_spots_.assign(state_.up.size(), 0);
  const auto room = preemption_.room_by(head, preemption_.by_end(&State::expected_end));
  if (!room) return;
  head_spots_ = room->spots;
  head_start_ = state_.now;
  for (const std::size_t j : room->victims)
    head_start_ = std::max(head_start_, state_.expected_end(j));
}

// --- Who is next? --------------------------------------------------------------------------------

std::array<std::int64_t, 2> Simulator::key(std::size_t j) const {
  const Job& job = state_.job(j);
  const std::int64_t left = state_.left(j).us;
  if (set_.order == "sjf") return {state_.trains[j].estimate.us, 0};
  if (set_.order == "srtf") return {left, 0};
  if (set_.order == "srsf") return {left * job.gpus(), 0};
  if (set_.order == "smith")
    return {static_cast<std::int64_t>(static_cast<double>(left) * width(state_, j) /
                                      worth_unless_overdue(state_, j)),
            0};
  if (set_.order == "attained-service") return {state_.ran(j).us * job.gpus(), 0};
  if (set_.order == "las")
    return {static_cast<std::int64_t>(state_.trains[j].level), job.submit.us};
  if (set_.order == "trial-first") {
    const Train& train = state_.trains[j];
    const bool comes_back = train.first_start != Time::never();
    if (state_.acts_as_trial(j)) return {0, set_.by_remaining ? left : job.submit.us};
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
  if (!can_starve) return {};
  std::optional<std::size_t> longest;
  for (const std::size_t j : state_.in(Stage::queued)) {
    if (!state_.is_due(j) || !is_to_have_a_place(j)) continue;
    if (!longest || state_.trains[j].since < state_.trains[*longest].since) longest = j;
  }
  return longest;
}

/// If no overdue job has its turn yet: when the first will.
void Simulator::wake_for_patience() {
  const bool can_starve = set_.order != "fifo" || set_.backfill == "greedy";
  const Duration limit = state_.wait_limit();
  if (limit == Duration::max() || !can_starve || overdue()) return;
  for (const std::size_t j : state_.in(Stage::queued)) {
    const Time over = state_.trains[j].since + limit + microseconds(1);
    if (const Time turn = std::max(over, state_.next_turn); turn > state_.now) wake_at(turn);
  }
}

void Simulator::find_critical() {
  for (const std::size_t j : state_.in(Stage::queued))
    if (set_.critical_first && !state_.was_critical(j) && state_.is_critical(j))
      state_.trains[j].critical_since = state_.now;
}

void Simulator::refresh_levels() {
  if (set_.order != "las") return;
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    Train& train = state_.trains[j];
    if (train.stage != Stage::running) continue;
    while (next_sinking(j) <= state_.now) ++train.level;
    wake_at(next_sinking(j));
  }
}

Time Simulator::next_sinking(std::size_t j) const {
  const Train& train = state_.trains[j];
  const std::int64_t gpus = state_.job(j).gpus();
  if (train.level >= set_.thresholds.size() || gpus == 0) return Time::never();
  const std::int64_t left = set_.thresholds[train.level].us - state_.service(j);
  if (left <= 0) return state_.now;
  return state_.now + microseconds((left + gpus - 1) / gpus);
}

// --- What jobs are like --------------------------------------------------------------------------

Likeness Simulator::likeness(std::size_t j) const {
  const Job& job = state_.job(j);
  return {{job.per_worker.gpus, job.per_worker.milli_cpus, job.per_worker.memory_mib, job.workers},
          job.terms,
          job.kind,
          job.job_class,
          state_.is_skewed(j),
          state_.trains[j].ready_tier};
}

}  // namespace

std::vector<Outcome> simulate(const World& world, Settings settings) {
  if (world.models == nullptr) settings.flow = "fair";  // no links are shared: nothing to order
  return Simulator(world, settings).run();
}

}  // namespace trainyard::reference
