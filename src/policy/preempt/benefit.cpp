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
#include "policy/preempt/first_room.h"
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
        first_room_(context.yard(), context.estimates()),
        most_freed_(context.yard()),
        freed_(context.yard()) {}

  void on_phase(JobId job, Phase from, Phase to) override {
    first_room_.forget();
    if (from == Phase::running) {
      first_room_.remove(job, by_left_.rank(job));
      by_left_.remove(job);
    }
    if (to == Phase::running) {
      by_left_.add(yard_, job, estimates_.rank(job));
      first_room_.add(job, by_left_.rank(job));
      note_cost(job);
    }
  }
  void on_machine(MachineId /*machine*/) override { first_room_.forget(); }
  void on_outlook(JobId job) override {
    if (yard_.state(job).phase != Phase::running) return;
    first_room_.forget();
    first_room_.remove(job, by_left_.rank(job));
    by_left_.rerank(yard_, job, estimates_.rank(job));
    first_room_.add(job, by_left_.rank(job));
    note_cost(job);
  }

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override;

  [[nodiscard]] std::int64_t claim(JobId waiter) const override;
  [[nodiscard]] bool could_free(std::int64_t claim, std::int64_t gpus) override;
  void find_retry(JobId waiter, std::int64_t claim, Time& retry) override;

 private:
  static constexpr std::size_t kPool = 64;

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

  [[nodiscard]] bool cannot_pay(const GainWaiter& w) const;
  void note_cost(JobId job);
  [[nodiscard]] Walk walk(const GainWaiter& w);
  /// Begins for the gang of this job. False: if all left that the walk would see, there could not
  /// be room.
  bool begin(JobId waiter, Reach reach, const Walk& walk);
  /// Goes on until there could be room if all that were seen left. False: there cannot be.
  bool see_enough(Walk& walk);
  bool see_one(Walk& walk);
  // True: the waiter's gang fits.
  bool offer_by_gain(const GainWaiter& w, Walk& walk, Offers offers);
  bool offer_best(const GainWaiter& w, Offers offers);
  [[nodiscard]] PauseGain gain_of(const GainWaiter& w, std::span<const JobId> victims) const;

  PolicyContext& context_;
  const Worth& worth_;
  const GpuPrice& gpu_price_;
  const Estimator& estimates_;
  Pausable<Time> by_left_;  // those that may be paused, or soon
  FirstRoom first_room_;
  mutable std::vector<double> widths_;                           // by shape; 0: not known yet
  double least_cost_ = std::numeric_limits<double>::infinity();  // of pausing any that ever ran

  MostFreed<Time> most_freed_;  // for all that wait

  // Of the present waiter.
  std::int32_t needed_ = 0;        // GPUs
  FreedByGroup freed_;             // by those that were seen
  std::vector<Running> seen_;      // in the walk
  std::vector<Candidate> paying_;  // of these
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
  w.first_room = first_room_.until(needed_, std::min(reach.tier, yard_.cluster().tiers.size() - 1));
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
  if (estimates_.grows() && first_room_.any()) retry = std::min(retry, first_room_.next_look());
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
  for (std::size_t pool = kPool;; pool *= 2) {
    while (!walk.done() && seen_.size() < pool) see_one(walk);
    if (seen_.size() <= pool && offer_best(w, offers)) return true;
    if (walk.done() && seen_.size() <= pool) return false;
  }
}

/// Of dozens a few are offered until the gang fits, so they are not sorted.
bool Benefit::offer_best(const GainWaiter& w, Offers offers) {
  paying_.clear();
  for (const Running& seen : seen_) {
    if (!freed_.has_beside(seen.job, seen.place, needed_)) continue;
    if (const Candidate c = candidate(w, seen); c.gain > 0) paying_.push_back(c);
  }
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
