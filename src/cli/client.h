// What the commands that talk to the daemon share: where it is, how answers are printed, and what a
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
  bool json = false;
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
/// it. The program is `trainyard` in `text`, and printed as it can be typed.
void hint(const AskOptions& options, std::string_view text);

/// Makes events of the parts in which /v1/events comes.
class EventReader {
 public:
  std::vector<nlohmann::json> take(std::string_view part);

 private:
  std::string text_;
};

// A job as the API tells it, for people.

/// A state, as it stands behind "job 3": "is running", "has failed", "was cancelled".
std::string in_words(std::string_view state);

/// Text of a job or of its user with nothing in it that a terminal would act on: control
/// characters, also those of U+0080 to U+009F, become '?'.
std::string printable(std::string_view text);
/// "2m 10s ago" and the like; "-" for null.
std::string ago(const nlohmann::json& seconds_since_epoch);
/// Seconds as "1h 30m"; "-" for null.
std::string span(const nlohmann::json& seconds);
/// "Tue 17 Nov 14:05", here.
std::string clock(const nlohmann::json& seconds_since_epoch);
/// "in about 2h10m".
std::string from_now(const nlohmann::json& seconds_since_epoch);
/// "r0m0:0,1 r0m1:0" or "-".
std::string places(const nlohmann::json& job);
std::int64_t gpus_of(const nlohmann::json& job);
/// Columns as wide as they need be; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);
/// Jobs as `queue` and `watch` list them.
std::string job_table(const nlohmann::json& jobs);
/// Machines as `nodes` and `watch` list them.
std::string machine_table(const nlohmann::json& cluster);

}  // namespace trainyard::cli
