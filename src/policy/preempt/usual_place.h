// Where jobs of so many GPUs have found room of late, and so how fast a job will run that is placed
// next: what a paused job may lose by coming back to another place, and what a waiting one gets by
// a close one.
//
// Every start counts, half as much after kMemory more of that demand. Where none has started yet,
// nothing is expected to be lost or gained.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "policy/learnt.h"
#include "yard/yard.h"

namespace trainyard {

class UsualPlace {
 public:
  /// The job has been placed.
  void note(const Yard& yard, JobId job) {
    if (!matters(yard, job)) return;
    Starts& starts = by_gpus_[yard.job(job).gpus()];
    const double fade = std::exp2(-1 / kMemory);
    for (double& count : starts) count *= fade;
    starts[tier_of(yard.cluster(), yard.placement(job))] += 1;
  }

  /// The time that a unit of its work takes at the usual place, over that in this tier, less 1.
  /// Exactly 0 where both are alike: a job may have centuries left, of which rounding is seconds.
  [[nodiscard]] double slower(const Yard& yard, JobId job, std::size_t tier) const {
    if (!matters(yard, job)) return 0;
    const auto starts = by_gpus_.find(yard.job(job).gpus());
    if (starts == by_gpus_.end()) return 0;
    const auto time_in = [&](std::size_t t) {
      return yard.speed()->rate_at(yard.job(job), t).time_per_work();
    };
    double all = 0, more = 0;
    for (std::size_t t = 0; t < yard.cluster().tiers.size(); ++t) {
      const double count = starts->second[t];
      if (count == 0) continue;
      all += count;
      more += count * (time_in(t) - time_in(tier));
    }
    return all == 0 ? 0 : more / all / time_in(tier);  // 0: in tiers that there are no more
  }

  void save_learnt(Learnt& learnt) const {
    for (const auto& [gpus, starts] : by_gpus_)
      learnt[fmt::format("{}{}/", kName, gpus)].assign(starts.begin(), starts.end());
  }
  void recall(const Learnt& learnt) {
    each_learnt(learnt, kName, [&](std::string_view name, std::span<const double> numbers) {
      int gpus = 0;
      if (split_number(name, gpus, name) && numbers.size() == kMaxTiers)
        std::ranges::copy(numbers, by_gpus_[gpus].begin());
    });
  }

 private:
  static constexpr std::string_view kName = "places/";
  static constexpr double kMemory = 64;
  using Starts = std::array<double, kMaxTiers>;  // by tier

  static bool matters(const Yard& yard, JobId job) {
    return yard.speed() != nullptr && yard.job(job).workers > 1;
  }

  std::map<std::int32_t, Starts> by_gpus_;
};

}  // namespace trainyard
