#include "cli/commands.h"

#include <fmt/ranges.h>

#include <iostream>
#include <sstream>

namespace trainyard::cli {

CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& description,
                      const std::string& examples) {
  CLI::App* command = parent.add_subcommand(name, description);
  std::string footer = "Examples:";
  std::istringstream lines(examples);
  for (std::string line; std::getline(lines, line);) footer += "\n  " + line;
  command->footer(footer);
  return command;
}

CLI::Validator one_of(std::vector<std::string> words) {
  std::string listed = fmt::format("{{{}}}", fmt::join(words, ","));
  return CLI::Validator(
      [words = std::move(words)](const std::string& word) -> std::string {
        if (std::ranges::find(words, word) != words.end()) return {};
        return fmt::format("{} is not known{} (known: {})", trainyard::quoted(word),
                           did_you_mean(word, words), fmt::join(words, ", "));
      },
      std::move(listed));
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

Expected<void> print(std::string_view text) {
  std::cout << text << std::flush;
  if (!std::cout) return fail("standard output cannot be written; is the disk full?");
  return {};
}

}  // namespace trainyard::cli
