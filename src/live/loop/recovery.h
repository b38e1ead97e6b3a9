// What happens when the daemon starts: jobs and their phases come from the journal, and the engine
// is asked what became of every run that was to be started. If the machine is not what it was, what
// still runs on it has to end before it may start again.
#pragma once

#include "live/loop/gate.h"
#include "live/loop/live_state.h"
#include "live/loop/machines.h"
#include "live/loop/runs.h"

namespace trainyard {

class Recovery {
 public:
  Recovery(LiveState& state, Gate& gate, Runs& runs, Machines& machines)
      : state_(state), gate_(gate), runs_(runs), machines_(machines) {}

  Expected<void> recover();

 private:
  Expected<void> enter_jobs();
  Expected<void> recall_folded(std::vector<JobRecord>& jobs);
  Expected<void> bury_damaged(std::vector<JobRecord>& jobs);
  void heed_traces();
  Expected<void> recall_arrays();
  void recall_settings();
  Expected<void> take_up_jobs();
  Expected<void> take_up(JobNumber job);

  LiveState& state_;
  Gate& gate_;
  Runs& runs_;
  Machines& machines_;
};

}  // namespace trainyard
