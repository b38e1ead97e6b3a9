// All that is known of a job that was submitted: the row that the journal keeps of it, and what the
// API shows.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "live/engine/engine.h"
#include "live/identity.h"
#include "live/job_spec.h"
#include "live/progress.h"
#include "yard/event.h"
#include "yard/saved_job.h"

namespace trainyard {

struct JobRecord {
  JobNumber number = 0;
  Identity owner;
  JobSpec spec;
  Time submitted;
  /// Of the yard, by job number where it names other jobs. `absent` while the job is held: it
  /// waits for those in spec.after, and the yard does not know it yet.
  SavedJob life;
  std::uint32_t runs = 0;      // how often it was started
  std::uint32_t restarts = 0;  // how often it was started again
  bool stopping = false;       // it has been told to end for good: cancelled, or out of time
  std::optional<int> exit_status;
  std::string reason;  // why it failed or was cancelled: "exit status 3", "time limit of 1h"
  std::optional<JobProgress> progress;
  std::optional<Duration> pause_took;  // from being told to leave to having left, the last time

  [[nodiscard]] RunId run() const { return {number, runs}; }
  [[nodiscard]] bool is_held() const { return life.state.phase == Phase::absent; }
  [[nodiscard]] bool has_ended() const { return trainyard::has_ended(life.state.phase); }
};

/// "held", "queued", "reserved", "starting", "running", "draining", "done", "failed", "cancelled".
std::string_view state_name(const JobRecord& job);

}  // namespace trainyard
