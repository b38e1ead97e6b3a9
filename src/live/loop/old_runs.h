// Runs that the yard does not have: those of jobs that are held though they still run somewhere.
// Some were left behind when a machine became another, and have to end; some were born outside of
// our control where another job has GPUs, and get their place when that job has left. The room in
// the record of such a job says where it runs. No new jobs start on these machines meanwhile.
#pragma once

#include <set>
#include <string>

#include "live/loop/live_state.h"

namespace trainyard {

class OldRuns {
 public:
  explicit OldRuns(LiveState& state) : state_(state) {}

  /// Before every decision.
  void settle();

 private:
  /// Has the yard hold the GPUs of a job outside of our control. False: not all of them are free.
  bool seat(JobNumber job);
  void close_their_machines();

  LiveState& state_;
  std::set<std::string> closed_;  // machines, because of them
};

}  // namespace trainyard
