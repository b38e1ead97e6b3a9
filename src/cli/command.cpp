#include "cli/command.h"

#include <algorithm>

namespace trainyard::cli {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

struct TypeName {
  std::string operator()(const Help&) const { return ""; }
  std::string operator()(const Version&) const { return ""; }
  std::string operator()(const bool*) const { return ""; }
  std::string operator()(const std::string*) const { return "TEXT"; }
  std::string operator()(const std::vector<std::string>*) const { return "TEXT"; }
  std::string operator()(const std::uint64_t*) const { return "UINT"; }
  std::string operator()(const std::optional<std::size_t>*) const { return "UINT"; }
  std::string operator()(const int*) const { return "INT"; }
  std::string operator()(const std::int64_t*) const { return "INT"; }
  std::string operator()(const std::vector<std::int64_t>*) const { return "INT"; }
};

}  // namespace

std::vector<std::string> Option::known_words() const {
  const std::string_view type = takes.type;
  if (!takes.words.empty() || !type.starts_with('{') || !type.ends_with('}')) return takes.words;
  return split(type.substr(1, type.size() - 2), ',');
}

Command::Command(std::string whole_path, std::string about, std::string_view lines)
    : path(std::move(whole_path)), description(std::move(about)), examples(split(lines, '\n')) {
  option("-h,--help", Help{}, "Print this help message and exit");
}

Command& Command::add(std::string_view word, std::string about, std::string_view lines) {
  return commands.emplace_back(path + " " + std::string(word), std::move(about), lines);
}

void Command::option(std::string_view listed, Variable variable, std::string help, Takes takes) {
  if (takes.type.empty()) takes.type = std::visit(TypeName{}, variable);
  options.push_back(
      {split(listed, ','), std::move(variable), std::move(help), std::move(takes), false});
}

void Command::flag(std::string_view listed, bool* variable, std::string help) {
  option(listed, variable, std::move(help));
}

}  // namespace trainyard::cli
