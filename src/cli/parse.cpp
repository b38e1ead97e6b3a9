#include "cli/parse.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

namespace trainyard::cli {
namespace {

/// Refuses other words, and suggests the nearest.
CLI::Validator one_of(const std::vector<std::string>& words) {
  return CLI::Validator(
      [words](const std::string& word) -> std::string {
        if (std::ranges::find(words, word) != words.end()) return {};
        return fmt::format("{} is not known{} (known: {})", trainyard::quoted(word),
                           did_you_mean(word, words), fmt::join(words, ", "));
      },
      fmt::format("{{{}}}", fmt::join(words, ",")));
}

/// As of a variable that was not set, and never what somebody meant.
CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& word) {
        return std::string(word.empty() ? "the value is empty; leave the option out, or give one"
                                        : "");
      },
      "");
}

/// CLI11 by itself would make 2^64 - 1 of a -1.
CLI::Validator whole_number(Range range) {
  return CLI::Validator(
      [range](const std::string& text) -> std::string {
        std::uint64_t number = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool whole = status == std::errc{} && end == text.data() + text.size();
        if (whole && number >= range.low && number <= range.high) return {};
        return fmt::format("{} must be a whole number from {} to {}", trainyard::quoted(text),
                           range.low, range.high);
      },
      "");
}

/// The option as CLI11 has it, by the type of its variable.
struct Adder {
  CLI::App& app;
  std::string names;
  const std::string& help;

  CLI::Option* operator()(const Help&) const { return app.set_help_flag(names, help); }
  CLI::Option* operator()(const Version& version) const {
    return app.set_version_flag(names, version.text, help);
  }
  CLI::Option* operator()(bool* variable) const { return app.add_flag(names, *variable, help); }
  template <class T>
  CLI::Option* operator()(T* variable) const {
    return app.add_option(names, *variable, help);
  }
};

void add_option(const Option& option, CLI::App& app) {
  const Takes& takes = option.takes;
  CLI::Option* added = std::visit(
      Adder{app, fmt::format("{}", fmt::join(option.names, ",")), option.help}, option.variable);
  if (!option.takes_value()) return;
  added->type_name(takes.type)->required(takes.required)->default_str(takes.initial);
  added->check(not_empty());
  if (!takes.words.empty()) added->check(one_of(takes.words));
  if (takes.range) added->check(whole_number(*takes.range));
  if (takes.separator) added->delimiter(*takes.separator);
  if (!takes.needs.empty()) added->needs(app.get_option(takes.needs));
}

void describe(const Command& command, CLI::App& app) {
  app.description(command.description);
  app.footer(fmt::format("Examples:\n  {}{}{}", fmt::join(command.examples, "\n  "),
                         command.notes.empty() ? "" : "\n\n", command.notes));
  if (!command.group.empty()) app.group(command.group);
  for (const Option& option : command.options) add_option(option, app);
  if (command.rest) app.prefix_command();
  if (!command.commands.empty()) app.require_subcommand(command.action ? 0 : 1, 1);
  for (const Command& below : command.commands) describe(below, *app.add_subcommand(below.name()));
}

/// A command that was given, as CLI11 has it and as we do.
struct Given {
  const CLI::App* app;
  Command* command;
};

/// The innermost one.
Given find_given(const CLI::App& app, Command& program) {
  Given given{&app, &program};
  while (!given.app->get_subcommands().empty()) {
    given.app = given.app->get_subcommands().back();
    given.command = &*std::ranges::find(given.command->commands, given.app->get_name(),
                                        [](const Command& command) { return command.name(); });
  }
  return given;
}

std::vector<std::string> names_of_options(const Command& command) {
  std::vector<std::string> names;
  for (const Option& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

/// ", did you mean 'close'?": by its letters, or because it has that name in Slurm. A command that
/// begins with the word is nearer than one that is an edit away; of words of up to 5 letters, one
/// that is two edits away is not near.
std::string suggestion(const std::string& word, const std::vector<std::string>& commands) {
  constexpr std::pair<std::string_view, std::string_view> kInSlurm[] = {
      {"sbatch", "submit"}, {"squeue", "queue"}, {"scancel", "cancel"},
      {"sinfo", "nodes"},   {"drain", "close"},  {"resume", "open"}};
  for (const auto& [theirs, ours] : kInSlurm)
    if (word == theirs && std::ranges::find(commands, ours) != commands.end())
      return fmt::format(", did you mean {}?", trainyard::quoted(ours));
  std::vector<std::string> near;
  for (const std::string& command : commands)
    if (word.size() >= 3 && command.starts_with(word)) near.push_back(command);
  for (const std::string& command : commands)
    if (near.empty() && edit_distance(word, command) <= (word.size() < 6 ? 1 : 2))
      near.push_back(command);
  return near.size() == 1 ? fmt::format(", did you mean {}?", trainyard::quoted(near.front()))
                          : did_you_mean(word, near);
}

/// What is wrong with the command line, in one line.
std::string complaint(const CLI::App& app, const Command& command, const CLI::ParseError& error) {
  std::vector<std::string> commands;
  for (const Command& below : command.commands) commands.push_back(below.name());
  if (const auto unknown = app.remaining(true); !unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    const bool is_option = word.starts_with('-');
    const auto known = is_option ? names_of_options(command) : commands;
    const char* what = is_option ? "option" : known.empty() ? "argument" : "command";
    return fmt::format("unknown {} {}{}", what, trainyard::quoted(word), suggestion(word, known));
  }
  if (!commands.empty()) return fmt::format("which command? One of {}", fmt::join(commands, ", "));
  return error.what();
}

std::string explain(const CLI::App& app, Command& program, const CLI::ParseError& error) {
  const Command& command = *find_given(app, program).command;
  const std::string below =
      command.path.substr(std::min(command.path.size(), program.path.size() + 1));
  return fmt::format("{}{}{} (see {} --help)", below, below.empty() ? "" : ": ",
                     complaint(app, command, error), command.path);
}

/// How many words are read as options: those behind "--" are not, where they are a command of the
/// user's own.
int own_words(const Command& program, int argc, char** argv) {
  const auto has_rest = [&](const Command& command) {
    return command.rest && argc > 1 && command.name() == argv[1];
  };
  if (std::ranges::none_of(program.commands, has_rest)) return argc;
  return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

}  // namespace

Expected<const Command*> parse(Command& program, int argc, char** argv) {
  CLI::App app("", program.name());
  describe(program, app);
  const int own = own_words(program, argc, argv);
  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return fail("{}", explain(app, program, error));
    app.exit(error);  // prints the help or the version
    return nullptr;
  }
  const Given given = find_given(app, program);
  given.command->is_bare = given.app->count_all() == 1;  // itself
  for (Option& option : given.command->options)
    option.is_given = given.app->count(option.names.front()) > 0;
  if (given.command->rest) {
    *given.command->rest->words = given.app->remaining();
    given.command->rest->command->assign(argv + std::min(own + 1, argc), argv + argc);
  }
  return given.command;
}

}  // namespace trainyard::cli
