#include "forecast/look_ahead.h"

#include <algorithm>
#include <cmath>

#include "base/grow.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kStream = 501;

/// When the first jobs next start and end, and where they are meanwhile if that is asked for.
class Future final : public YardListener {
 public:
  Future(const Yard& yard, std::size_t jobs, std::size_t most_segments)
      : starts(jobs, Time::never()),
        ends(jobs, Time::never()),
        yard_(yard),
        most_segments_(most_segments) {}

  /// The jobs are where they were saved.
  void begin() {
    is_on_ = true;
    for (std::uint32_t j = 0; j < starts.size(); ++j) {
      const JobState& state = yard_.state(JobId{j});
      const bool runs = state.phase == Phase::starting || state.phase == Phase::running;
      if (runs) starts[j] = state.first_start;
      if (has_ended(state.phase)) starts[j] = state.first_start, ends[j] = state.end();
      if (holds_gpus(state.phase)) open(JobId{j});
    }
  }
  void on_phase(JobId job, Phase from, Phase to) override {
    if (!is_on_ || index(job) >= starts.size()) return;
    if (holds_gpus(from) && (!holds_gpus(to) || to == Phase::starting)) close(job);
    if (to == Phase::starting) {
      open(job);
      if (starts[index(job)] == Time::never()) starts[index(job)] = yard_.now();
    }
    if (has_ended(to)) ends[index(job)] = yard_.now();
  }
  /// All the segments, those that are not over up to then.
  std::vector<Segment> segments_until(Time horizon) {
    for (Segment& segment : segments_) segment.to = std::min(segment.to, horizon);
    return std::move(segments_);
  }

  std::vector<Time> starts, ends;  // by job

 private:
  void open(JobId job) {
    grow_to(first_open_, index(job), starts.size());
    first_open_[index(job)] = segments_.size();
    for (const Share& share : yard_.placement(job))
      if (segments_.size() < most_segments_)
        segments_.push_back({job, share.machine, yard_.now(), Time::never()});
  }
  void close(JobId job) {
    for (std::size_t i = first_open_[index(job)]; i < segments_.size(); ++i) {
      if (segments_[i].job != job) break;
      segments_[i].to = yard_.now();
    }
  }

  const Yard& yard_;
  std::size_t most_segments_;
  bool is_on_ = false;
  std::vector<Segment> segments_;        // those of one run beside each other
  std::vector<std::size_t> first_open_;  // by job: the first of its last run
};

/// The arrivals of a draw, after `now` and up to the horizon.
void add_arrivals(const Arrivals& arrivals, const DrawLength& length, Time now, Time horizon,
                  Random& random, Workload& workload) {
  if (arrivals.jobs.empty() || arrivals.span.us <= 0) return;
  const auto turn =
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(arrivals.span.us)));
  std::vector<Job> round = arrivals.jobs;
  for (Job& job : round) job.submit = Time{(job.submit.us + turn) % arrivals.span.us + now.us + 1};
  std::ranges::stable_sort(round, {}, &Job::submit);
  for (Duration later; now + later < horizon; later += arrivals.span)
    for (Job job : round) {
      job.submit = job.submit + later;
      if (job.submit >= horizon) continue;
      job.duration = std::max(length(job, {}, random), microseconds(1));
      workload.jobs.push_back(job);
    }
}

/// Everything of one question.
class LookAhead {
 public:
  LookAhead(const Cluster& cluster, const Workload& known, const PolicySpec& policy,
            const Beginning& beginning, const BeginDraw& begin_draw, const Arrivals& arrivals,
            const LookAheadOptions& options)
      : cluster_(cluster),
        known_(known),
        policy_(policy),
        beginning_(beginning),
        begin_draw_(begin_draw),
        arrivals_(arrivals),
        options_(options),
        horizon_(beginning.now + options.horizon),
        jobs_(beginning.jobs.size()),
        workload_(known) {
    workload_.curves.clear();
    for (std::size_t j = 0; j < jobs_; ++j)
      done_.push_back(work_done_by(beginning.jobs[j], known.jobs[j], beginning.now));
    for (std::size_t j = 0; j < jobs_; ++j)
      if (!has_ended(beginning.jobs[j].state.phase)) unfinished_.push_back(j);
    std::ranges::stable_sort(unfinished_, std::ranges::greater{},
                             [this](std::size_t j) { return done_[j]; });
  }

  Expected<Outlook> make() {
    Outlook outlook;
    outlook.made_at = beginning_.now;
    std::vector<std::vector<Time>> starts, ends;  // by draw
    for (std::size_t draw = 0; draw < options_.draws; ++draw) {
      auto future = run(draw, 0);
      if (!future) return tl::make_unexpected(future.error());
      if (!is_used_up_ || draw == 0) {
        starts.push_back(std::move(future->starts));
        ends.push_back(std::move(future->ends));
      }
      if (is_used_up_) break;
    }
    outlook.draws = starts.size();
    outlook.starts = bands_of(starts);
    outlook.ends = bands_of(ends);
    if (options_.most_segments > 0 && !is_used_up_) {
      steps_ = 0;
      auto median = run(nearest(starts, outlook.starts), options_.most_segments);
      if (!median) return tl::make_unexpected(median.error());
      outlook.segments = median->segments_until(horizon_);
    }
    return outlook;
  }

 private:
  /// The same draw is the same each time.
  Expected<Future> run(std::size_t draw, std::size_t most_segments) {
    Random random(options_.seed, kStream + draw);
    workload_.jobs.resize(jobs_);
    const DrawLength length = begin_draw_();
    for (const std::size_t j : unfinished_)
      workload_.jobs[j].duration =
          std::max(length(known_.jobs[j], done_[j], random), done_[j] + microseconds(1));
    add_arrivals(arrivals_, length, beginning_.now, horizon_, random, workload_);
    Simulation simulation(cluster_, workload_, policy_, options_.simulation);
    Future future(simulation.yard(), jobs_, most_segments);
    simulation.listen(future);
    if (auto ok = simulation.begin(beginning_); !ok) return tl::make_unexpected(ok.error());
    future.begin();
    for (; simulation.next() <= horizon_; ++steps_) {
      is_used_up_ = steps_ >= options_.most_steps || (options_.is_late && options_.is_late());
      if (is_used_up_) break;
      simulation.step();
    }
    return future;
  }

  [[nodiscard]] std::vector<TimeBand> bands_of(
      const std::vector<std::vector<Time>>& by_draw) const {
    std::vector<TimeBand> bands;
    for (std::size_t j = 0; j < jobs_; ++j) {
      std::vector<Time> times;
      for (const std::vector<Time>& draw : by_draw) times.push_back(draw[j]);
      bands.push_back(band_of(std::move(times)));
    }
    return bands;
  }

  /// The draw whose starts are nearest to the medians, the horizon standing for all beyond it.
  [[nodiscard]] std::size_t nearest(const std::vector<std::vector<Time>>& by_draw,
                                    const std::vector<TimeBand>& bands) const {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t draw = 0; draw < by_draw.size(); ++draw) {
      double far = 0;
      for (std::size_t j = 0; j < jobs_; ++j)
        far += std::abs(
            (std::min(by_draw[draw][j], horizon_) - std::min(bands[j].p50, horizon_)).seconds());
      if (draw == 0 || far < least) best = draw, least = far;
    }
    return best;
  }

  const Cluster& cluster_;
  const Workload& known_;
  const PolicySpec& policy_;
  const Beginning& beginning_;
  const BeginDraw& begin_draw_;
  const Arrivals& arrivals_;
  const LookAheadOptions& options_;
  Time horizon_;
  std::size_t jobs_;
  Workload workload_;  // of the present draw
  std::vector<Duration> done_;
  std::vector<std::size_t> unfinished_;  // those that have done most first
  std::uint64_t steps_ = 0;
  bool is_used_up_ = false;  // the last draw was cut short
};

}  // namespace

TimeBand band_of(std::vector<Time> times) {
  if (times.empty()) return {};
  std::ranges::sort(times);
  const auto at = [&](std::size_t tenths) { return times[(tenths * times.size() + 9) / 10 - 1]; };
  return {at(1), at(5), at(9)};
}

Duration work_done_by(const SavedJob& saved, const Job& job, Time now) {
  if (saved.state.phase != Phase::running) return saved.state.done;
  RunProgress run = saved.progress;
  run.done = saved.state.done;
  return progress_at(run, job, std::max(now, run.at)).done;
}

Expected<Outlook> look_ahead(const Cluster& cluster, const Workload& known,
                             const PolicySpec& policy, const Beginning& beginning,
                             const BeginDraw& begin_draw, const Arrivals& arrivals,
                             const LookAheadOptions& options) {
  if (beginning.jobs.size() != known.jobs.size())
    return fail("{} jobs were saved, and {} are known", beginning.jobs.size(), known.jobs.size());
  return LookAhead(cluster, known, policy, beginning, begin_draw, arrivals, options).make();
}

}  // namespace trainyard
