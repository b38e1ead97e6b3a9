// The commands, one file each. To add one: define add_x_command in x.cpp, declare it below, call it
// in main.cpp. It describes its options to CLI11 and, when the command is the one given, sets
// `chosen` to what it does:
//
//   void add_hello_command(CLI::App& app, Action& chosen) {
//     auto options = std::make_shared<HelloOptions>();
//     CLI::App* command = add_command(app, "hello", "Greets.", "trainyard hello --name Ada");
//     command->add_option("--name", options->name, "whom");
//     command->callback([options, &chosen] { chosen = [options] { return hello(*options); }; });
//   }
//
// An action that fails returns what is wrong: main prints it and ends with status 2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace trainyard::cli {

using Action = std::function<Expected<void>()>;

/// Thrown by an action that has done its work and ends with a status that is not its own: that of a
/// job it waited for.
struct ExitWith {
  int status = 0;
};

void add_sim_command(CLI::App& app, Action& chosen);
void add_compare_command(CLI::App& app, Action& chosen);
void add_reproduce_command(CLI::App& app, Action& chosen);
void add_policies_command(CLI::App& app, Action& chosen);
void add_models_command(CLI::App& app, Action& chosen);
void add_workload_command(CLI::App& app, Action& chosen);
void add_completion_command(CLI::App& app, Action& chosen);

// Those that talk to the daemon (cli/daemon.h).
/// `after`: what stood behind "--" on the command line, which is the job's own.
void add_submit_command(CLI::App& app, Action& chosen, const std::vector<std::string>& after);
void add_serve_command(CLI::App& app, Action& chosen);
void add_queue_command(CLI::App& app, Action& chosen);
void add_show_command(CLI::App& app, Action& chosen);
void add_why_command(CLI::App& app, Action& chosen);
void add_logs_command(CLI::App& app, Action& chosen);
void add_cancel_command(CLI::App& app, Action& chosen);
void add_nodes_command(CLI::App& app, Action& chosen);
void add_watch_command(CLI::App& app, Action& chosen);
void add_drain_command(CLI::App& app, Action& chosen);
void add_resume_command(CLI::App& app, Action& chosen);
void add_policy_command(CLI::App& app, Action& chosen);
void add_whatif_command(CLI::App& app, Action& chosen);
void add_demo_command(CLI::App& app, Action& chosen);
void add_token_command(CLI::App& app, Action& chosen);

/// A subcommand whose help ends with examples, given as lines.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& examples);

/// Allows only these words, and suggests the nearest. Completion offers them.
CLI::Validator one_of(std::vector<std::string> words);

/// Allows only whole numbers of this range. CLI11 by itself would make 2^64 - 1 of a -1.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);

/// "trainyard workload info" for a command two below the program.
std::string path_of(const CLI::App& command);

/// To the file, whole or not at all, or to standard output for "-".
Expected<void> write_output(const std::string& path, std::string_view text);

/// To standard output, which may be a full disk.
Expected<void> print(std::string_view text);

}  // namespace trainyard::cli
