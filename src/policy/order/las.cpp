// Two-dimensional least attained service in discrete queues (2D-LAS): a job's attained service is
// its GPUs times the time that it ran. It starts in level 0 and sinks a level with each threshold
// its service crosses; levels are served in order, each first come, first served. It needs no
// estimate: short jobs are done before they sink.
//
// Example, thresholds 1h/10h of GPU time: a job of 8 GPUs is in level 0 for its first 7.5 minutes,
// in level 1 until it has run 75 minutes, in level 2 from then on.
#include <algorithm>

#include "base/grow.h"
#include "base/sorted_list.h"
#include "policy/job_at.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class LeastAttainedService final : public OrderStage {
 public:
  LeastAttainedService(const Params& params, PolicyContext& context)
      : OrderStage(params, context), thresholds_(params.durations("thresholds")) {}

  [[nodiscard]] std::int64_t key(JobId job) const override {
    return level(job) * kLevelStride + yard_.job(job).submit.us;
  }

  [[nodiscard]] int level(JobId job) const override {
    return index(job) < jobs_.size() ? jobs_[index(job)].level : 0;
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    grow_to(jobs_, index(job), yard_.workload().jobs.size());
    Known& known = jobs_[index(job)];
    if (known.timer != Time::never() && from == Phase::running) set_timer(job, Time::never());
    if (to == Phase::running) set_timer(job, next_sinking(job));
    if (to == Phase::queued)
      known.level = std::max(known.level, level_of(yard_.attained_service(job)));
  }

  void refresh(std::vector<JobId>& changed) override {
    while (!timers_.empty() && timers_.front().at <= yard_.now()) {
      const JobId job = timers_.front().job;
      ++jobs_[index(job)].level;
      set_timer(job, next_sinking(job));
      changed.push_back(job);
    }
  }

  void save_learnt(Learnt& learnt) const override {
    JobNotes notes(learnt, kName, 2);
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      if (const JobId job{static_cast<std::uint32_t>(j)}; !has_ended(yard_.state(job).phase))
        notes.add(job, {static_cast<double>(jobs_[j].level), number_of(jobs_[j].timer)});
  }
  void recall_jobs(const Learnt& learnt) override {
    each_note(learnt, kName, 2, yard_.jobs(), [&](JobId job, std::span<const double> known) {
      if (index(job) >= jobs_.size()) return;
      const auto lowest = static_cast<double>(thresholds_.size());
      jobs_[index(job)].level = static_cast<std::uint8_t>(std::min(known[0], lowest));
      if (yard_.state(job).phase == Phase::running) set_timer(job, time_of(known[1]));
    });
  }

  [[nodiscard]] Time next_change() const override {
    return timers_.empty() ? Time::never() : timers_.front().at;
  }

 private:
  static constexpr const char* kName = "las levels";
  static constexpr std::int64_t kLevelStride = std::int64_t{1} << 59;  // > any submit time

  struct Known {
    Time timer = Time::never();  // when it next sinks
    std::uint8_t level = 0;
  };
  void set_timer(JobId job, Time at) {
    Time& timer = jobs_[index(job)].timer;
    if (timer != Time::never()) timers_.erase({timer, job});
    timer = at;
    if (timer != Time::never()) timers_.insert({timer, job});
  }

  [[nodiscard]] std::uint8_t level_of(std::int64_t service) const {
    const auto above = std::upper_bound(thresholds_.begin(), thresholds_.end(), Duration{service});
    return static_cast<std::uint8_t>(above - thresholds_.begin());
  }

  [[nodiscard]] Time next_sinking(JobId job) const {
    const std::size_t level = jobs_[index(job)].level;
    const std::int64_t gpus = yard_.gpus(job);
    if (level >= thresholds_.size() || gpus == 0) return Time::never();
    const std::int64_t left = thresholds_[level].us - yard_.attained_service(job);
    return yard_.now() + microseconds(std::max<std::int64_t>(0, (left + gpus - 1) / gpus));
  }

  std::vector<Duration> thresholds_;  // of GPU time
  std::vector<Known> jobs_;
  SortedList<JobAt> timers_;
};

}  // namespace

Member<OrderStage> order_las() {
  return {
      {"las",
       "least attained service (GPUs x time) first, in levels; needs no estimate",
       "2D-LAS: Gu et al., Tiresias, NSDI 2019; thresholds as in its public simulator, without its "
       "promotion of jobs that wait, which is off there too",
       {{"thresholds", ParamType::durations, "1h/2h/5h", "GPU time at which a job sinks a level"}}},
      make_member<OrderStage, LeastAttainedService>};
}

}  // namespace trainyard
