#include "cli/commands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <sstream>

#include "base/atomic_file.h"

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

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [low, high](const std::string& text) -> std::string {
        std::uint64_t number = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool whole = status == std::errc{} && end == text.data() + text.size();
        if (whole && number >= low && number <= high) return {};
        return fmt::format("{} must be a whole number from {} to {}", trainyard::quoted(text), low,
                           high);
      },
      "");
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

Expected<void> write_output(const std::string& path, std::string_view text) {
  if (path == "-") return print(text);
  return write_file_atomically(path, [&](std::ostream& out) { out << text; });
}

Expected<void> print(std::string_view text) {
  std::cout << text << std::flush;
  if (!std::cout) return fail("standard output cannot be written; is the disk full?");
  return {};
}

}  // namespace trainyard::cli
