// The table of sbatch's options, declared in sbatch_options.h.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "live/sbatch/sbatch_options.h"
#include "live/sbatch/sbatch_values.h"

namespace trainyard {
namespace {

using Fate = SbatchOption::Fate;
using Value = SbatchOption::Value;
using Wishes = SbatchWishes;

constexpr auto kOptional = Value::optional, kRequired = Value::required, kNone = Value::none;

constexpr SbatchOption taken(std::string_view name, char letter, Value value, auto set,
                             std::string_view text) {
  return {name, letter, value, Fate::taken, text, set};
}
/// The value is that of a job's field as it stands.
constexpr SbatchOption is_field(std::string_view name, char letter, std::string_view field,
                                std::string_view text) {
  return {name, letter, kRequired, Fate::taken, text, nullptr, field};
}
constexpr SbatchOption ignored(std::string_view name, char letter, Value value,
                               std::string_view text) {
  return {name, letter, value, Fate::ignored, text};
}
constexpr SbatchOption refused(std::string_view name, char letter, Value value,
                               std::string_view text) {
  return {name, letter, value, Fate::refused, text};
}

constexpr std::string_view kOneQueue = "there is one queue, and the policy orders it";
constexpr std::string_view kOneMachine = "all workers run on this machine";
constexpr std::string_view kNoMail = "no mail is sent; `trainyard submit --wait` waits for the end";
constexpr std::string_view kNoBinding = "the system places processes on cores";
constexpr std::string_view kAtSubmit = "it is about what sbatch prints";

constexpr std::array kTaken{
    is_field(
        "--array", 'a', "array",
        "`0-9`, `1,3,5-9:2`, `0-9%2` (two at once): tasks that differ in `SLURM_ARRAY_TASK_ID`"),
    taken("--chdir", 'D', kRequired, set_directory,
          "where the job runs; `SLURM_SUBMIT_DIR` names the same folder"),
    taken("--constraint", 'C', kRequired, set_constraint,
          "features of the machine, with `&` or `|` between: its name, the kind of its GPUs, the "
          "words of that, and those that Slurm declares. What no machine has is refused at once"),
    taken("--cpus-per-gpu", 0, kRequired, set_whole<&Wishes::cpus_per_gpu>,
          "times the GPUs of each worker"),
    is_field("--cpus-per-task", 'c', "cpus", "cores of each worker"),
    taken("--dependency", 'd', kRequired, set_dependency,
          "`afterok:JOB[:JOB...]` only: starts when these are done, and is cancelled when one of "
          "them is not. Other kinds are refused"),
    is_field("--error", 'e', "error",
             "the standard error goes to this file; without it, where the output does"),
    taken("--exclusive", 0, kOptional, set_exclusive,
          "the whole machine: all its GPUs, shared evenly by the workers. `=user` and `=mcs` are "
          "refused"),
    taken("--export", 0, kRequired, set_export,
          "`ALL` (as without it), `NONE`, or names and `NAME=VALUE`, with `ALL` before them or "
          "not"),
    taken("--gpus", 'G', kRequired, set_gpus<&Wishes::gpus>,
          "in all, `[KIND:]N`, shared evenly by the workers. On the command line of `trainyard "
          "submit`, `--gpus` is for each worker"),
    taken("--gpus-per-node", 0, kRequired, set_gpus<&Wishes::gpus_per_node>,
          "`[KIND:]N`, times `--nodes`, shared evenly by the workers"),
    taken("--gpus-per-task", 0, kRequired, set_gpus<&Wishes::gpus_per_task>,
          "`[KIND:]N` for each worker"),
    taken("--gres", 0, kRequired, set_gres,
          "`gpu[:KIND][:N]`, as `--gpus-per-node`; the kind is `--gpu-kind`. Other resources "
          "are refused"),
    is_field("--job-name", 'J', "name", "the job's name"),
    taken("--kill-on-invalid-dep", 0, kRequired, set_kill_on_invalid_dependency,
          "`yes`, which is what happens; `no` is refused"),
    taken("--mem", 0, kRequired, set_memory<&Wishes::memory>,
          "for each node, shared evenly by its workers; a plain number is of MiB. `0` (all of "
          "it) only with `--exclusive`"),
    taken("--mem-per-cpu", 0, kRequired, set_memory<&Wishes::memory_per_cpu>,
          "times the cores of each worker; a plain number is of MiB"),
    taken("--mem-per-gpu", 0, kRequired, set_memory<&Wishes::memory_per_gpu>,
          "times the GPUs of each worker; a plain number is of MiB"),
    taken("--nodes", 'N', kRequired, set_nodes,
          "multiplies what is asked for each node; all workers run on this machine. A range is "
          "refused"),
    taken("--ntasks", 'n', kRequired, set_whole<&Wishes::tasks>, "the number of workers"),
    taken("--ntasks-per-node", 0, kRequired, set_whole<&Wishes::tasks_per_node>,
          "times `--nodes`: the number of workers, unless `--ntasks` says it"),
    is_field(
        "--open-mode", 0, "open_mode",
        "`append` or `truncate` (as without it): the first run of a job begins its files anew, "
        "later ones always append"),
    is_field("--output", 'o', "output",
             "a file below `--chdir`, with %j, %A, %a, %x, %u, %N, %n, %t and %%; without it, the "
             "output is kept for `trainyard logs`"),
    taken("--requeue", 0, kNone, set_nothing, "as without it: a paused job runs again"),
    is_field(
        "--signal", 0, "signal",
        "`[B:]SIGNAL[@SECONDS]`: asks the job to save, so long before the limit and when it is "
        "to make room"),
    is_field("--time", 't', "time", "what each run of the job may take"),
};

constexpr std::array kIgnored{
    ignored("--account", 'A', kRequired, "use is not charged to accounts"),
    ignored("--acctg-freq", 0, kRequired, "use is not sampled"),
    ignored("--batch", 0, kRequired, kOneMachine),
    ignored("--clusters", 'M', kRequired, kOneMachine),
    ignored("--comment", 0, kRequired, "comments are not kept"),
    ignored("--contiguous", 0, kNone, kOneMachine),
    ignored("--core-spec", 'S', kRequired, "no cores are set aside for the system"),
    ignored("--cores-per-socket", 0, kRequired, kNoBinding),
    ignored("--cpu-freq", 0, kRequired, "the system sets frequencies"),
    ignored("--delay-boot", 0, kRequired, "the machine is up"),
    ignored("--distribution", 'm', kRequired, kOneMachine),
    ignored("--extra-node-info", 'B', kRequired, kNoBinding),
    ignored("--gpu-freq", 0, kRequired, "the system sets frequencies"),
    ignored("--gres-flags", 0, kRequired, kNoBinding),
    ignored("--hint", 0, kRequired, kNoBinding),
    ignored("--ignore-pbs", 0, kNone, "lines of PBS are comments"),
    ignored("--mail-type", 0, kRequired, kNoMail),
    ignored("--mail-user", 0, kRequired, kNoMail),
    ignored("--mcs-label", 0, kRequired, "there are no such labels"),
    ignored("--mem-bind", 0, kRequired, kNoBinding),
    ignored("--network", 0, kRequired, kOneMachine),
    ignored("--nice", 0, kOptional, kOneQueue),
    ignored("--no-kill", 'k', kOptional, kOneMachine),
    ignored("--ntasks-per-core", 0, kRequired, kNoBinding),
    ignored("--ntasks-per-socket", 0, kRequired, kNoBinding),
    ignored("--overcommit", 'O', kNone, "workers get the cores that they ask for"),
    ignored("--oversubscribe", 's', kNone, "a GPU is one job's at a time; the machine is shared"),
    ignored("--parsable", 0, kNone, kAtSubmit),
    ignored("--partition", 'p', kRequired, kOneQueue),
    ignored("--power", 0, kRequired, "power is not managed"),
    ignored("--prefer", 0, kRequired, "it would be no more than a wish on one machine"),
    ignored("--priority", 0, kRequired, kOneQueue),
    ignored("--profile", 0, kRequired, "use is not sampled"),
    ignored("--propagate", 0, kOptional, "limits of the shell do not go along"),
    ignored("--qos", 'q', kRequired, kOneQueue),
    ignored("--quiet", 'Q', kNone, kAtSubmit),
    ignored("--reservation", 0, kRequired, "nothing is reserved for groups of jobs"),
    ignored("--sockets-per-node", 0, kRequired, kNoBinding),
    ignored("--spread-job", 0, kNone, kOneMachine),
    ignored("--switches", 0, kRequired, kOneMachine),
    ignored("--thread-spec", 0, kRequired, "no threads are set aside for the system"),
    ignored("--threads-per-core", 0, kRequired, kNoBinding),
    ignored("--time-min", 0, kRequired, "the limit is what --time says"),
    ignored("--use-min-nodes", 0, kNone, kOneMachine),
    ignored("--verbose", 'v', kNone, kAtSubmit),
    ignored("--wait", 'W', kNone, "give it on the command line: `trainyard submit --wait`"),
    ignored("--wait-all-nodes", 0, kRequired, kOneMachine),
    ignored("--wckey", 0, kRequired, "use is not charged to keys"),
};

constexpr std::string_view kRunItAs = "submit it as the user that it is to run as";
constexpr std::string_view kNamesMachines =
    "there is one machine here; take the line out, or ask for its name with --constraint";

constexpr std::array kRefused{
    refused("--bb", 0, kRequired, "there is no burst buffer; copy the data in the script"),
    refused("--bbf", 0, kRequired, "there is no burst buffer; copy the data in the script"),
    refused("--begin", 'b', kRequired,
            "a job starts when there is room; submit it at that time, with at or cron"),
    refused("--cluster-constraint", 0, kRequired, kNamesMachines),
    refused("--container", 0, kRequired, "start the container in the script"),
    refused("--deadline", 0, kRequired, "a job waits as long as it must; bound it with --time"),
    refused("--exclude", 'x', kRequired, kNamesMachines),
    refused("--export-file", 0, kRequired, "read the file in the script: `. FILE`"),
    refused("--get-user-env", 0, kOptional,
            "the variables of who submits go along; begin the script with #!/bin/bash -l"),
    refused("--gid", 0, kRequired, kRunItAs),
    refused(
        "--gpu-bind", 0, kRequired,
        "write --gpus-per-task where each task is to see its own GPUs only; without it, all see "
        "all of them"),
    refused("--gpus-per-socket", 0, kRequired, "ask with --gpus-per-task"),
    refused("--help", 'h', kNone, "it belongs on the command line"),
    refused("--hold", 'H', kNone, "submit it when it may start, or behind another with --after"),
    refused("--input", 'i', kRequired, "redirect it in the script: `python train.py < FILE`"),
    refused("--licenses", 'L', kRequired, "licences are not counted, so it might run without one"),
    refused("--mincpus", 0, kRequired, "ask with --cpus-per-task"),
    refused("--no-requeue", 0, kNone,
            "a job may be paused and run again; one that must not has no place here"),
    refused("--nodefile", 'F', kRequired, kNamesMachines),
    refused("--nodelist", 'w', kRequired, kNamesMachines),
    refused("--ntasks-per-gpu", 0, kRequired,
            "a GPU is one worker's; start several processes in the script"),
    refused("--reboot", 0, kNone, "the machine is not rebooted for a job"),
    refused("--test-only", 0, kNone, "it would run; `trainyard why JOB` tells when a job starts"),
    refused("--tmp", 0, kRequired, "space on disk is not counted"),
    refused("--uid", 0, kRequired, kRunItAs),
    refused("--usage", 0, kNone, "it belongs on the command line"),
    refused("--version", 'V', kNone, "it belongs on the command line"),
    refused("--wrap", 0, kRequired, "give the command after --: `trainyard submit -- COMMAND`"),
};

}  // namespace

std::span<const SbatchOption> sbatch_options() {
  static const std::vector<SbatchOption> all = [] {
    std::vector<SbatchOption> made(kTaken.begin(), kTaken.end());
    made.insert(made.end(), kIgnored.begin(), kIgnored.end());
    made.insert(made.end(), kRefused.begin(), kRefused.end());
    std::ranges::sort(made, {}, &SbatchOption::name);
    return made;
  }();
  return all;
}

const SbatchOption* find_sbatch_option(std::string_view word) {
  const bool is_letter = word.size() == 2 && word[0] == '-' && word[1] != '-';
  for (const SbatchOption& option : sbatch_options())
    if (is_letter ? option.letter != 0 && option.letter == word[1] : option.name == word)
      return &option;
  return nullptr;
}

}  // namespace trainyard
