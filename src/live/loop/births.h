// Jobs that were not submitted to us, as the engine reports them. Each gets a number once, whatever
// happens to the daemon: the journal keeps the engine's name of it. It is scheduled like any other;
// one that runs already, outside of our control, holds its GPUs until the engine reports its end
// (old_runs.h).
#pragma once

#include <map>
#include <string>

#include "live/loop/gate.h"
#include "live/loop/live_state.h"

namespace trainyard {

/// Workers' places as a job's room.
KeptRoom room_on(const std::vector<WorkerPlace>& places, std::int32_t gpus_each,
                 const Cluster& cluster);

class Births {
 public:
  Births(LiveState& state, Gate& gate) : state_(state), gate_(gate) {}

  void hear(BirthReport report);
  /// Before every decision: those that the journal could not be asked about.
  void settle();

 private:
  void hear_again(const BirthReport& report, JobNumber job);
  void take_in(BirthReport report);
  [[nodiscard]] Answer<void> check_room(const JobRecord& job) const;
  void call(const std::string& name, JobNumber job);

  LiveState& state_;
  Gate& gate_;
  std::map<std::string, BirthReport> unread_;  // by name
};

}  // namespace trainyard
