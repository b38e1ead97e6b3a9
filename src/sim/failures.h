// What failing machines cost: how often one failed, how many runs that ended, and the work of these
// that has to be done again. Loading again after it is no such work.
//
// A failure that ends a run shows in the yard's books: a job returns to the queue without having
// been told to leave, or with less work done than when it was told. What it lost since it ran,
// without the checkpoints that it wrote, is work.
#pragma once

#include <unordered_map>

#include "sim/result.h"
#include "yard/yard.h"

namespace trainyard {

class Failures final : public YardListener {
 public:
  explicit Failures(const Yard& yard) : yard_(yard) {}

  void on_machine(MachineId /*machine*/, bool up) override {
    if (!up) ++sum_.machines;
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    const JobState& state = yard_.state(job);
    if (to == Phase::running || to == Phase::draining) seen_[job] = {state.done, state.lost};
    if (from == Phase::starting && to == Phase::queued) ++sum_.runs;
    if (to != Phase::queued || (from != Phase::running && from != Phase::draining)) return;
    const Books before = seen_[job];
    const Duration undone =
        from == Phase::draining
            ? before.done - state.done
            : state.lost - before.lost - written_between(yard_.job(job), before.done, state.done);
    if (from == Phase::draining && undone.us <= 0) return;  // it was paused, and has saved
    ++sum_.runs;
    const double gpus = workers(yard_.placement(job)) * yard_.job(job).per_worker.gpus;
    sum_.lost_gpu_s += undone.seconds() * gpus;
  }

  [[nodiscard]] const FailureSum& sum() const { return sum_; }

 private:
  struct Books {
    Duration done, lost;
  };

  /// Time for the checkpoints of so much work, the last of which it ended with.
  static Duration written_between(const Job& job, Duration from, Duration to) {
    if (job.checkpoint_interval.us <= 0) return {};
    return job.checkpoint_cost * ((to - from).us / job.checkpoint_interval.us);
  }

  const Yard& yard_;
  FailureSum sum_;
  std::unordered_map<JobId, Books> seen_;  // when it began to run, or was told to leave
};

}  // namespace trainyard
