// The least sum of completion times that any schedule of a few jobs on one machine can have, by
// looking at all of them: the measure for policies that promise a low one.
//
// A schedule decides when a job arrives, ends, or has left its GPUs: any running jobs may be
// paused, any queued ones that fit may be started, and GPUs may be left idle. Knows all arrivals
// and durations beforehand. Branches that cannot beat the best schedule so far are cut off.
#pragma once

#include <algorithm>
#include <vector>

#include "model/job.h"

namespace trainyard {

class BestSchedule {
 public:
  BestSchedule(const std::vector<Job>& jobs, std::int32_t gpus) : jobs_(jobs), gpus_(gpus) {}

  /// At most `known`, the sum that some schedule has.
  [[nodiscard]] Duration sum(Duration known) {
    best_ = known;
    State state;
    for (const Job& job : jobs_) state.push_back({Stage::absent, job.submit, job.duration});
    advance(state, Duration{});
    return best_;
  }

 private:
  enum class Stage { absent, queued, loading, running, draining, done };
  struct Train {
    Stage stage;
    Time until;     // when the stage ends by itself; never for those that wait
    Duration left;  // of the work, at the beginning of the stage
  };
  using State = std::vector<Train>;

  [[nodiscard]] std::int32_t free_gpus(const State& state) const {
    std::int32_t free = gpus_;
    for (std::size_t j = 0; j < state.size(); ++j)
      if (holds(state[j].stage)) free -= jobs_[j].gpus();
    return free;
  }
  static bool holds(Stage stage) {
    return stage == Stage::loading || stage == Stage::running || stage == Stage::draining;
  }

  /// Goes to the next instant at which something is to be decided. `ended`: the sum so far.
  void advance(State state, Duration ended) {
    Time now = Time::never();
    for (const Train& train : state) now = std::min(now, train.until);
    if (now == Time::never()) {
      const auto is_done = [](const Train& train) { return train.stage == Stage::done; };
      if (std::all_of(state.begin(), state.end(), is_done)) best_ = std::min(best_, ended);
      return;
    }
    bool to_decide = false;
    for (std::size_t j = 0; j < state.size(); ++j) {
      Train& train = state[j];
      if (train.until != now) continue;
      to_decide = to_decide || train.stage != Stage::loading;
      if (train.stage == Stage::running) ended += now - jobs_[j].submit;
      train = train.stage == Stage::loading   ? Train{Stage::running, now + train.left, train.left}
              : train.stage == Stage::running ? Train{Stage::done, Time::never(), {}}
                                              : Train{Stage::queued, Time::never(), train.left};
    }
    if (at_least(state, now, ended) >= best_) return;
    to_decide ? choose(state, 0, now, ended) : advance(state, ended);
  }

  /// If everybody had the machine alone from now on.
  [[nodiscard]] Duration at_least(const State& state, Time now, Duration ended) const {
    Duration sum = ended;
    for (std::size_t j = 0; j < state.size(); ++j) {
      const Train& train = state[j];
      if (train.stage == Stage::done) continue;
      Time end = now + jobs_[j].load + train.left;
      if (train.stage == Stage::running) end = train.until;
      if (train.stage == Stage::loading) end = train.until + train.left;
      if (train.stage == Stage::absent || train.stage == Stage::draining)
        end = train.until + jobs_[j].load + train.left;
      sum += end - jobs_[j].submit;
    }
    return sum;
  }

  /// Both ways for job j, and all for those behind it.
  void choose(const State& state, std::size_t j, Time now, Duration ended) {
    if (j == state.size()) return advance(state, ended);
    const Job& job = jobs_[j];
    if (state[j].stage == Stage::queued && job.gpus() <= free_gpus(state)) {
      State started = state;
      started[j] = {Stage::loading, now + job.load, state[j].left};
      choose(started, j + 1, now, ended);
    }
    choose(state, j + 1, now, ended);
    const bool runs = state[j].stage == Stage::running;
    if (runs && state[j].until > now && state[j].until - state[j].left < now) {
      State paused = state;
      paused[j] = {Stage::draining, now + job.grace + job.save, state[j].until - now};
      choose(paused, j + 1, now, ended);
    }
  }

  const std::vector<Job>& jobs_;
  std::int32_t gpus_;
  Duration best_;
};

}  // namespace trainyard
