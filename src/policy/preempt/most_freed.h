// Whether one machine (rack, ...) would have so many GPUs if all left that may be paused and rank
// above this: a bound from above, so that where the answer is no there is no room, whoever asks.
//
// Those with the highest rank are added up first (freed_by_group.h), as far as somebody has asked
// until now, and what was added up stays known until one more may be paused, somebody leaves, or
// something is free again. So the dozens that wait in vain at one instant, each for another shape
// and of another rank, walk through the thousands that run once in all, and not once each.
//
// Example: m0 and m1 are full, with jobs of 2, 2 GPUs of ranks 9, 5 on m0, and of 3, 1 GPUs of
// ranks 7, 3 on m1. Above rank 4 one machine would have 4 GPUs (m0: 2 + 2); above 6, no more
// than 3.
#pragma once

#include <algorithm>
#include <vector>

#include "policy/preempt/freed_by_group.h"
#include "policy/preempt/pausable.h"

namespace trainyard {

template <class Rank>
class MostFreed {
 public:
  explicit MostFreed(const Yard& yard)
      : yard_(yard), of_tier_(yard.cluster().tiers.size(), OfTier{FreedByGroup(yard)}) {}

  /// False: no group of this tier would have as many GPUs.
  bool could_have(std::int32_t gpus, std::size_t tier, Pausable<Rank>& running, Rank above) {
    OfTier& known = of_tier_[tier];
    running.admit_newcomers(yard_);
    const Stamp stamp{running.changes(), yard_.free().gives()};
    if (known.stamp != stamp) {
      known.stamp = stamp;
      known.next = running.descent(yard_);
      known.steps.clear();
      known.freed.begin(kAnyKind, tier);
    }
    for (; known.most() < gpus && !known.next.done() && above < (*known.next).rank;
         known.next.next()) {
      const auto& [rank, job, place] = *known.next;
      const std::int32_t there = known.freed.add(job, place);
      if (there > known.most()) known.steps.push_back({there, rank});
    }
    return gpus <= 0 || known.has(gpus, above);
  }

 private:
  struct Stamp {
    std::uint64_t changes = 0, gives = 0;
    bool operator==(const Stamp&) const = default;
  };
  /// One group would have so many GPUs if all left of at least this rank, and none as many before.
  struct Step {
    std::int32_t gpus;
    Rank rank;
  };
  struct OfTier {
    FreedByGroup freed;
    Stamp stamp{~std::uint64_t{0}, 0};  // at which the walk began
    typename SortedList<typename Pausable<Rank>::Entry>::Descent next{};
    std::vector<Step> steps{};  // up to those that were added so far

    [[nodiscard]] std::int32_t most() const { return steps.empty() ? 0 : steps.back().gpus; }
    [[nodiscard]] bool has(std::int32_t gpus, Rank above) const {
      return std::ranges::any_of(
          steps, [&](const Step& step) { return step.gpus >= gpus && above < step.rank; });
    }
  };

  const Yard& yard_;
  std::vector<OfTier> of_tier_;
};

}  // namespace trainyard
