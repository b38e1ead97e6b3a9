// All that is known of a job that was submitted: the row that the journal keeps of it, and what the
// API shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "forecast/track_record.h"
#include "live/book/job_words.h"
#include "live/book/kept_room.h"
#include "live/engine/engine.h"
#include "live/job/identity.h"
#include "live/job/job_array.h"
#include "live/job/job_spec.h"
#include "live/job/progress.h"
#include "live/job/reported_curve.h"
#include "yard/saved_job.h"

namespace trainyard {

/// What the yard knows of a job (yard/saved_job.h), as it is kept: where the yard has ids, which
/// are of 32 bits and last as long as it does, it has the numbers of jobs, and of GPUs the names.
struct JobLife {
  JobState state;
  KeptRoom room;
  JobNumber room_for = 0;  // 0: for none
  KeptRoom next;
  JobNumber lead = 0;  // 0: none
  RunProgress progress;
  Duration brought;
  Estimate estimate;
  std::vector<JobNumber> yielded_to;
};

/// A job's load: the time from when the processes of a run began to its first sign of progress.
struct JobLoad {
  Time began = Time::never();   // the processes of the present run, as long as it lasts
  Duration presumed;            // of the present run: how long it counts as loading without a sign
  bool has_progressed = false;  // in the present run
  std::optional<Duration> took{};  // what the last load took that was measured
  std::uint32_t unseen = 0;        // how many runs since the last sign were paused before any
  Duration unseen_work;            // what was booked as work in them

  bool operator==(const JobLoad&) const = default;
};

/// The last time that a job was told to leave for others.
struct LastPause {
  Time at = Time::never();
  std::uint32_t run = 0;        // which of its runs that was; 0: it never was
  JobNumber made_room_for = 0;  // 0: for none: it goes on elsewhere, or with another size
  bool was_killed = false;      // it kept nothing of its run,
  Duration lost{};              // ... which was so much work

  bool operator==(const LastPause&) const = default;
};

/// When the first forecast after it was queued expected the job to start.
struct StartPromise {
  Time made = Time::never();  // never: nothing was promised
  TimeBand drawn;             // by the draws alone (forecast/track_record.h)
  TimeBand told;              // with how they had missed until then

  bool operator==(const StartPromise&) const = default;
};

struct JobRecord {
  JobNumber number = 0;
  ArrayTask task;  // its place in an array, if it is of one
  Identity owner;
  JobSpec spec;
  Time submitted;
  Time eligible = Time::never();  // since when nothing but the policy keeps it from starting

  /// `absent` while the job is held: it waits for those in spec.after, say, and the yard does not
  /// know it yet.
  JobLife life;

  std::uint32_t runs = 0;           // how often it was to be started: its last run's number
  std::uint32_t restarts = 0;       // how often it has come back after having run
  Duration done_when_returned;      // work, when it last asked to be run again by itself
  bool has_started = false;         // its present run
  bool is_broken = false;           // a part of its run is gone, and the rest is being stopped
  std::uint32_t failed_starts = 0;  // in a row, by no fault of its own
  Resources granted;              // the least that a worker of its run has; none: what it asks for
  OldRun old_run = OldRun::none;  // held until its last run has ended: the machine is another now
  Ending ending = Ending::none;   // it has been told to end for good: `reason` says why
  std::uint32_t quick_returns = 0;  // how often in a row it came back to the queue at once
  std::optional<int> exit_status;
  std::string reason;  // why it failed or was cancelled: "exit status 3", "time limit of 1h"
  std::optional<JobProgress> progress;
  ReportedCurve curve;
  std::string born_as;        // what the engine calls a job that was not submitted to us
  bool runs_outside = false;  // of our control: such a job was running when we heard of it
  /// Bytes of each worker's output that its present run may leave; none: as many as is usual.
  std::optional<std::int64_t> output_limit;
  std::int64_t output_bytes = 0;       // of its runs that have ended; also once it is erased
  std::optional<Duration> pause_took;  // from being told to leave to having left, the last time
  JobLoad load;
  LastPause last_pause;
  StartPromise promise;

  // Not kept: how it is shown.
  bool in_part = false;  // it is somebody else's, and all is left out but what everybody may see
  WaitsBy waits_by = WaitsBy::nothing;
  TimeBand expected_start;  // of one that waits, by the last forecast; p50 is never: not known

  [[nodiscard]] Phase phase() const { return life.state.phase; }
  [[nodiscard]] RunId run() const { return {number, runs}; }
  /// As people see it: one whose processes run is running, also while it loads.
  [[nodiscard]] Phase shown_phase() const { return is_loading() ? Phase::running : phase(); }
  [[nodiscard]] bool is_loading() const {
    return phase() == Phase::starting && load.began != Time::never();
  }
  /// It was told to leave for others, and waits to go on.
  [[nodiscard]] bool is_paused() const {
    const bool waits = phase() == Phase::queued || phase() == Phase::reserved;
    return waits && last_pause.run != 0 && last_pause.run == runs;
  }
  /// It has been told to leave for others, and has not left yet.
  [[nodiscard]] bool is_leaving() const {
    return phase() == Phase::draining && last_pause.run != 0 && last_pause.run == runs;
  }
  /// How long the last pause took to leave; null while it is leaving.
  [[nodiscard]] std::optional<Duration> last_pause_took() const {
    return is_leaving() ? std::nullopt : pause_took;
  }
  /// What one more pause would cost: from being told to leave to having left, and from the start to
  /// the first progress. Null where either was not measured yet.
  [[nodiscard]] std::optional<Duration> pause_cost() const;
  /// When its present run began, as far as that is known.
  [[nodiscard]] Time run_began() const {
    return load.began == Time::never() ? life.state.since : load.began;
  }
  [[nodiscard]] bool is_held() const { return phase() == Phase::absent; }
  [[nodiscard]] bool has_ended() const { return trainyard::has_ended(phase()); }
  /// The number that its submission got: its array's, or its own. The payload is kept under it.
  [[nodiscard]] JobNumber submission() const { return task.array != 0 ? task.array : number; }
};

/// What people call it: "7", or "12_3".
std::string name_of(const JobRecord& job);

/// What everybody may see of a job, as in Slurm's queue: whose it is, its name, size, time limit
/// and state, when and where it runs. No command, script, folder, output, progress or reason of its
/// end.
JobRecord public_part(const JobRecord& job);

/// The large parts of what was submitted, which only a start needs: apart from the record, so that
/// lists, and the memory of waiting jobs, stay small.
struct JobPayload {
  std::string script;
  std::map<std::string, std::string> environment;
  std::vector<std::string> command;  // empty: the record has it
  std::string damage;                // why it cannot be read; empty: it can
};

/// Moves them out of a specification; in the script's place remains that there is one, and of a
/// long command its beginning.
JobPayload take_payload(JobSpec& spec);
void put_payload(JobSpec& spec, JobPayload payload);
/// As the journal keeps it.
std::string to_json(const JobPayload& payload);

/// What such a job takes in memory while it waits, about, with its payload on disk.
std::size_t memory_of(const JobSpec& spec);

/// All that changes in a job's life, as the journal keeps it; the rest of the record has columns of
/// its own.
std::string life_to_json(const JobRecord& job);
Expected<void> life_from_json(std::string_view json, JobRecord& job);

/// The same life as it is written since format 5 of the journal. Until format 4 it had GPUs by
/// number, as bits or as a list; `names` has their names by number, or is empty where a number is
/// the name. Unchanged if it cannot be read.
std::string with_gpu_names(std::string life, const std::vector<std::string>& names);

}  // namespace trainyard
