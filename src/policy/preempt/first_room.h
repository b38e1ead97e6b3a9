// When there would be room if nobody were paused: the time until one machine (rack, ...) has so
// many GPUs, by when the running jobs are expected to end. It counts GPUs alone, so it is a bound
// from below. At an instant the ends are added up once for all that wait.
//
// A job that has outlived its estimate may stay for any time: nobody waits for it. Of those that
// end first, kMost are looked at; where more have to end, the time is that of the last of these.
//
// Example: m0 and m1 have 4 GPUs each. On m0 jobs of 2 GPUs end in 1 h and in 3 h, on m1 one of 3
// in 2 h, and one GPU there is free. 2 GPUs are free in 1 h, 4 in 2 h.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/sorted_list.h"
#include "policy/estimator.h"
#include "policy/preempt/freed_by_group.h"

namespace trainyard {

class FirstRoom {
 public:
  FirstRoom(const Yard& yard, const Estimator& estimates) : yard_(yard), estimates_(estimates) {
    for (std::size_t tier = 0; tier < yard.cluster().tiers.size(); ++tier)
      of_tier_.push_back({FreedByGroup(yard)});
  }

  void add(JobId job, Time rank) { running_.insert({rank, job, held_by(yard_, job)}); }
  void remove(JobId job, Time rank) { running_.erase({rank, job, {}}); }
  /// Another job runs, or something else is free.
  void forget() { at_ = Time::never(); }

  [[nodiscard]] bool any() const { return !running_.empty(); }
  /// The time left of the one that has most.
  [[nodiscard]] Duration longest() const { return estimates_.left_at(running_.back().rank); }
  /// Where the time left grows: when that of the one that has most will have grown by an eighth.
  [[nodiscard]] Time next_look() const {
    return yard_.now() + std::max(seconds(1), Duration{longest().us / 8});
  }

  /// Microseconds; infinite if that cannot be told.
  double until(std::int32_t gpus, std::size_t tier) {
    renew();
    OfTier& known = of_tier_[tier];
    gpus = std::max(gpus, 1);
    while (known.most() < gpus && (known.count < ends_.size() || list_more())) {
      if (known.count == 0) known.freed.begin(kAnyKind, tier);
      const Running& next = ends_[known.count++];
      const std::int32_t there = known.freed.add(next.job, next.place);
      if (there > known.most() || known.count == kMost) known.steps.push_back({there, next.rank});
    }
    for (const Step& step : known.steps)
      if (step.gpus >= gpus) return left_at(step.rank);
    return known.count == kMost ? left_at(known.steps.back().rank)
                                : std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr std::size_t kMost = 128;

  struct Running {
    Time rank;
    JobId job = kNoJob;
    HeldPlace place;

    friend bool operator<(const Running& a, const Running& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.job < b.job;
    }
  };
  /// One group has so many GPUs when the job of this rank has ended.
  struct Step {
    std::int32_t gpus = 0;
    Time rank;
  };
  struct OfTier {
    FreedByGroup freed;
    std::vector<Step> steps{};
    std::size_t count = 0;  // of the ends

    [[nodiscard]] std::int32_t most() const { return steps.empty() ? 0 : steps.back().gpus; }
  };
  void renew() {
    if (at_ == yard_.now()) return;
    at_ = yard_.now();
    ends_.clear();
    for (OfTier& tier : of_tier_) tier.steps.clear(), tier.count = 0;
  }
  /// As many as there are, and at least kFew. False: there are no more.
  bool list_more() {
    constexpr std::size_t kFew = 4;
    const std::size_t before = ends_.size();
    const std::size_t most = std::min(std::max(2 * before, kFew), kMost);
    if (before == most) return false;
    const Running from =
        before == 0 ? Running{estimates_.rank_of(microseconds(1)), JobId{0}, {}} : ends_.back();
    running_.each_from(from, [&](const Running& next) {
      if (before == 0 || from < next) ends_.push_back(next);
      return ends_.size() < most;
    });
    return ends_.size() > before;
  }
  [[nodiscard]] double left_at(Time rank) const {
    return static_cast<double>(estimates_.left_at(rank).us);
  }

  const Yard& yard_;
  const Estimator& estimates_;
  SortedList<Running> running_;

  // At an instant.
  Time at_ = Time::never();  // of what follows
  std::vector<Running> ends_;
  std::vector<OfTier> of_tier_;
};

}  // namespace trainyard
