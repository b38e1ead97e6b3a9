// The commands, one file each. To add one: define add_x_command in x.cpp (cli/command.h shows how),
// declare it below, call it in main.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/command.h"

namespace trainyard::cli {

/// Thrown by an action that has done its work and ends with a status of its own: that of a job it
/// waited for, or kJobsUnfinished.
struct ExitWith {
  int status = 0;
};

/// The status of a command whose simulation ended before all jobs did.
constexpr int kJobsUnfinished = 3;
/// The status of `verify` and `backup` when they have found something wrong in the journal.
constexpr int kJournalDamaged = 1;

void add_sim_command(Command& program);
void add_compare_command(Command& program);
void add_bound_command(Command& program);
void add_reproduce_command(Command& program);
void add_policies_command(Command& program);
void add_models_command(Command& program);
void add_workload_command(Command& program);
void add_completion_command(Command& program);
void add_man_command(Command& program);

// Those that talk to the daemon (cli/client.h).
void add_submit_command(Command& program);
void add_serve_command(Command& program);
void add_queue_command(Command& program);
void add_show_command(Command& program);
void add_why_command(Command& program);
void add_forecast_command(Command& program);
void add_events_command(Command& program);
void add_logs_command(Command& program);
void add_cancel_command(Command& program);
void add_nodes_command(Command& program);
void add_watch_command(Command& program);
void add_close_command(Command& program);
void add_open_command(Command& program);
void add_policy_command(Command& program);
void add_retention_command(Command& program);
void add_whatif_command(Command& program);
void add_demo_command(Command& program);
void add_audit_command(Command& program);
void add_token_command(Command& program);
// In backup.cpp: they work on the state folder itself, with or without a daemon.
void add_backup_command(Command& program);
void add_verify_command(Command& program);
void add_restore_command(Command& program);
void add_slurm_command(Command& program);
void add_flow_agent_command(Command& program);

/// In single quotes, for a POSIX shell.
std::string shell_quoted(std::string_view text);

/// What to type for this program in any folder: "trainyard" where PATH finds it, else its whole
/// path, quoted for a shell.
std::string program_to_type();

/// To the file, whole or not at all, or to standard output for "-".
Expected<void> write_output(const std::string& path, std::string_view text);

/// To standard output, which may be a full disk.
Expected<void> print(std::string_view text);

}  // namespace trainyard::cli
