// How long a job may wait for others before it is overdue (economy/overdue.h). Two limits, of which
// the smaller holds:
//
//   limit   as given
//   fair    a multiple of the longest time that first come, first served would have let a job wait
//           of late, on a cluster that is never idle while there is work: the longest time that all
//           GPUs together would have needed for the work that was there, in this span of four weeks
//           or in the one before. It grows with the load of a cluster, and no user has to set it.
//           Work that was believed in then and turns out not to be there (a job ends long before
//           the time that it declared, or is cancelled, or less is believed of it now) is taken off
//           again. Work that is believed in only later is not added.
//
// Example: fair is 3. Within the last weeks, 64 GPUs had at most 640 GPU-hours of work before them:
// a job that has waited for 30 h is overdue.
#pragma once

#include <algorithm>
#include <unordered_map>
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

  /// So much less is believed to be left of the job than before; negative: so much more.
  void on_less(JobId job, Duration less) {
    if (bounds_.fair == 0 || less == Duration{}) return;
    for (Peak* peak : {&peak_, &last_peak_})
      if (yard_.job(job).submit <= peak->at) peak->believe_less(job, less);
  }
  /// The job has ended, and this is what was believed to be left of it.
  void on_end(JobId job, Duration left) {
    on_less(job, left);
    for (Peak* peak : {&peak_, &last_peak_}) peak->less.erase(job);
  }
  void on_queued() { has_come_ = true; }
  /// After all that happened at this instant, and the backlog has taken note of it.
  void refresh() {
    if (bounds_.fair == 0 || !std::exchange(has_come_, false)) return;
    go_on_to(yard_.now());
    if (const Duration work = backlog_.time_for_all(); work >= peak_.work)
      peak_ = {work, yard_.now(), {}};
  }

  /// A wait that is longer is too long.
  [[nodiscard]] Duration limit() const {
    if (bounds_.fair == 0) return bounds_.limit;
    const double us =
        bounds_.fair * static_cast<double>(std::max({peak_.work, last_peak_.work, kLeast}).us);
    return us > 4e18 ? bounds_.limit
                     : std::min(bounds_.limit, Duration{static_cast<std::int64_t>(us)});
  }

  void save_learnt(Learnt& learnt) const {
    if (bounds_.fair == 0) return;
    const auto number = [](std::int64_t us) { return static_cast<double>(us); };
    const auto work = [&](const Peak& peak) { return number(std::max(peak.work.us, 0L)); };
    learnt[kName] = {number(span_end_.us), work(peak_), number(peak_.at.us), work(last_peak_),
                     number(last_peak_.at.us)};
    JobNotes notes(learnt, kName, 3);
    for (const bool is_last : {false, true})
      for (const auto& [job, less] : (is_last ? last_peak_ : peak_).less)
        notes.add(job,
                  {is_last ? 1.0 : 0.0, above_zero(number(less.us)), above_zero(number(-less.us))});
  }
  void recall_jobs(const Learnt& learnt) {
    if (bounds_.fair == 0) return;
    each_note(learnt, kName, 3, yard_.jobs(), [&](JobId job, std::span<const double> kept) {
      (kept[0] != 0 ? last_peak_ : peak_).less[job] = duration_of(kept[1]) - duration_of(kept[2]);
    });
    if (learnt.contains(kName)) has_come_ = false;
  }
  /// What waits now may be more than ever did before.
  void recall(const Learnt& learnt, Time now) {
    each_learnt(learnt, kName, [&](std::string_view rest, std::span<const double> kept) {
      if (!rest.empty() || kept.size() != 5) return;
      const auto at = [&](std::size_t i, Time latest) {
        return Time{static_cast<std::int64_t>(std::min(kept[i], static_cast<double>(latest.us)))};
      };
      const auto peak = [&](std::size_t i) {
        return Peak{{static_cast<std::int64_t>(std::min(kept[i], 1e18))}, at(i + 1, now), {}};
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

  /// The most work that there was, by what is believed by now of those that were there.
  struct Peak {
    Duration work;  // in time of all GPUs
    Time at;
    std::unordered_map<JobId, Duration> less;  // is left of a job than was believed then

    void believe_less(JobId job, Duration by) {
      Duration& all = less[job];
      const Duration before = std::max(all, Duration{});
      all += by;
      work -= std::max(all, Duration{}) - before;
    }
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
