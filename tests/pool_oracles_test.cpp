// Two textbook schedulers on one pool of GPUs, written anew here as simply as can be, and jobs
// drawn as by the model of Lublin and Feitelson. The product must end every job at the same
// microsecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/simulation.h"

namespace trainyard {
namespace {

constexpr std::int32_t kGpus = 64;

struct Drawn {
  std::int64_t submit = 0, length = 0, estimate = 0;  // microseconds
  std::int32_t size = 0;
};

/// Sizes: a quarter serial, of the others three in four a power of two, their logarithms uniform in
/// two stages. Lengths: two gamma-like humps, larger jobs more often in the longer one. Estimates:
/// up to five times the length, and a tenth of them exact. A third of the submissions come with the
/// one before.
std::vector<Drawn> lublin_like(std::uint64_t seed, int jobs, double load) {
  Random random(seed, 35);
  std::vector<Drawn> drawn;
  double at_s = 0, work = 0;
  for (int i = 0; i < jobs; ++i) {
    Drawn job;
    const double log2 = random.uniform() < 0.86 ? random.uniform(0.8, 4.5) : random.uniform(4.5, 6);
    const bool is_power = random.uniform() < 0.75;
    job.size =
        random.uniform() < 0.24
            ? 1
            : static_cast<std::int32_t>(std::lround(std::exp2(is_power ? std::round(log2) : log2)));
    const bool is_long = random.uniform() < 0.35 + 0.004 * job.size;
    const double length_s = random.lognormal(is_long ? 9 : 5, is_long ? 0.9 : 1.1);
    job.length = std::max<std::int64_t>(1, std::llround(length_s * 1e6));
    const double factor = random.uniform() < 0.1 ? 1 : random.uniform(1, 5);
    job.estimate = std::llround(static_cast<double>(job.length) * factor);
    work += static_cast<double>(job.size) * length_s;
    drawn.push_back(job);
  }
  const double gap_s = work / kGpus / load / jobs * 1.5;
  for (Drawn& job : drawn) {
    if (random.uniform() < 2.0 / 3) at_s += random.exponential(gap_s);
    job.submit = std::llround(at_s * 1e6);
  }
  return drawn;
}

/// When each job ends under our policy, in microseconds.
std::vector<std::int64_t> ends_of_ours(const std::vector<Drawn>& drawn, const std::string& policy) {
  Workload workload;
  for (const Drawn& job : drawn) {
    Job made;
    made.workers = made.min_workers = made.max_workers = job.size;
    made.submit = Time{job.submit};
    made.duration = Duration{job.length};
    made.estimate = Duration{job.estimate};
    workload.jobs.push_back(made);
  }
  workload.pause_costs = PauseCosts::given;
  const Cluster cluster = *parse_cluster_shorthand("1x64xV100");
  Simulation simulation(cluster, workload, *PolicySpec::parse(policy), {});
  simulation.run();
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < drawn.size(); ++i)
    ends.push_back(simulation.yard().state(JobId{static_cast<std::uint32_t>(i)}).end().us);
  return ends;
}

/// The number of jobs that end elsewhere; prints the first.
std::size_t different(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && count++ == 0)
      ADD_FAILURE() << "job " << i << " ends at " << a[i] << " and by the oracle at " << b[i];
  return count;
}

// --- EASY ----------------------------------------------------------------------------------------

class TextbookEasy {
 public:
  explicit TextbookEasy(const std::vector<Drawn>& jobs) : jobs_(jobs), ends_(jobs.size(), 0) {}

  std::vector<std::int64_t> run() {
    while (arrived_ < jobs_.size() || !running_.empty()) {
      now_ = arrived_ < jobs_.size() ? jobs_[arrived_].submit : INT64_MAX;
      for (const std::size_t job : running_) now_ = std::min(now_, ends_[job]);
      std::erase_if(running_, [&](std::size_t job) {
        const bool is_over = ends_[job] == now_;
        if (is_over) free_ += jobs_[job].size;
        return is_over;
      });
      while (arrived_ < jobs_.size() && jobs_[arrived_].submit == now_)
        queue_.push_back(arrived_++);
      schedule();
    }
    return ends_;
  }

 private:
  void start(std::size_t place) {
    const std::size_t job = queue_[place];
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(place));
    running_.push_back(job);
    free_ -= jobs_[job].size;
    ends_[job] = now_ + jobs_[job].length;
  }

  [[nodiscard]] std::int64_t expected_end(std::size_t job) const {
    return ends_[job] - jobs_[job].length + jobs_[job].estimate;
  }

  void schedule() {
    while (!queue_.empty() && jobs_[queue_[0]].size <= free_) start(0);
    if (queue_.empty()) return;
    const std::int32_t head = jobs_[queue_[0]].size;
    std::ranges::sort(running_, {}, [&](std::size_t job) { return expected_end(job); });
    std::int64_t shadow = now_;
    std::int32_t free_then = free_;
    for (const std::size_t job : running_) {
      if (free_then >= head && expected_end(job) > shadow) break;
      shadow = std::max(now_, expected_end(job));
      free_then += jobs_[job].size;
    }
    std::int32_t extra = free_then - head;
    for (std::size_t i = 1; i < queue_.size();) {
      const Drawn& job = jobs_[queue_[i]];
      const bool ends_before = now_ + job.estimate <= shadow;
      if (job.size <= free_ && (ends_before || job.size <= extra)) {
        if (!ends_before) extra -= job.size;
        start(i);
      } else {
        ++i;
      }
    }
  }

  const std::vector<Drawn>& jobs_;
  std::vector<std::int64_t> ends_;  // true ones, of what has started
  std::vector<std::size_t> queue_, running_;
  std::size_t arrived_ = 0;
  std::int64_t now_ = 0;
  std::int32_t free_ = kGpus;
};

TEST(PoolOracles, EasyOnOnePoolIsTheTextbooks) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto jobs = lublin_like(seed, 400, seed % 2 == 0 ? 0.8 : 1.1);
    const auto ours =
        ends_of_ours(jobs, "order=fifo backfill=easy backfill.holds=count backfill.depth=100000");
    ASSERT_EQ(different(ours, TextbookEasy(jobs).run()), 0U);
  }
}

// --- Levels of attained service ------------------------------------------------------------------

/// 2D-LAS: level, then submission; who does not fit pauses jobs of worse levels, the worst first
/// and in it the last submitted, if that makes room; pauses are free, and those behind may pass.
class TextbookLevels {
 public:
  TextbookLevels(const std::vector<Drawn>& jobs, std::vector<std::int64_t> thresholds)
      : jobs_(jobs), thresholds_(std::move(thresholds)), states_(jobs.size()) {}

  std::vector<std::int64_t> run() {
    std::vector<std::int64_t> ends(jobs_.size(), 0);
    for (std::size_t over = 0; over < jobs_.size();) {
      advance(next());
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        State& state = states_[i];
        if (state.is_running && state.ran == jobs_[i].length) {
          state = {.ran = state.ran, .is_over = true};
          free_ += jobs_[i].size;
          ends[i] = now_;
          ++over;
        }
      }
      schedule();
    }
    return ends;
  }

 private:
  struct State {
    std::int64_t ran = 0;
    bool is_running = false, is_over = false;
  };

  /// After this run time, in whole microseconds, its service is at that threshold.
  [[nodiscard]] std::int64_t ran_at(std::size_t job, std::int64_t threshold) const {
    return (threshold + jobs_[job].size - 1) / jobs_[job].size;
  }
  [[nodiscard]] std::size_t level(std::size_t job) const {
    std::size_t level = 0;
    for (const std::int64_t threshold : thresholds_)
      level += states_[job].ran >= ran_at(job, threshold) ? 1 : 0;
    return level;
  }

  /// The next arrival, end or crossing.
  [[nodiscard]] std::int64_t next() const {
    std::int64_t next = INT64_MAX;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (jobs_[i].submit > now_) next = std::min(next, jobs_[i].submit);
      if (!states_[i].is_running) continue;
      const std::int64_t ran = states_[i].ran;
      next = std::min(next, now_ + jobs_[i].length - ran);
      for (const std::int64_t threshold : thresholds_)
        if (ran_at(i, threshold) > ran) next = std::min(next, now_ + ran_at(i, threshold) - ran);
    }
    return next;
  }

  void advance(std::int64_t to) {
    for (State& state : states_)
      if (state.is_running) state.ran += to - now_;
    now_ = to;
  }

  [[nodiscard]] auto rank(std::size_t job) const {
    return std::tuple(level(job), jobs_[job].submit, job);
  }

  [[nodiscard]] std::vector<std::size_t> waiting() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (jobs_[i].submit <= now_ && !states_[i].is_running && !states_[i].is_over)
        all.push_back(i);
    std::ranges::sort(all, {}, [&](std::size_t job) { return rank(job); });
    return all;
  }

  /// Those that leave for it; nothing if that would not make room.
  [[nodiscard]] std::optional<std::vector<std::size_t>> victims(std::size_t waiter) const {
    std::vector<std::size_t> worse, chosen;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      if (states_[i].is_running && level(i) > level(waiter)) worse.push_back(i);
    std::ranges::sort(worse, std::greater{}, [&](std::size_t job) { return rank(job); });
    std::int32_t room = free_;
    for (const std::size_t job : worse) {
      if (room >= jobs_[waiter].size) break;
      chosen.push_back(job);
      room += jobs_[job].size;
    }
    if (room < jobs_[waiter].size) return {};
    std::ranges::reverse(chosen);  // of those that need not all leave, the better ranked stay
    std::erase_if(chosen, [&](std::size_t job) {
      const bool stays = room - jobs_[job].size >= jobs_[waiter].size;
      if (stays) room -= jobs_[job].size;
      return stays;
    });
    return chosen;
  }

  /// Passes through the queue until one pauses nothing. What is free beside a room that was made by
  /// pauses is given away in the next pass, when the victims have left.
  void schedule() {
    for (bool pauses = true; pauses;) {
      pauses = false;
      std::int32_t left_over = 0;
      for (const std::size_t job : waiting()) {
        const auto leaving = victims(job);
        if (!leaving) continue;
        for (const std::size_t victim : *leaving) {
          states_[victim].is_running = false;
          free_ += jobs_[victim].size;
        }
        states_[job].is_running = true;
        free_ -= jobs_[job].size;
        if (leaving->empty()) continue;
        left_over += std::exchange(free_, 0);
        pauses = true;
      }
      free_ += left_over;
    }
  }

  const std::vector<Drawn>& jobs_;
  std::vector<std::int64_t> thresholds_;  // GPU-microseconds
  std::vector<State> states_;
  std::int64_t now_ = -1;
  std::int32_t free_ = kGpus;
};

/// Without the rules that are ours: a least run, and turns (yard.turn), by which a job does not
/// pause the one that it was paused for within the hour. A third stays, see schedule(): our policy
/// chooses the rooms of a round before any victim has left, and so does this.
TEST(PoolOracles, LevelsOfAttainedServiceAreTheTextbooks) {
  const std::int64_t hour = hours(1).us;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto jobs = lublin_like(seed, 300, seed % 2 == 0 ? 0.8 : 1.1);
    const auto ours =
        ends_of_ours(jobs, "order=las backfill=greedy preempt=by-level yard.min_run=0 yard.turn=0");
    const auto oracle = TextbookLevels(jobs, {hour, 2 * hour, 5 * hour}).run();
    ASSERT_EQ(different(ours, oracle), 0U);
  }
}

}  // namespace
}  // namespace trainyard
