// Two-dimensional least attained service in discrete queues (2D-LAS): a job's attained service is
// its GPUs times the time that it ran. It starts in level 0 and sinks a level with each threshold
// its service crosses; levels are served in order, each first come, first served. It needs no
// estimate: short jobs are done before they sink.
//
// Example, thresholds 1h/10h of GPU time: a job of 8 GPUs is in level 0 for its first 7.5 minutes,
// in level 1 until it has run 75 minutes, in level 2 from then on.
//
// Starvation: a job that sank, ran for r since it last counted anew, and has now waited for
// promote x r (and at least `promote_wait`) goes back to level 0 and its service counts anew. The
// wait counts from when it last came to the queue.
#include <algorithm>
#include <unordered_map>

#include "base/grow.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class LeastAttainedService final : public OrderStage {
 public:
  LeastAttainedService(const Params& params, PolicyContext& context)
      : OrderStage(params, context),
        thresholds_(params.durations("thresholds")),
        promote_(params.real("promote")),
        promote_wait_(params.duration("promote_wait")) {}

  [[nodiscard]] std::int64_t key(JobId job) const override {
    return level(job) * kLevelStride + yard_.job(job).submit.us;
  }

  [[nodiscard]] int level(JobId job) const override {
    return index(job) < jobs_.size() ? jobs_[index(job)].level : 0;
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    grow_to(jobs_, index(job), yard_.workload().jobs.size());
    Known& known = jobs_[index(job)];
    if (known.timer != Time::never() && (from == Phase::running || from == Phase::queued))
      set_timer(job, Time::never());
    if (to == Phase::running) set_timer(job, next_sinking(job));
    if (to == Phase::queued) {
      known.level = std::max(known.level, level_of(counted_service(job)));
      set_timer(job, promotion(job));
    }
  }

  void refresh(std::vector<JobId>& changed) override {
    while (!timers_.empty() && timers_.front().at <= yard_.now()) {
      const JobId job = timers_.front().job;
      if (yard_.state(job).phase == Phase::running) {
        ++jobs_[index(job)].level;
        set_timer(job, next_sinking(job));
      } else {
        forgiven_[job] = yard_.attained_service(job);
        jobs_[index(job)].level = 0;
        set_timer(job, Time::never());
      }
      changed.push_back(job);
    }
  }

  [[nodiscard]] Time next_change() const override {
    return timers_.empty() ? Time::never() : timers_.front().at;
  }

 private:
  static constexpr std::int64_t kLevelStride = std::int64_t{1} << 59;  // > any submit time

  struct Known {
    Time timer = Time::never();  // when it next sinks or is promoted
    std::uint8_t level = 0;
  };
  struct Timer {
    Time at;
    JobId job = kNoJob;

    friend bool operator<(const Timer& a, const Timer& b) {
      return a.at != b.at ? a.at < b.at : a.job < b.job;
    }
  };

  void set_timer(JobId job, Time at) {
    Time& timer = jobs_[index(job)].timer;
    if (timer != Time::never()) timers_.erase({timer, job});
    timer = at;
    if (timer != Time::never()) timers_.insert({timer, job});
  }

  [[nodiscard]] std::int64_t forgiven(JobId job) const {
    const auto found = forgiven_.find(job);
    return found == forgiven_.end() ? 0 : found->second;
  }

  /// GPU-microseconds since the job last counted anew.
  [[nodiscard]] std::int64_t counted_service(JobId job) const {
    return std::max<std::int64_t>(0, yard_.attained_service(job) - forgiven(job));
  }

  [[nodiscard]] std::uint8_t level_of(std::int64_t service) const {
    const auto above = std::upper_bound(thresholds_.begin(), thresholds_.end(), Duration{service});
    return static_cast<std::uint8_t>(above - thresholds_.begin());
  }

  [[nodiscard]] Time next_sinking(JobId job) const {
    const std::size_t level = jobs_[index(job)].level;
    const std::int64_t gpus = yard_.gpus(job);
    if (level >= thresholds_.size() || gpus == 0) return Time::never();
    const std::int64_t left = thresholds_[level].us - counted_service(job);
    return yard_.now() + microseconds(std::max<std::int64_t>(0, (left + gpus - 1) / gpus));
  }

  [[nodiscard]] Time promotion(JobId job) const {
    if (jobs_[index(job)].level == 0 || promote_ == 0) return Time::never();
    const auto ran =
        static_cast<double>(counted_service(job)) / static_cast<double>(yard_.job(job).gpus());
    const auto wait = static_cast<std::int64_t>(std::min(promote_ * ran, 1e17));
    return yard_.now() + std::max(promote_wait_, microseconds(wait));
  }

  std::vector<Duration> thresholds_;  // of GPU time
  double promote_;
  Duration promote_wait_;
  std::vector<Known> jobs_;
  std::unordered_map<JobId, std::int64_t> forgiven_;  // service that no longer counts
  SortedList<Timer> timers_;
};

}  // namespace

Member<OrderStage> order_las() {
  return {
      {"las",
       "least attained service (GPUs x time) first, in levels; needs no estimate",
       "2D-LAS: Gu et al., Tiresias, NSDI 2019; thresholds and promotion as in its public "
       "simulator, where promotion is off too; promote_wait is ours",
       {{"thresholds", ParamType::durations, "1h/2h/5h", "GPU time at which a job sinks a level"},
        {"promote", ParamType::real, "0",
         "back to level 0 after waiting this many times what it ran; 0: never"},
        {"promote_wait", ParamType::duration, "1h", "and after waiting at least so long"}}},
      make_member<OrderStage, LeastAttainedService>};
}

}  // namespace trainyard
