// Jobs that were not submitted to us, as the engine reports them. Each gets a number once, whatever
// happens to the daemon: the journal keeps the engine's name of it. It is scheduled like any other;
// one that runs already, outside of our control, holds its GPUs until the engine reports its end.
#pragma once

#include <vector>

#include "live/loop/gate.h"
#include "live/loop/live_state.h"

namespace trainyard {

class Births {
 public:
  Births(LiveState& state, Gate& gate) : state_(state), gate_(gate) {}

  void hear(BirthReport report);
  /// Before every decision: those that the journal could not be asked about, and those that run
  /// where the yard still has another job.
  void settle();

 private:
  /// What we call the job of this name, if we know it.
  [[nodiscard]] Expected<std::optional<JobNumber>> number_of(const std::string& name) const;
  void take_in(BirthReport report);
  void call(const std::string& name, JobNumber job);
  void seat(JobNumber job, const std::vector<WorkerPlace>& places);

  LiveState& state_;
  Gate& gate_;
  std::vector<BirthReport> waiting_;
};

}  // namespace trainyard
