// What lets a job into the queue, and what the end of one means for others. A job is held until all
// that it names in `after` are done, until its array lets one more of its tasks run, and as long as
// the machine is too small for it. With its end, those that waited for it are queued or cancelled,
// and another task of its array gets its slot.
#pragma once

#include <deque>
#include <string>

#include "live/loop/live_state.h"

namespace trainyard {

class Gate {
 public:
  explicit Gate(LiveState& state) : state_(state) {}

  /// A held job: it is queued if nothing keeps it, and cancelled if what it waits for has failed.
  /// Fails when the journal cannot be read; then it stays held.
  Expected<void> admit(JobNumber job);
  /// New jobs, of which a turn admits a bounded number: an array of thousands holds nobody up.
  void admit_soon(const std::vector<JobNumber>& jobs);
  /// Admits the next of them.
  void admit_some();
  [[nodiscard]] bool has_to_admit() const { return !to_admit_.empty(); }
  /// Nothing but the policy keeps it from starting any more, if it fits this machine at all and its
  /// array lets it.
  void release(JobNumber job);
  /// Its life is over, by this event; does nothing if it is already.
  void end(JobNumber job, EventKind kind, const std::string& reason);
  /// How a job or an array ended; `absent` when it has not. An array has ended with its first task
  /// that is not done.
  [[nodiscard]] Expected<Phase> end_of(JobNumber job_or_array) const;

 private:
  void end_alone(JobNumber job, EventKind kind, const std::string& reason);
  void settle_dependents(JobNumber ended, bool done);
  void leave_array(JobNumber task, bool done);

  LiveState& state_;
  std::deque<JobNumber> to_admit_;
  /// Jobs whose end others are still to be told of. The end of one may be that of many others,
  /// and of others after these.
  std::deque<JobNumber> ended_;
  bool is_settling_ = false;
};

}  // namespace trainyard
