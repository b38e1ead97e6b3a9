// The program: finds the command, runs it. stderr says what went wrong, and the status which kind
// of trouble it is (kStatuses).
#include <fmt/format.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/parse.h"
#include "live/client/client.h"
#include "live/engine/slurm/libslurm.h"

namespace trainyard::cli {
namespace {

constexpr std::string_view kExamples =
    "trainyard sim --workload philly-like:jobs=20000 --policy srtf\n"
    "trainyard compare --workload jobs.csv --cluster 16x8xV100 --policy fifo,srtf,las\n"
    "trainyard reproduce fitgpp --quick\n"
    "trainyard workload info philly-like:jobs=10000 --cluster 16x8xV100\n"
    "trainyard policies tiresias\n"
    "trainyard submit --gpus 2 --time 4h train.sh\n"
    "trainyard COMMAND --help";

constexpr std::string_view kStatuses =
    "Exit status:\n"
    "  0  done\n"
    "  1  Trainyard itself failed; verify and backup: the journal is damaged\n"
    "  2  the command line or the input is wrong\n"
    "  3  sim, compare, whatif: jobs have not finished at the end\n"
    "  4  the daemon refused: not allowed, or not in this state\n"
    "  5  there is no such job or machine\n"
    "  6  no daemon answers\n"
    "submit --wait ends with the status of the job.";

int status_of(Trouble trouble) {
  switch (trouble) {
    case Trouble::refused:
      return 4;
    case Trouble::not_found:
      return 5;
    case Trouble::no_daemon:
      return 6;
    case Trouble::none:
    case Trouble::invalid:
      return 2;
  }
  return 2;
}

int fail_with(int status, std::string_view message) {
  std::cerr << "trainyard: " << message << '\n';
  return status;
}

/// With what it can steer.
std::string version() {
  const std::string slurm = libslurm_version();
  return "trainyard " TRAINYARD_VERSION "\n" +
         (slurm.empty() ? "without Slurm (libslurm was not there when it was built)"
                        : fmt::format("with Slurm (libslurm {})", slurm));
}

void add_live_commands(Command& program) {
  add_submit_command(program);
  add_serve_command(program);
  add_queue_command(program);
  add_show_command(program);
  add_why_command(program);
  add_forecast_command(program);
  add_events_command(program);
  add_logs_command(program);
  add_cancel_command(program);
  add_nodes_command(program);
  add_watch_command(program);
  add_close_command(program);
  add_open_command(program);
  add_policy_command(program);
  add_retention_command(program);
  add_whatif_command(program);
  add_demo_command(program);
  add_audit_command(program);
  add_token_command(program);
  add_backup_command(program);
  add_verify_command(program);
  add_restore_command(program);
  add_slurm_command(program);
  add_flow_agent_command(program);
}

int run(int argc, char** argv) {
  Command program("trainyard",
                  "Trainyard schedules deep-learning jobs on GPU clusters, and rehearses it first.",
                  kExamples);
  program.notes = kStatuses;
  program.option("--version", Version{version()}, "Display program version information and exit");
  add_sim_command(program);
  add_compare_command(program);
  add_bound_command(program);
  add_reproduce_command(program);
  add_policies_command(program);
  add_models_command(program);
  add_workload_command(program);
  add_completion_command(program);
  add_man_command(program);
  add_live_commands(program);
  const auto given = parse(program, argc, argv);
  if (!given) return fail_with(2, given.error().message);
  if (*given == nullptr) return 0;
  try {
    const Expected<void> done = (*given)->action();
    return done ? 0 : fail_with(status_of(last_trouble()), done.error().message);
  } catch (const ExitWith& exit) {
    return exit.status;
  }
}

}  // namespace
}  // namespace trainyard::cli

int main(int argc, char** argv) {
  try {
    return trainyard::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return trainyard::cli::fail_with(1, "out of memory");
  } catch (const std::exception& error) {
    return trainyard::cli::fail_with(1, fmt::format("internal failure: {}", error.what()));
  }
}
