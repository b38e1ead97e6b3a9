// A command, described once: the parser (cli/parse.h), --help and completion all read this. Each
// option is bound to a variable, which holds what was given when the action runs:
//
//   void add_hello_command(Command& program) {
//     const auto options = std::make_shared<HelloOptions>();
//     Command& command = program.add("hello", "Greets.", "trainyard hello --name Ada");
//     command.option("--name,-n", &options->name, "whom", {.type = "PERSON", .required = true});
//     command.flag("--loud", &options->loud, "so that all hear it");
//     command.action = [options] { return hello(*options); };
//   }
//
// An action that fails returns what is wrong: main prints it and ends with 2, or with the status
// that tells why the daemon did not do it (main.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace trainyard::cli {

struct Help {};
struct Version {
  std::string text;
};

/// Where the value of an option goes. A vector takes the option several times.
using Variable = std::variant<Help, Version, bool*, std::string*, int*, std::int64_t*,
                              std::uint64_t*, std::optional<std::size_t>*,
                              std::vector<std::string>*, std::vector<std::int64_t>*>;

struct Range {
  std::uint64_t low = 0, high = 0;
};

/// Which values an option takes.
struct Takes {
  std::string type = {};                // as --help calls the value; else after the variable's type
  bool required = false;                // the command cannot run without it
  std::string initial = {};             // what --help shows as the value where none is given
  std::vector<std::string> words = {};  // only these; the nearest is suggested
  std::optional<Range> range = {};      // only whole numbers from low to high
  std::optional<char> separator = {};   // stands between values in one word
  std::string needs = {};               // the option without which it means nothing
};

struct Option {
  std::vector<std::string> names;  // "--user" and "-u"; "job", without dashes, for an argument
  Variable variable;
  std::string help;
  Takes takes;
  bool is_given = false;  // on the command line; the parser sets it

  [[nodiscard]] bool is_argument() const { return !names.front().starts_with('-'); }
  /// Flags, --help and --version take none.
  [[nodiscard]] bool takes_value() const { return !takes.type.empty(); }
  /// What completion offers: the allowed words, or those of a type like {trial,batch}.
  [[nodiscard]] std::vector<std::string> known_words() const;
};

/// What a command takes behind its options: the first word that is none of them, and all after it,
/// is `words`; what stands behind "--" is `command`.
struct Rest {
  std::vector<std::string>* words = nullptr;
  std::vector<std::string>* command = nullptr;
};

struct Command {
  /// `lines` are the examples.
  Command(std::string path, std::string description, std::string_view lines);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// A command below this one: "info" below "trainyard workload".
  Command& add(std::string_view word, std::string about, std::string_view lines);
  /// "--name,-n" is an option, "name" an argument.
  void option(std::string_view listed, Variable variable, std::string help, Takes takes = {});
  void flag(std::string_view listed, bool* variable, std::string help);

  [[nodiscard]] std::string name() const { return path.substr(path.rfind(' ') + 1); }

  std::string path;  // "trainyard workload info"
  std::string description;
  std::string group = {};  // the heading under which --help lists it
  std::vector<std::string> examples;
  std::string notes = {};  // more that --help tells, below the examples
  std::vector<Option> options;
  std::optional<Rest> rest = {};
  std::list<Command> commands;  // one of which must be given, unless there is an action too
  std::function<Expected<void>()> action;
  bool is_bare = false;  // it was given without any option or argument; the parser sets it
};

}  // namespace trainyard::cli
