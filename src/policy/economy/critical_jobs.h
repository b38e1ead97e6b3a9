// Critical jobs: those that alone decide when all work is done. What such a job has left takes at
// least as long as all GPUs together need for all the work there is, and for as much as has come in
// a time as long as that. To start it later, or to pause it, delays the end of everything. There
// are few such jobs (together they have no more GPUs than the cluster leaves free in the long run),
// so the jobs behind them lose little.
//
// While jobs keep coming, the arrivals decide when the work is done, and no job does. So a job is
// critical only once no job has come for a 32nd of the time that it has left, and until the next
// comes. That time is the smaller of what is believed and what is declared: a job that declares
// little, and is believed to take long because it has run for long, does not make others wait.
//
// Example: 64 GPUs have 640 GPU-hours before them, and no job came in the last half day. A job that
// has 12 h left is critical. Had 200 GPU-hours come in the last 12 h, it would not be; nor if half
// an hour of one GPU had come a minute ago.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/grow.h"
#include "base/sorted_list.h"
#include "policy/backlog.h"
#include "policy/learnt.h"

namespace trainyard {

class CriticalJobs {
 public:
  CriticalJobs(const Yard& yard, const Backlog& backlog, const Estimator& estimates)
      : yard_(yard), backlog_(backlog), estimates_(estimates) {}

  /// A job that was critical when it left the queue stays so while it runs, until another comes.
  [[nodiscard]] bool is_critical(JobId job) const {
    return !marked_.empty() && index(job) < known_.size() && known_[index(job)].is_critical;
  }

  /// The last arrivals, and what was known of the jobs.
  void save_learnt(Learnt& learnt) const {
    std::vector<double>& list = learnt[kName];
    list.assign(1, number_of(std::max(came_last_, Time{})));
    for (std::size_t i = came_.size() - std::min(came_.size(), kMostKept); i < came_.size(); ++i)
      list.insert(list.end(), {number_of(came_[i].at), came_[i].gpu_us});
    JobNotes notes(learnt, kName, 2);
    for (std::size_t j = 0; j < known_.size(); ++j)
      if (const JobId job{static_cast<std::uint32_t>(j)}; !has_ended(yard_.state(job).phase))
        notes.add(job, {number_of(known_[j].left), known_[j].is_critical ? 1.0 : 0.0});
  }
  void recall_jobs(const Learnt& learnt) {
    each_learnt(learnt, kName, [&](std::string_view rest, std::span<const double> kept) {
      if (!rest.empty() || kept.size() % 2 != 1) return;
      std::vector<Came> came;
      for (std::size_t i = 1; i < kept.size(); i += 2)
        came.push_back({std::min(time_of(kept[i]), yard_.now()), kept[i + 1]});
      if (!std::ranges::is_sorted(came, {}, &Came::at)) return;
      came_ = std::move(came);
      came_last_ = time_of(kept[0]);
    });
    each_note(learnt, kName, 2, yard_.jobs(), [&](JobId job, std::span<const double> kept) {
      const bool waits = yard_.state(job).phase == Phase::queued;
      if (index(job) >= known_.size()) return;
      Known& known = known_[index(job)];
      if (waits) by_left_.erase({known.left, job});
      known = {duration_of(kept[0]), kept[1] != 0};
      if (known.is_critical) marked_.push_back(job);
      if (waits && !known.is_critical) by_left_.insert({known.left, job});
    });
  }

  void on_phase(JobId job, Phase from, Phase to) {
    if (from == Phase::absent) note_arrival(job);
    if (from == Phase::queued) by_left_.erase({known_[index(job)].left, job});
    if (to != Phase::queued) return;
    grow_to(known_, index(job), yard_.workload().jobs.size());
    known_[index(job)] = {left(job), false};
    by_left_.insert({known_[index(job)].left, job});
  }

  /// Finds the waiting jobs that are critical now; appends those that were not, or are no longer.
  void refresh(std::vector<JobId>& changed) {
    forget(changed);
    found_.clear();
    const Duration least = least_left();
    by_left_.each_from({most_left(), JobId{0}}, [&](const Left& next) {
      if (next.left < least) return false;
      if (static_cast<double>(next.left.us) >= all_work(next.left)) found_.push_back(next);
      return true;
    });
    for (const Left& found : found_) {
      by_left_.erase(found);
      known_[index(found.job)].is_critical = true;
      marked_.push_back(found.job);
      changed.push_back(found.job);
    }
  }

 private:
  struct Came {
    Time at;
    double gpu_us;  // of all that came until then
  };
  struct Known {
    Duration left;
    bool is_critical = false;
  };
  /// A waiting job, the one with most left first.
  struct Left {
    Duration left;
    JobId job = kNoJob;

    friend bool operator<(const Left& a, const Left& b) {
      return a.left != b.left ? a.left > b.left : a.job < b.job;
    }
  };

  static constexpr const char* kName = "arrivals";
  static constexpr std::size_t kMostKept = 4096;
  static constexpr std::int64_t kQuiet = 32;
  static constexpr double kAges = 4e18;

  void note_arrival(JobId job) {
    const Time at = yard_.job(job).submit;  // of old, where it is taken up after a restart
    const double work = static_cast<double>(estimates_.remaining(job).us) * yard_.job(job).gpus();
    auto next = std::ranges::upper_bound(came_, at, {}, &Came::at);
    const double before = next == came_.begin() ? 0 : std::prev(next)->gpu_us;
    for (next = came_.insert(next, {at, before}); next != came_.end(); ++next) next->gpu_us += work;
  }

  /// When another job comes, no job is critical any longer.
  void forget(std::vector<JobId>& changed) {
    if (last_came() == came_last_) return;
    came_last_ = last_came();
    for (const JobId job : std::exchange(marked_, {})) {
      Known& known = known_[index(job)];
      if (!std::exchange(known.is_critical, false)) continue;
      if (yard_.state(job).phase != Phase::queued) continue;
      by_left_.insert({known.left, job});
      changed.push_back(job);
    }
  }

  [[nodiscard]] Duration left(JobId job) const {
    return std::min(estimates_.remaining(job), estimates_.declared_remaining(job));
  }
  [[nodiscard]] Time last_came() const { return came_.empty() ? Time{} : came_.back().at; }
  /// No job that has less left is critical: in that time more work has come than it leaves room
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
  Time came_last_;             // when it was last looked at
  std::vector<Known> known_;   // by job, since it last came to the queue
  SortedList<Left> by_left_;   // the jobs that wait and are not critical
  std::vector<Left> found_;    // in refresh()
  std::vector<JobId> marked_;  // as critical, and perhaps not any more
};

}  // namespace trainyard
