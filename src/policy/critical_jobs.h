// Jobs that alone decide when all work is done: what one of them has left takes at least as long as
// all GPUs together would need for all work that there is, and for as much as has come in a time
// as long as that. To start such a job later, or to pause it, makes the end of all later; as there
// can be few of them (together they have no more GPUs than the cluster leaves free in the long
// run), those behind it lose little.
//
// As long as jobs come, that they do decides, and no single job. So none is critical before nobody
// has come for a while, a 32nd of the time that it has left, and none is any longer when somebody
// comes. What a job has left is told by what is believed of it and by what it declares, whichever
// is less: one that declares little, and is believed to take long because it has run for long, is
// no ground to let others wait.
//
// Example: 64 GPUs have 640 GPU-hours before them, and nothing came in the last half day: a job
// that has 12 h left is critical. Had 200 GPU-hours come in the last 12 h, it would not be; had
// half an hour of one GPU come a minute ago, neither.
#pragma once

#include <algorithm>
#include <vector>

#include "policy/backlog.h"

namespace trainyard {

class CriticalJobs {
 public:
  CriticalJobs(const Yard& yard, const Backlog& backlog, const Estimator& estimates)
      : yard_(yard), backlog_(backlog), estimates_(estimates) {}

  void on_phase(JobId job, Phase from, Phase /*to*/) {
    if (from != Phase::absent) return;
    const Time at = yard_.job(job).submit;  // of old, where it is taken up after a restart
    const double work = static_cast<double>(estimates_.remaining(job).us) * yard_.job(job).gpus();
    auto next = std::ranges::upper_bound(came_, at, {}, &Came::at);
    const double before = next == came_.begin() ? 0 : std::prev(next)->gpu_us;
    for (next = came_.insert(next, {at, before}); next != came_.end(); ++next) next->gpu_us += work;
  }

  /// Of a job that waits.
  [[nodiscard]] Duration left(JobId job) const {
    return std::min(estimates_.remaining(job), estimates_.declared_remaining(job));
  }
  /// A job that has so much left.
  [[nodiscard]] bool is_critical(Duration left) const {
    return left <= most_left() && static_cast<double>(left.us) >= all_work(left);
  }
  /// No job that has less left is critical: in so much time more work has come than it leaves room
  /// for, and in more time no less. (One that has more may not be where this one is.)
  [[nodiscard]] Duration least_left() const {
    constexpr int kSteps = 8;
    Duration least = backlog_.time_for_all();
    for (int i = 0; i < kSteps && least <= most_left(); ++i)
      least = Duration{static_cast<std::int64_t>(std::min(all_work(least), kAges))};
    return least;
  }
  /// No job that has more left is critical: others may still come.
  [[nodiscard]] Duration most_left() const {
    const std::int64_t quiet = (yard_.now() - last_came()).us;
    return {quiet < kLongestDuration.us / kQuiet ? kQuiet * quiet : kLongestDuration.us};
  }
  [[nodiscard]] Time last_came() const { return came_.empty() ? Time{} : came_.back().at; }

 private:
  struct Came {
    Time at;
    double gpu_us;  // of all that came until then
  };

  static constexpr std::int64_t kQuiet = 32;
  static constexpr double kAges = 4e18;

  /// How long all GPUs need for all that there is, and for as much as came within this time.
  [[nodiscard]] double all_work(Duration left) const {
    return static_cast<double>(backlog_.time_for_all().us) + come_within(left);
  }
  /// How long all GPUs need for what came since so long ago.
  [[nodiscard]] double come_within(Duration span) const {
    const auto since = std::ranges::upper_bound(came_, yard_.now() - span, {}, &Came::at);
    const double before = since == came_.begin() ? 0 : std::prev(since)->gpu_us;
    const double all = came_.empty() ? 0 : came_.back().gpu_us;
    return (all - before) / std::max(yard_.cluster().total_gpus, 1);
  }

  const Yard& yard_;
  const Backlog& backlog_;
  const Estimator& estimates_;
  std::vector<Came> came_;
};

}  // namespace trainyard
