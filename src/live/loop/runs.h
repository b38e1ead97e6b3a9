// The runs of jobs: started and stopped as the policy orders, as people ask, and as time runs out;
// and what the engine reports of them. Whether a run's end is a pause or the job's end is told
// from what was intended, never from its exit status.
#pragma once

#include <string>

#include "live/loop/gate.h"
#include "live/loop/live_state.h"
#include "live/loop/loads.h"

namespace trainyard {

class Runs {
 public:
  Runs(LiveState& state, Gate& gate) : state_(state), gate_(gate), loads_(state) {}

  /// What the policy, and the yard itself, have ordered: a job that gets the room that was made for
  /// it starts without asking.
  void take_orders();
  void hear(const RunReport& report);
  void end_those_out_of_time();
  /// Runs that count as loading no longer; and when there is next one.
  void settle_loads() { loads_.settle(); }
  [[nodiscard]] Time next_load() const { return loads_.next(); }
  /// Those whose start failed, and that have rested long enough.
  void try_again();
  /// A part of its run is gone: the rest is stopped, and the job queues again when nothing is left.
  void break_up(JobNumber job, const std::string& why);
  /// When its present run reaches its limit; never: it has none, or is on its way out.
  [[nodiscard]] Time limit_of(const JobRecord& job) const;

  /// It was told to end, and that is on disk.
  void stop_for_good(JobNumber job);
  /// Has the engine stop it now, or when that is on disk.
  void stop_run(const JobRecord& job);
  void stop_later(JobNumber job);

 private:
  void carry_out(const LiveYard::Order& order);
  void tell_who_is_passed();
  void launch(JobNumber job);
  void limit_output(JobRecord& job) const;
  void tell_output_limit(const JobRecord& job) const;
  void pause(JobNumber job);
  void start_run(Launch launch);
  void wait_for_the_machine(JobNumber job, const std::string& why);
  void hear_withdrawn(JobNumber job, const std::string& why);
  void hear_progress(JobNumber job, const JobProgress& progress);
  void hear_started(JobNumber job, Time began, const std::vector<WorkerPlace>& places = {});
  void hear_end(JobNumber job, const RunReport& report);
  void hear_end_of_old_run(JobNumber job, const RunReport& report);
  void hear_left(JobNumber job, const RunReport& report);
  void hear_killed(JobNumber job, const RunReport& report);
  void requeue(JobNumber job, EventKind kind, nlohmann::json details);
  [[nodiscard]] Time time_of(const RunReport& report) const;
  void end_by_itself(JobNumber job, const RunReport& report);
  void fail_start(JobNumber job, const std::string& why);
  void come_back(JobNumber job, EventKind kind, const std::string& why);

  LiveState& state_;
  Gate& gate_;
  Loads loads_;
  std::string last_passed_;  // what was said
};

}  // namespace trainyard
