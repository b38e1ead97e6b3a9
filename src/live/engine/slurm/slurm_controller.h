// All that is asked of Slurm: plain values, and one abstract class. libslurm.cpp is the real one
// and the only file that sees Slurm's own headers; scripted_slurm.h is one in memory, for tests;
// dry_run.h watches a real one and changes nothing.
//
// One thread calls it. A call may take long when slurmctld is away, and then fails with `away`:
// whether an act took effect is not known in that case, and shows when slurmctld is back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/time.h"
#include "live/engine/engine.h"
#include "live/job/identity.h"

namespace trainyard {

struct SlurmFailure {
  bool is_away = false;  // slurmctld did not answer; else it has refused
  std::string message;
};
template <class T>
using SlurmAnswer = tl::expected<T, SlurmFailure>;

enum class SlurmState : std::uint8_t {
  pending,
  running,
  suspended,
  // The rest are ends.
  completed,
  cancelled,
  failed,
  timeout,
  node_fail,
  preempted,
  boot_fail,
  deadline,
  out_of_memory,
};
constexpr bool has_ended(SlurmState state) {
  return state >= SlurmState::completed;
}
/// In Slurm's own words: "PENDING", "NODE_FAIL".
std::string_view name(SlurmState state);

/// "--gres=gpu:v100:4": of a node, a job or a task.
struct SlurmGpus {
  std::int32_t count = 0;
  std::string kind;  // empty: any
  bool operator==(const SlurmGpus&) const = default;
};

/// What a job asks for.
struct SlurmRequest {
  std::int32_t nodes = 1;  // the fewest
  std::int32_t tasks = 1, tasks_per_node = 0;
  std::int32_t cpus = 1;  // in all, at least
  std::int64_t memory_mib = 0;
  bool memory_per_cpu = false;  // else per node; 0: all that the node has
  SlurmGpus per_node, per_job, per_task;
  std::int32_t cpus_per_gpu = 0;
  std::int64_t memory_per_gpu = 0;
  bool is_exclusive = false;
  std::string features, nodes_wanted, nodes_excluded;
  std::string unknown;  // what else it asks for that says where it may run
  bool operator==(const SlurmRequest&) const = default;
};

/// Where it runs.
struct SlurmPlace {
  std::string node;
  std::vector<std::int32_t> gpus;
  bool operator==(const SlurmPlace&) const = default;
};

/// A job; of an array each task is one, whether or not Slurm has split it off yet.
struct SlurmJob {
  std::string id;  // as Slurm's commands take it: "17", or "12_3" for a task of array 12
  SlurmState state{};
  bool is_completing = false;   // its processes have not ended everywhere
  bool is_configuring = false;  // its nodes are not ready yet
  bool is_held = false;
  bool is_batch = true;  // false: salloc, srun
  bool may_requeue = true;
  std::string reason;                        // why it waits or has failed, in Slurm's words
  Time submitted, eligible, started, ended;  // by whole seconds; zero: not known
  std::uint32_t restarts = 0;
  int exit_status = 0;  // as a shell has it
  Identity owner;
  std::string name, partition;
  std::string comment;       // its user's
  std::string mark;          // the administrator's comment, which is ours (mark.h)
  std::string dependency;    // empty: it has none, or all are met
  std::string array;         // the array's id; empty: it is no task of one
  std::int32_t at_once = 0;  // so many tasks of its array may run at once; 0: all
  SlurmRequest request;
  std::optional<Duration> time_limit;
  std::string directory, output;
  std::vector<SlurmPlace> places;
};

struct SlurmNode {
  std::string name;
  std::string rack;  // the switch above it; empty: not known
  MachineReport::State state{};
  std::string why;  // it is not up
  std::string kind;
  Resources capacity;
  std::vector<std::string> features = {};  // that it has now
  bool operator==(const SlurmNode&) const = default;
};

/// One call of Slurm's that changes a job that waits.
struct SlurmUpdate {
  std::string id;
  enum class Hold : std::uint8_t { as_it_is, hold, release };
  Hold hold{};
  /// Exactly these, and the job may begin now; an empty list: no longer any of them.
  std::optional<std::vector<std::string>> nodes;
  std::optional<std::string> mark;
};

/// A batch job, as its owner, held.
struct SlurmSubmission {
  Identity owner;
  std::string name, script, directory, output, error, comment;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE
  std::int32_t nodes = 1, tasks_per_node = 1, cpus_per_task = 1, gpus_per_node = 1;
  std::int64_t memory_per_node_mib = 0;
  Duration time;  // zero: the partition's
  bool append = false;
};

/// Who gets a signal.
enum class SlurmTarget : std::uint8_t {
  workers,  // what srun has started; where there is nothing of that, all that the script has
  script,   // the batch script alone
};

class SlurmController {
 public:
  virtual ~SlurmController() = default;

  /// Of every partition; none: nothing has changed since the last time.
  [[nodiscard]] virtual SlurmAnswer<std::optional<std::vector<SlurmJob>>> jobs() = 0;
  /// One of them as it is now; none: there is no such job.
  [[nodiscard]] virtual SlurmAnswer<std::optional<SlurmJob>> job(const std::string& id) = 0;
  /// Of our partition, those with GPUs; none: nothing has changed since the last time.
  [[nodiscard]] virtual SlurmAnswer<std::optional<std::vector<SlurmNode>>> nodes() = 0;

  [[nodiscard]] virtual SlurmAnswer<void> update(const SlurmUpdate& update) = 0;
  /// Of one that runs, or has ended: it waits again, held, when its processes have ended.
  [[nodiscard]] virtual SlurmAnswer<void> requeue_held(const std::string& id) = 0;
  [[nodiscard]] virtual SlurmAnswer<void> signal(const std::string& id, int number,
                                                 SlurmTarget target) = 0;
  [[nodiscard]] virtual SlurmAnswer<void> cancel(const std::string& id) = 0;
  /// The new job's id.
  [[nodiscard]] virtual SlurmAnswer<std::string> submit(const SlurmSubmission& job) = 0;
};

}  // namespace trainyard
