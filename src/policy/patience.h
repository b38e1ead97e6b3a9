// How long a job may be passed by others, all its waits together, so that a pause does not begin a
// new one. Two bounds, of which the sooner holds:
//
//   limit   as given
//   fair    so many times as long as first come, first served would have let a job wait of late, on
//           a cluster that is never idle while there is work: the longest time that all GPUs
//           together would have needed for the work that was there, in this span of four weeks or
//           in the one before. It grows with the load of a cluster, and nobody has to set it. Work
//           that was believed in and turns out not to be there (a job ends long before the time
//           that it declared, or is cancelled; less is believed of it than before) is taken off
//           again.
//
// Example: fair is 3. Within the last weeks, 64 GPUs had at most 640 GPU-hours of work before them:
// who has waited for 30 h is out of patience.
#pragma once

#include <algorithm>
#include <utility>

#include "policy/backlog.h"
#include "policy/learnt.h"

namespace trainyard {

class Patience {
 public:
  struct Bounds {
    Duration limit = Duration::max();
    double fair = 0;  // 0: none

    [[nodiscard]] bool any() const { return limit != Duration::max() || fair > 0; }
  };

  Patience(const Yard& yard, const Bounds& bounds, const Backlog& backlog)
      : yard_(yard), bounds_(bounds), backlog_(backlog) {}

  [[nodiscard]] bool is_bounded() const { return bounds_.any(); }

  /// So much of what was believed to be left of the job is not there.
  void on_vain(JobId job, Duration vain) {
    if (bounds_.fair == 0 || vain <= Duration{}) return;
    for (Peak* peak : {&peak_, &last_peak_})
      if (yard_.job(job).submit <= peak->at) peak->work = std::max(peak->work - vain, Duration{});
  }
  void on_queued() { has_come_ = true; }
  /// After all that happened at this instant, and the backlog has taken note of it.
  void refresh() {
    if (bounds_.fair == 0 || !std::exchange(has_come_, false)) return;
    go_on_to(yard_.now());
    if (const Duration work = backlog_.time_for_all(); work >= peak_.work)
      peak_ = {work, yard_.now()};
  }

  /// A wait that is longer is too long.
  [[nodiscard]] Duration limit() const {
    if (bounds_.fair == 0) return bounds_.limit;
    const double us =
        bounds_.fair * static_cast<double>(std::max({peak_.work, last_peak_.work, kLeast}).us);
    return us > 4e18 ? bounds_.limit
                     : std::min(bounds_.limit, Duration{static_cast<std::int64_t>(us)});
  }
  /// Since when the job waits, as if it had done so without a break.
  [[nodiscard]] Time since(JobId job) const {
    return yard_.state(job).since - yard_.state(job).waited;
  }
  /// Of a job that is queued.
  [[nodiscard]] bool is_over(JobId job) const {
    return is_bounded() && yard_.now() - since(job) > limit();
  }
  /// Of one that has its room: whether it waited too long for it.
  [[nodiscard]] bool has_ended(JobId job) const {
    return is_bounded() && yard_.state(job).waited > limit();
  }

  void save_learnt(Learnt& learnt) const {
    if (bounds_.fair == 0) return;
    const auto number = [](std::int64_t us) { return static_cast<double>(us); };
    learnt[kName] = {number(span_end_.us), number(peak_.work.us), number(peak_.at.us),
                     number(last_peak_.work.us), number(last_peak_.at.us)};
  }
  /// What waits now may be more than ever did before.
  void recall(const Learnt& learnt, Time now) {
    each_learnt(learnt, kName, [&](std::string_view rest, std::span<const double> kept) {
      if (!rest.empty() || kept.size() != 5) return;
      const auto at = [&](std::size_t i, Time latest) {
        return Time{static_cast<std::int64_t>(std::min(kept[i], static_cast<double>(latest.us)))};
      };
      const auto peak = [&](std::size_t i) {
        return Peak{{static_cast<std::int64_t>(std::min(kept[i], 1e18))}, at(i + 1, now)};
      };
      const Peak present = peak_;
      span_end_ = at(0, now + kSpan), peak_ = peak(1), last_peak_ = peak(3);
      go_on_to(now);
      if (present.work >= peak_.work) peak_ = present;
    });
  }

 private:
  static constexpr const char* kName = "longest backlog";
  static constexpr Duration kSpan = days(28);
  static constexpr Duration kLeast = hours(1);

  struct Peak {
    Duration work;  // in time of all GPUs
    Time at;
  };

  void go_on_to(Time now) {
    for (; span_end_ <= now; span_end_ = span_end_ + kSpan) last_peak_ = peak_, peak_ = {};
  }

  const Yard& yard_;
  Bounds bounds_;
  const Backlog& backlog_;
  bool has_come_ = false;  // somebody, to the queue, since the last look at the work that there is
  Time span_end_ = Time{} + kSpan;
  Peak peak_, last_peak_;
};

}  // namespace trainyard
