// What a user submits: what to run, and what it needs. As JSON on the wire and in the journal.
//
// A job is a gang of `workers` equal processes, or of as many as the policy likes up to
// `max_workers`. Each runs `command`, or `script` with `command` as
// its arguments; one that is paused runs again later, with the same checkpoint directory. As
// under Slurm, a script may also run once, with the GPUs of all, and start the workers with `srun`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/resources.h"
#include "base/time.h"
#include "model/job.h"
#include "model/worker_range.h"

namespace trainyard {

/// What users call a job: 1, 2, 3 ... in the order of submission, never given again.
using JobNumber = std::int64_t;

/// A signal that asks a job to save: "USR1@90", "B:TERM".
struct StopSignal {
  int number = 0;            // 0: none was declared, SIGTERM does
  bool leader_only = false;  // "B:": to the worker's first process, not to its whole group
  Duration ahead;            // "@90": so long before the time limit it comes; 0: not said

  bool operator==(const StopSignal&) const = default;
};

/// "[B:]NAME[@SECONDS]" as sbatch's --signal; names with or without SIG, or numbers.
Expected<StopSignal> parse_stop_signal(std::string_view text);
std::string format(const StopSignal& signal);

/// What --time says, the same wherever it is written. As sbatch has it: MM, MM:SS, HH:MM:SS, D-HH,
/// D-HH:MM, D-HH:MM:SS; 0, UNLIMITED and INFINITE set no limit and are 0. Or with units: "90s",
/// "2h", "1d12h".
Expected<Duration> parse_time_limit(std::string_view text);

/// What a worker takes of its machine where that is as the machine makes it, beside the shares that
/// every job has by default. Jobs that were submitted to Slurm have such demands.
struct NodeDemand {
  bool whole = false;       // all of it
  bool alone = false;       // no other worker of the job is there
  bool all_memory = false;  // of the machine
  bool operator==(const NodeDemand&) const = default;
};

struct JobSpec {
  std::string name;
  std::vector<std::string> command;  // what to run with its arguments, or the script's arguments
  std::string script;                // its text, "#!" first; empty: `command` is run
  std::string directory = "/";       // where it runs
  std::string output, error;         // files that it writes to (output_path.h); empty: kept for
                                     // `logs`, and `error` goes where `output` does
  bool append = false;               // to what they hold; else the first run begins them anew
  std::map<std::string, std::string> environment;

  JobClass job_class = JobClass::batch;
  bool runs_once = false;           // the script; it starts the workers with srun
  bool gpus_per_task = false;       // ... of which each then sees its own GPUs, not all of them
  std::int32_t workers = 1;         // the fewest; `time` is said of them
  std::int32_t max_workers = 0;     // more than `workers`: an elastic job may have up to so many
  Resources per_worker{.gpus = 1};  // CPUs or memory of 0: the machine's part for its GPUs
  bool exclusive = false;           // the whole machine, shared evenly by the workers
  NodeDemand node;                  // of a job of Slurm's: what each worker takes of its node
  std::string gpu_kind;             // the only kind of GPU that it takes (kind_named); empty: any
  std::string constraint;           // features that the machine must have; see model/constraint.h
  Duration time;                    // what each run may take, and all are expected to; 0: no limit
  Duration grace = seconds(30);     // from being asked to save to SIGTERM; see the stop sequence
  StopSignal signal;
  std::string model;             // of neural network; empty: not known
  std::string measured_on;       // the kind of GPU that `time` is said of; empty: of any
  std::vector<JobNumber> after;  // starts when all of these are done, arrays as a whole
  std::string array;             // tasks to make of it, "0-9%2" (job_array.h); empty: one job

  bool operator==(const JobSpec&) const = default;
  [[nodiscard]] WorkerRange sizes() const { return {workers, std::max(workers, max_workers)}; }
  /// How many processes the engine starts for a run of it, at most.
  [[nodiscard]] std::int32_t processes() const { return runs_once ? 1 : sizes().max; }
  [[nodiscard]] bool is_elastic() const { return max_workers > workers; }
};

/// What all variables of an environment may take together, and what their names are made of.
inline constexpr std::size_t kMostEnvironmentBytes = std::size_t{1} << 20;
bool is_variable_name(std::string_view name);

/// Refuses what no daemon could run: names what is wrong, field by field.
Expected<JobSpec> parse_job_spec(std::string_view json);
/// The same for what a user submits: refuses names with characters that are not visible. Journals
/// of earlier versions and other systems have such names, and their jobs are still read.
Expected<JobSpec> parse_submission(std::string_view json);
Expected<JobSpec> job_spec_from_json(const nlohmann::json& json);
nlohmann::json to_json(const JobSpec& spec);
/// One field of it, as in JSON, in place of what stood there: for those who read it from elsewhere.
Expected<void> set_job_field(JobSpec& spec, std::string_view field, const nlohmann::json& value);

/// How long after the start of a run its declared signal comes by itself: `ahead` of the time
/// limit, or 60 s where that was not said, as sbatch has it. 0: never, as the limit is no longer
/// than that.
Duration asked_after(const JobSpec& spec);

/// What is allowed but probably not meant ("a grace of 30s is shorter than the 90s of USR1@90").
std::vector<std::string> warnings(const JobSpec& spec);

}  // namespace trainyard
