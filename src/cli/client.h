// What the commands that ask the daemon share: where it is, how answers are printed, and what a
// person would type next.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "live/client/client.h"

namespace trainyard::cli {

/// For --help: the commands in two groups.
constexpr const char* kLiveGroup = "Commands that talk to the daemon";

struct AskOptions {
  ClientOptions client;
  [[nodiscard]] bool json() const { return client.is_exact; }
};

/// A command with --state, --server and --json.
Command& add_daemon_command(Command& parent, const std::string& name,
                            const std::string& description, const std::string& examples,
                            AskOptions& options);
/// A job's number, or a task of an array as 12_3, as its only argument.
void add_job_argument(Command& command, std::string& job);
/// Where the API has it.
std::string job_path(const std::string& job);

/// One line of JSON, to standard output.
Expected<void> print_json(const nlohmann::json& value);

/// "Next: ...", beside what the command has to say: on standard output only where a person reads
/// it. `text` begins with `trainyard`, which is printed as it can be typed.
void hint(const AskOptions& options, std::string_view text);

/// Makes events of the parts in which /v1/events comes.
class EventReader {
 public:
  std::vector<nlohmann::json> take(std::string_view part);

 private:
  std::string text_;
};

}  // namespace trainyard::cli
