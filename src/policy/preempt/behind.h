// The running jobs in the order of the queue, the last first: by the service that they have left
// (time x width, economy/worth.h), of equal ones the last submitted. At an instant they are listed
// once for all that wait, as far as one of these has asked until now: dozens ask in vain at each,
// and thousands run.
//
// The service left shrinks the faster the wider a job is, so no rank orders all of them for long;
// those of one width keep their order, and stand together.
//
// Example: at this instant A has 3 h left on 1 GPU, B 30 min on 8, C 2 h on 1: 3, 4 and 2
// GPU-hours, so B, A, C. A quarter of an hour later they have 2:45, 2 and 1:45, so A, B, C.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "policy/estimator.h"
#include "policy/preempt/freed_by_group.h"
#include "policy/preempt/pausable.h"

namespace trainyard {

class Behind {
 public:
  struct Entry {
    double service = 0;  // us x width
    JobId job = kNoJob;
    double width = 1;
    HeldPlace place;
  };

  Behind(const Yard& yard, const Estimator& estimates) : yard_(yard), estimates_(estimates) {
    for (std::size_t tier = 0; tier < yard.cluster().tiers.size(); ++tier)
      of_tier_.push_back({FreedByGroup(yard)});
  }

  // --- Keeping up with the jobs that run ---------------------------------------------------------
  void add(JobId job, double width) { of(width).add(yard_, job, estimates_.rank(job)); }
  void remove(JobId job, double width) { of(width).remove(job); }
  void rerank(JobId job, double width) { of(width).rerank(yard_, job, estimates_.rank(job)); }

  // --- Those that may be paused now --------------------------------------------------------------
  /// True if those with more service left hold as many GPUs.
  bool hold(std::int64_t gpus, double above) {
    admit_newcomers();
    return std::any_of(by_width_.rbegin(), by_width_.rend(), [&](Alike& alike) {
      return alike.jobs.hold(yard_, gpus,
                             [&](Time rank) { return service(rank, alike.width) > above; });
    });
  }

  /// How many have to leave, the last first, until one group of this tier would have as many GPUs;
  /// 0 if it would not though all left that have more service than this.
  std::size_t enough(std::int32_t gpus, std::size_t tier, double above) {
    renew();
    OfTier& known = of_tier_[tier];
    while (known.most() < gpus)
      if (!count_next(known, tier, above)) return 0;
    for (const Step& step : known.steps)
      if (step.gpus >= gpus)
        return step.count > 0 && seen_[step.count - 1].service > above ? step.count : 0;
    return 0;
  }
  /// Sees to it that as many are listed, if there are as many that have more service than this.
  void list(std::size_t count, std::size_t tier, double above) {
    OfTier& known = of_tier_[tier];
    while (known.count < count && count_next(known, tier, above)) {
    }
  }
  /// Those that are listed, the last of the queue's order first.
  [[nodiscard]] const std::vector<Entry>& listed() const { return seen_; }
  /// False: a group of this tier where it runs has fewer GPUs, if all left that were counted.
  [[nodiscard]] bool has_beside(const Entry& entry, std::size_t tier, std::int32_t gpus) const {
    return of_tier_[tier].freed.has_beside(entry.job, entry.place, gpus);
  }

  /// Lowers `retry` to when the next that is protected may be paused for this waiter.
  void find_retry(JobId waiter, double above, Time& retry) const {
    for (const Alike& alike : by_width_)
      alike.jobs.find_retry(yard_, waiter, retry,
                            [&](Time rank) { return service(rank, alike.width) > above; });
  }

 private:
  struct Alike {
    double width = 1;
    Pausable<Time> jobs;
  };
  struct Next {
    double service = 0, width = 1;
    SortedList<Pausable<Time>::Entry>::Descent jobs{};

    /// Which is listed later.
    friend bool operator<(const Next& a, const Next& b) {
      return a.service != b.service ? a.service < b.service : (*a.jobs).job < (*b.jobs).job;
    }
  };
  /// One group would have so many GPUs if the first `count` left, and none as many before.
  struct Step {
    std::int32_t gpus = 0;
    std::size_t count = 0;
  };
  struct OfTier {
    FreedByGroup freed;
    std::vector<Step> steps{};
    std::size_t count = 0;  // of those that are listed

    [[nodiscard]] std::int32_t most() const { return steps.empty() ? 0 : steps.back().gpus; }
  };
  struct Stamp {
    Time at = Time::never();
    std::uint64_t changes = 0, gives = 0;
    bool operator==(const Stamp&) const = default;
  };

  Pausable<Time>& of(double width) {
    const auto place = std::ranges::lower_bound(by_width_, width, {}, &Alike::width);
    if (place != by_width_.end() && place->width == width) return place->jobs;
    return by_width_.insert(place, Alike{width, {}})->jobs;
  }
  [[nodiscard]] double service(Time rank, double width) const {
    return static_cast<double>(estimates_.left_at(rank).us) * width;
  }

  /// Of all widths, so that find_retry() is told of those that are protected still.
  void admit_newcomers() {
    for (Alike& alike : by_width_) alike.jobs.admit_newcomers(yard_);
  }
  /// Begins anew where one may be paused that is not listed, or something is free that was not.
  void renew() {
    admit_newcomers();
    Stamp stamp{yard_.now(), 0, yard_.free().gives()};
    for (const Alike& alike : by_width_) stamp.changes += alike.jobs.changes();
    if (stamp == stamp_) return;
    stamp_ = stamp;
    seen_.clear();
    heap_.clear();
    for (OfTier& tier : of_tier_) tier.steps.clear(), tier.count = 0;
    for (Alike& alike : by_width_) push({0, alike.width, alike.jobs.descent(yard_)});
  }
  void push(Next next) {
    if (next.jobs.done()) return;
    next.service = service((*next.jobs).rank, next.width);
    heap_.push_back(next);
    std::push_heap(heap_.begin(), heap_.end());
  }
  bool see_next() {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end());
    Next next = heap_.back();
    heap_.pop_back();
    const Pausable<Time>::Entry& job = *next.jobs;
    seen_.push_back({next.service, job.job, next.width, job.place});
    next.jobs.next();
    push(next);
    return true;
  }
  bool count_next(OfTier& known, std::size_t tier, double above) {
    if (known.count == seen_.size() && !see_next()) return false;
    if (known.count == 0) known.freed.begin(kAnyKind, tier);
    const Entry& next = seen_[known.count];
    if (next.service <= above) return false;
    ++known.count;
    const std::int32_t there = known.freed.add(next.job, next.place);
    if (there > known.most()) known.steps.push_back({there, known.count});
    return true;
  }

  const Yard& yard_;
  const Estimator& estimates_;
  std::vector<Alike> by_width_;  // by width

  // At an instant.
  Stamp stamp_;
  std::vector<Next> heap_;
  std::vector<Entry> seen_;
  std::vector<OfTier> of_tier_;
};

}  // namespace trainyard
