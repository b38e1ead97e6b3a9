// The program: finds the command, runs it. Status 0: done; 2: the input or the command line is
// wrong, and stderr says how; 1: Trainyard itself failed. submit --wait: the job's.
#include <fmt/ranges.h>

#include <iostream>

#include "cli/commands.h"

namespace trainyard::cli {
namespace {

/// The innermost command that was given.
const CLI::App& given_command(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : given_command(*given.back());
}

std::vector<std::string> known_words(const CLI::App& command, bool options) {
  std::vector<std::string> words;
  if (options) {
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  } else {
    for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
      words.push_back(sub->get_name());
  }
  return words;
}

/// What is wrong with the command line, in one line.
std::string complaint(const CLI::App& app, const CLI::App& command, const CLI::ParseError& error) {
  const auto subcommands = known_words(command, false);
  if (const auto unknown = app.remaining(true); !unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    const bool is_option = word.starts_with('-');
    const auto known = is_option ? known_words(command, true) : subcommands;
    const char* what = is_option ? "option" : known.empty() ? "argument" : "command";
    return fmt::format("unknown {} {}{}", what, trainyard::quoted(word), did_you_mean(word, known));
  }
  if (!subcommands.empty())
    return fmt::format("which command? One of {}", fmt::join(subcommands, ", "));
  return error.what();
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = given_command(app);
  const std::string path = path_of(command);
  const std::string below = path.substr(std::min(path.size(), app.get_name().size() + 1));
  return fmt::format("{}{}{} (see {} --help)", below, below.empty() ? "" : ": ",
                     complaint(app, command, error), path);
}

void describe_program(CLI::App& app) {
  app.description(
      "Trainyard schedules deep-learning jobs on GPU clusters, and rehearses it first.");
  app.set_version_flag("--version", "trainyard " TRAINYARD_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  trainyard sim --workload philly-like:jobs=20000 --policy srtf\n"
      "  trainyard compare --workload jobs.csv --cluster 16x8xV100 --policy fifo,srtf,las\n"
      "  trainyard reproduce fitgpp --quick\n"
      "  trainyard workload info philly-like:jobs=10000 --cluster 16x8xV100\n"
      "  trainyard policies tiresias\n"
      "  trainyard submit --gpus 2 --time 4h train.sh\n"
      "  trainyard COMMAND --help");
}

int fail_with(int status, std::string_view message) {
  std::cerr << "trainyard: " << message << '\n';
  return status;
}

void add_live_commands(CLI::App& app, Action& chosen, const std::vector<std::string>& after) {
  add_submit_command(app, chosen, after);
  add_serve_command(app, chosen);
  add_queue_command(app, chosen);
  add_show_command(app, chosen);
  add_why_command(app, chosen);
  add_logs_command(app, chosen);
  add_cancel_command(app, chosen);
  add_nodes_command(app, chosen);
  add_watch_command(app, chosen);
  add_drain_command(app, chosen);
  add_resume_command(app, chosen);
  add_policy_command(app, chosen);
  add_whatif_command(app, chosen);
  add_demo_command(app, chosen);
  add_token_command(app, chosen);
}

/// How many arguments stand before what `submit` gives to the job: all, without "--".
int own_arguments(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "submit") return argc;
  int own = 2;
  while (own < argc && std::string_view(argv[own]) != "--") ++own;
  return own;
}

int run(int argc, char** argv) {
  CLI::App app("", "trainyard");
  Action chosen;
  describe_program(app);
  const int own = own_arguments(argc, argv);
  const std::vector<std::string> after(argv + std::min(own + 1, argc), argv + argc);
  add_sim_command(app, chosen);
  add_compare_command(app, chosen);
  add_reproduce_command(app, chosen);
  add_policies_command(app, chosen);
  add_models_command(app, chosen);
  add_workload_command(app, chosen);
  add_completion_command(app, chosen);
  add_live_commands(app, chosen, after);
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help or --version
    return fail_with(2, explain(app, error));
  }
  try {
    const Expected<void> done = chosen();
    return done ? 0 : fail_with(2, done.error().message);
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
