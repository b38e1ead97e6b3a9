// A pause must pay for itself (Xion: Go et al. 2023; the rule is not published, this one is ours):
// a waiting job gets the room of others only if the sum of completion times falls by it, the time
// to save, to load and to wait for both included. The arithmetic is in gain.h.
//
// Victims are offered by what pausing each alone would gain times its width (economy/worth.h), most
// first (ties: the one that would stay longest, then the one that was submitted last), until the
// gang fits: one wide job that leaves frees as much as many narrow ones, and costs one pause. The
// set is paused if that gains anything at all. Offered are the kPool jobs that would stay longest;
// if these do not make room, twice as many, and so on, as long as a pause may pay.
//
// Most jobs that wait in vain have to stay within a machine or a rack, and of thousands whose
// pauses would pay too few are together in one: their GPUs alone tell so, for all that ask at once
// (most_freed.h), and only jobs are offered that run where there could be room (freed_by_group.h).
#include <algorithm>

#include "policy/members.h"
#include "policy/preempt/freed_by_group.h"
#include "policy/preempt/gain.h"
#include "policy/preempt/most_freed.h"
#include "policy/preempt/pausable.h"

namespace trainyard {
namespace {

class Benefit final : public PreemptStage {
 public:
  Benefit(const Params& params, PolicyContext& context)
      : PreemptStage(params, context),
        context_(context),
        worth_(context.worth()),
        gpu_price_(context.gpu_price()),
        estimates_(context.estimates()),
        most_freed_(context.yard()),
        freed_(context.yard()),
        freed_by_ends_(context.yard()) {
    note_machines();
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::running) {
      running_.erase({by_left_.rank(job), job, {}});
      by_left_.remove(job);
    }
    if (to == Phase::running) {
      by_left_.add(yard_, job, estimates_.rank(job));
      running_.insert({by_left_.rank(job), job, held_by(yard_, job)});
      note_cost(job);
    }
  }
  void on_machine(MachineId /*machine*/) override { note_machines(); }
  void on_outlook(JobId job) override {
    if (yard_.state(job).phase != Phase::running) return;
    running_.erase({by_left_.rank(job), job, {}});
    by_left_.rerank(yard_, job, estimates_.rank(job));
    running_.insert({by_left_.rank(job), job, held_by(yard_, job)});
    note_cost(job);
  }

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override;

  [[nodiscard]] std::int64_t claim(JobId waiter) const override;
  [[nodiscard]] bool could_free(std::int64_t claim, std::int64_t gpus) override;
  void find_retry(JobId waiter, std::int64_t claim, Time& retry) override;

 private:
  static constexpr std::size_t kPool = 64;
  static constexpr std::size_t kMostEnds = 128;  // that first_room looks at

  using Running = Pausable<Time>::Entry;

  /// Through those that may be paused, the one with most time left first, as long as it may pay.
  struct Walk {
    SortedList<Running>::Descent next;
    Time above;  // a rank
    [[nodiscard]] bool done() const { return next.done() || (*next).rank <= above; }
  };

  struct Candidate {
    double gain = 0;  // of pausing it alone, times its width
    Running running;

    friend bool operator<(const Candidate& a, const Candidate& b) {
      if (a.gain != b.gain) return a.gain < b.gain;
      return a.running < b.running;
    }
  };

  [[nodiscard]] GainWaiter waiter_terms(JobId waiter) const;
  [[nodiscard]] GainVictim victim_terms(JobId victim, Time rank) const;
  [[nodiscard]] Candidate candidate(const GainWaiter& w, const Running& running) const;
  [[nodiscard]] double width(JobId job) const;
  /// What any pause loses at least.
  [[nodiscard]] double least_lost(const GainWaiter& w) const;

  /// When the waiter would have room if nobody were paused; infinite if that cannot be told. Where
  /// more than kMostEnds have to end before, not before the last of those.
  [[nodiscard]] double first_room(JobId waiter, Reach reach, RoomFinder& finder);
  template <class FitsWith>
  [[nodiscard]] double first_end(FitsWith fits_with) const;
  [[nodiscard]] bool is_room_if_gpus(JobId waiter, Reach reach) const;
  void note_machines();
  [[nodiscard]] bool cannot_pay(const GainWaiter& w) const;
  void note_cost(JobId job);
  [[nodiscard]] Time next_look() const;
  [[nodiscard]] Walk walk(const GainWaiter& w);
  /// Begins for the gang of this job. False: if all left that the walk would see, there could not
  /// be room.
  bool begin(JobId waiter, Reach reach, const Walk& walk);
  /// Goes on until there could be room if all that were seen left. False: there cannot be.
  bool see_enough(Walk& walk);
  bool see_one(Walk& walk);
  // True: the waiter's gang fits.
  bool offer_by_gain(const GainWaiter& w, Walk& walk, Offers offers);
  bool offer_best(Offers offers);
  [[nodiscard]] PauseGain gain_of(const GainWaiter& w, std::span<const JobId> victims) const;

  PolicyContext& context_;
  const Worth& worth_;
  const GpuPrice& gpu_price_;
  const Estimator& estimates_;
  Pausable<Time> by_left_;              // those that may be paused, or soon
  SortedList<Running> running_;         // all of them
  bool are_all_up_ = false;             // the machines
  mutable std::vector<double> widths_;  // by shape; 0: not known yet
  double least_cost_ = std::numeric_limits<double>::infinity();  // of pausing any that ever ran

  MostFreed<Time> most_freed_;  // for all that wait

  // Of the present waiter.
  std::int32_t needed_ = 0;            // GPUs
  FreedByGroup freed_;                 // by those that were seen
  FreedByGroup freed_by_ends_;         // by those that end first
  std::vector<Running> seen_;          // in the walk
  std::vector<Candidate> candidates_;  // the same
  std::vector<Candidate> paying_;      // of these
  Placement room_;
  std::vector<JobId> victims_;
};

GainWaiter Benefit::waiter_terms(JobId waiter) const {
  return {static_cast<double>(estimates_.remaining(waiter).us),
          static_cast<double>(yard_.load_time(waiter).us), worth_.of(waiter)};
}

GainVictim Benefit::victim_terms(JobId victim, Time rank) const {
  const Job& job = yard_.job(victim);
  const auto left = static_cast<double>(estimates_.left_at(rank).us);
  const auto again = static_cast<double>(yard_.work_at_stake(victim).us);
  return {left,
          static_cast<double>(yard_.expected_pause(victim).us),
          static_cast<double>(yard_.reload_time(victim).us),
          std::max(static_cast<double>(job.gpus()), 1.0),
          worth_.of(victim),
          again};
}

Benefit::Candidate Benefit::candidate(const GainWaiter& w, const Running& running) const {
  const GainVictim v = victim_terms(running.job, running.rank);
  const double gain = w.price * v.left - v.price * w.remaining - w.price * v.leave;
  return {(whole(gain) - pause_loss(w, v)) * width(running.job), running};
}

/// All jobs of a shape are as wide.
double Benefit::width(JobId job) const {
  const ShapeId shape = yard_.state(job).shape;
  grow_to(widths_, index(shape), 0);
  double& known = widths_[index(shape)];
  if (known == 0) known = worth_.width(job);
  return known;
}

double Benefit::least_lost(const GainWaiter& w) const {
  return w.remaining + whole(least_cost_ + w.load) + whole(least_cost_ * w.others_per_gpu);
}

bool Benefit::make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) {
  GainWaiter w = waiter_terms(waiter);
  w.others_per_gpu = gpu_price_.per_second();
  Walk longest_first = walk(w);
  if (!begin(waiter, reach, longest_first) || !see_enough(longest_first)) return false;
  w.first_room = first_room(waiter, reach, finder);
  w.all_started = all_started(w.first_room, gpu_price_.waiting());
  if (cannot_pay(w)) return false;
  const Offers offers(yard_, waiter, reach, finder, retry);
  if (!offer_by_gain(w, longest_first, offers)) return false;
  room_ = finder.room();
  victims_.assign(finder.victims().begin(), finder.victims().end());
  const PauseGain gain = gain_of(w, victims_);
  if (!(gain.gain() >= 0)) return false;
  finder.settle(waiter, room_, victims_);
  context_.tell(waiter, {.gain_s = gain.gain() / 1e6,
                         .spared_s = gain.spared() / 1e6,
                         .worth_s = gain.worth() / 1e6,
                         .suspended_s = gain.suspended() / 1e6,
                         .costs_s = (gain.loss() - gain.others()) / 1e6,
                         .others_s = gain.others() / 1e6});
  return true;
}

/// Whether it suspends a single victim for longer than it spares all who wait, so that no set of
/// victims gains anything. Most that wait in vain are told so without a look at any victim; one
/// whose turn comes later is found by who asks when to try again.
bool Benefit::cannot_pay(const GainWaiter& w) const {
  if (least_cost_ == 0) return false;
  const double own = w.price > 1 ? (w.price - 1) * w.first_room : 0;
  return w.all_started + own < w.remaining;
}

void Benefit::note_cost(JobId job) {
  const Duration cost = yard_.expected_pause(job) + yard_.reload_time(job);
  least_cost_ = std::min(least_cost_, static_cast<double>(cost.us));
}

void Benefit::find_retry(JobId waiter, std::int64_t claim, Time& retry) {
  by_left_.find_retry(yard_, waiter, retry,
                      [&](Time rank) { return estimates_.left_at(rank).us > claim; });
  if (estimates_.grows() && !running_.empty()) retry = std::min(retry, next_look());
}

/// The least time that a victim must have left: with less no pause gains anything, whatever pauses
/// cost and wherever the waiter runs, which takes less time than its work where GPUs are fast.
std::int64_t Benefit::claim(JobId waiter) const {
  const GainWaiter w = waiter_terms(waiter);
  const double least = (w.remaining + w.load) / w.price;
  return static_cast<std::int64_t>(std::min(least, 9e18));
}

bool Benefit::could_free(std::int64_t claim, std::int64_t gpus) {
  return by_left_.hold(yard_, gpus, [&](Time rank) { return estimates_.left_at(rank).us > claim; });
}

/// When the time left of the one that has most will have grown by an eighth.
Time Benefit::next_look() const {
  constexpr Duration kLeast = seconds(1);
  const Duration most = estimates_.left_at(running_.back().rank);
  return yard_.now() + std::max(kLeast, Duration{most.us / 8});
}

double Benefit::first_room(JobId waiter, Reach reach, RoomFinder& finder) {
  if (is_room_if_gpus(waiter, reach)) {
    freed_by_ends_.begin(kAnyKind, std::min(reach.tier, yard_.cluster().tiers.size() - 1));
    return first_end(
        [&](const Running& next) { return freed_by_ends_.add(next.job, next.place) >= needed_; });
  }
  finder.begin(waiter, reach);
  return first_end([&](const Running& next) { return finder.fits_with(next.job); });
}

template <class FitsWith>
double Benefit::first_end(FitsWith fits_with) const {
  double left = std::numeric_limits<double>::infinity();
  // Who has outlived its estimate may stay for any time: nobody waits for it.
  const Running alive{estimates_.rank_of(microseconds(1)), JobId{0}, {}};
  std::size_t looked_at = 0;
  running_.each_from(alive, [&](const Running& next) {
    if (!fits_with(next) && ++looked_at < kMostEnds) return true;
    left = static_cast<double>(estimates_.left_at(next.rank).us);
    return false;
  });
  return left;
}

/// True if the gang has room wherever there are GPUs enough within its reach, so that they need
/// only be counted: any machine will do, each worker takes one GPU and nothing else, and how many
/// are free in a group of this tier is known (freed_by_group.h).
bool Benefit::is_room_if_gpus(JobId waiter, Reach reach) const {
  const Shape& shape = yard_.shape(waiter);
  const std::vector<Tier>& tiers = yard_.cluster().tiers;
  const bool is_any_machine = are_all_up_ && shape.fit == nullptr &&
                              (shape.kind == kAnyKind || yard_.cluster().kinds.size() <= 1);
  const bool is_any_spread = reach.tier == kMachineTier || reach.machines >= shape.workers;
  const bool is_counted =
      reach.tier <= kRackTier || tiers[std::min(reach.tier, tiers.size() - 1)].racks == 0;
  return is_any_machine && is_any_spread && is_counted && shape.per_worker == Resources{.gpus = 1};
}

void Benefit::note_machines() {
  are_all_up_ = true;
  for (std::uint32_t m = 0; m < yard_.cluster().machines.size(); ++m)
    are_all_up_ = are_all_up_ && yard_.free().is_up(MachineId{m});
}

/// As long as one may gain anything.
Benefit::Walk Benefit::walk(const GainWaiter& w) {
  constexpr double kAges = 4e18;  // also where nobody has run, so that the least cost is no number
  const double left = std::min(kAges, least_lost(w) / w.price);
  return {by_left_.descent(yard_), estimates_.rank_of(Duration{static_cast<std::int64_t>(left)})};
}

bool Benefit::begin(JobId waiter, Reach reach, const Walk& walk) {
  const Shape& shape = yard_.shape(waiter);
  const std::size_t tier = std::min(reach.tier, yard_.cluster().tiers.size() - 1);
  needed_ = shape.gpus();
  if (!most_freed_.could_have(needed_, tier, by_left_, walk.above)) return false;
  freed_.begin(shape.kind, tier);
  return true;
}

bool Benefit::see_enough(Walk& walk) {
  seen_.clear();
  while (!walk.done())
    if (see_one(walk)) return true;
  return false;
}

bool Benefit::see_one(Walk& walk) {
  const Running next = *walk.next;
  walk.next.next();
  seen_.push_back(next);
  return freed_.add(next.job, next.place) >= needed_;
}

bool Benefit::offer_by_gain(const GainWaiter& w, Walk& walk, Offers offers) {
  candidates_.clear();
  for (std::size_t pool = kPool;; pool *= 2) {
    while (!walk.done() && seen_.size() < pool) see_one(walk);
    for (std::size_t i = candidates_.size(); i < seen_.size(); ++i)
      candidates_.push_back(candidate(w, seen_[i]));
    if (seen_.size() <= pool && offer_best(offers)) return true;
    if (walk.done() && seen_.size() <= pool) return false;
  }
}

/// Of dozens a few are offered until the gang fits, so they are not sorted.
bool Benefit::offer_best(Offers offers) {
  paying_.clear();
  for (const Candidate& c : candidates_)
    if (c.gain > 0 && freed_.has_beside(c.running.job, c.running.place, needed_))
      paying_.push_back(c);
  std::make_heap(paying_.begin(), paying_.end());
  for (; !paying_.empty(); paying_.pop_back()) {
    std::pop_heap(paying_.begin(), paying_.end());
    if (offers.make(paying_.back().running.job)) return true;
  }
  return false;
}

PauseGain Benefit::gain_of(const GainWaiter& w, std::span<const JobId> victims) const {
  PauseGain gain(w);
  for (const JobId victim : victims) gain.add(victim_terms(victim, by_left_.rank(victim)));
  return gain;
}

}  // namespace

Member<PreemptStage> preempt_benefit() {
  return {{"benefit",
           "a job pauses others only if that pays: the sum of completion times falls, all costs "
           "included",
           "Xion (Go et al. 2023); its rule is not published, this one is ours"},
          make_member<PreemptStage, Benefit>};
}

}  // namespace trainyard
