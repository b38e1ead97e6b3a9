// trainyard man: manual pages, written from the same descriptions as --help.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>

#include "cli/commands.h"

namespace trainyard::cli {
namespace {

/// As roff takes text: a hyphen that can be copied, a backslash, and no line that is a request.
std::string roff(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    at_start = c == '\n';
    if (c == '-')
      escaped += "\\-";
    else if (c == '\\')
      escaped += "\\e";
    else
      escaped += c;
  }
  return escaped;
}

/// "trainyard-workload-info", its page's name.
std::string page_name(const Command& command) {
  std::string name = command.path;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string synopsis(const Command& command) {
  std::string text = fmt::format("\\fB{}\\fR", roff(command.path));
  const auto is_argument = [](const Option& option) { return option.is_argument(); };
  if (!std::ranges::all_of(command.options, is_argument)) text += " [\\fIOPTION\\fR...]";
  for (const Option& option : command.options)
    if (option.is_argument()) {
      const std::string name = fmt::format("\\fI{}\\fR", roff(upper(option.names.front())));
      text += option.takes.required ? " " + name : " [" + name + "]";
    }
  if (!command.commands.empty()) text += command.action ? " [\\fICOMMAND\\fR]" : " \\fICOMMAND\\fR";
  if (command.rest) text += " [\\fISCRIPT\\fR [\\fIARGUMENT\\fR...] | \\-\\- \\fICOMMAND\\fR...]";
  return text;
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

/// What an option takes, in words.
std::string bounds(const Takes& takes) {
  std::string text;
  if (!takes.words.empty()) text += fmt::format(" One of {}.", fmt::join(takes.words, ", "));
  if (takes.range) text += fmt::format(" From {} to {}.", takes.range->low, takes.range->high);
  if (!takes.needs.empty()) text += fmt::format(" Needs {}.", takes.needs);
  if (!takes.initial.empty()) text += fmt::format(" Else: {}.", takes.initial);
  return text;
}

std::string entry(const Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(fmt::format("\\fB{}\\fR", roff(option.is_argument() ? upper(name) : name)));
  const bool has_value = option.takes_value() && !option.is_argument();
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "),
                     has_value ? fmt::format(" \\fI{}\\fR", roff(option.takes.type)) : "",
                     roff(sentence(option.help) + bounds(option.takes)));
}

std::string page(const Command& command) {
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"trainyard {}\" \"Trainyard\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
      upper(roff(page_name(command))), TRAINYARD_VERSION, roff(page_name(command)),
      roff(command.description), synopsis(command));
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const Command& below : command.commands)
    text += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(below)), roff(below.description));
  text += ".SH OPTIONS\n";
  for (const Option& option : command.options) text += entry(option);
  text += ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : command.examples) text += roff(line) + "\n";
  text += ".fi\n";
  if (!command.notes.empty()) text += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.notes));
  if (const std::size_t below = command.path.rfind(' '); below != std::string::npos) {
    std::string above = command.path.substr(0, below);
    std::ranges::replace(above, ' ', '-');
    text += fmt::format(".SH SEE ALSO\n.BR {} (1)\n", roff(above));
  }
  return text;
}

Expected<void> write_pages(const Command& program, const std::string& directory) {
  std::vector<const Command*> left{&program};
  while (!left.empty()) {
    const Command& command = *left.back();
    left.pop_back();
    for (const Command& below : command.commands) left.push_back(&below);
    const std::string path = fmt::format("{}/{}.1", directory, page_name(command));
    if (auto ok = write_output(path, page(command)); !ok) return ok;
  }
  return {};
}

Expected<void> print_page(const Command& program, const std::vector<std::string>& words) {
  const Command* command = &program;
  for (const std::string& word : words) {
    const auto below = std::ranges::find(command->commands, word, &Command::name);
    if (below == command->commands.end()) {
      std::vector<std::string> known;
      for (const Command& other : command->commands) known.push_back(other.name());
      return fail("man: {} has no command {}{}", command->path, trainyard::quoted(word),
                  did_you_mean(word, known));
    }
    command = &*below;
  }
  return print(page(*command));
}

}  // namespace

void add_man_command(Command& program) {
  struct Options {
    std::vector<std::string> words;
    std::string directory;
  };
  const auto options = std::make_shared<Options>();
  Command& command =
      program.add("man", "Prints a manual page, or writes all of them into a folder.",
                  "trainyard man submit | man -l -\n"
                  "trainyard man --directory ~/.local/share/man/man1");
  command.option("command", &options->words, "whose page; the program's own where none is given");
  command.option("--directory", &options->directory, "write every page as a file into this folder",
                 {.type = "DIR"});
  command.action = [options, &program] {
    return options->directory.empty() ? print_page(program, options->words)
                                      : write_pages(program, options->directory);
  };
}

}  // namespace trainyard::cli
