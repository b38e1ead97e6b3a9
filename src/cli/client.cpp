#include "cli/client.h"

#include <unistd.h>

#include <iostream>

#include "cli/terminal.h"

namespace trainyard::cli {

using nlohmann::json;

Command& add_daemon_command(Command& parent, const std::string& name,
                            const std::string& description, const std::string& examples,
                            AskOptions& options) {
  Command& command = parent.add(name, description, examples);
  command.group = kLiveGroup;
  command.option("--state", &options.client.state,
                 "the daemon's state folder; else TRAINYARD_STATE, else the system's daemon "
                 "(/var/lib/trainyard), else your own",
                 {.type = "DIR"});
  command.option("--server", &options.client.server,
                 "a daemon elsewhere, with the token in TRAINYARD_TOKEN", {.type = "URL"});
  command.flag("--json", &options.client.is_exact, "print the answer as JSON");
  return command;
}

void add_job_argument(Command& command, std::string& job) {
  command.option("job", &job, "its number; a task of an array as 12_3",
                 {.type = "JOB", .required = true});
}

std::string job_path(const std::string& job) {
  return "/v1/jobs/" + url_encoded(job);
}

Expected<void> print_json(const json& value) {
  // The same value either way: on a terminal every character beyond ASCII is an escape.
  const bool is_shown = ::isatty(STDOUT_FILENO) != 0;
  return print(value.dump(-1, ' ', is_shown, json::error_handler_t::replace) + "\n");
}

void hint(const AskOptions& options, std::string_view text) {
  constexpr std::string_view kProgram = "trainyard ";
  std::string line(text);
  // Only in front: a policy has the same name.
  if (line.starts_with(kProgram)) line.replace(0, kProgram.size(), program_to_type() + " ");
  const bool is_read = !options.json() && ::isatty(STDOUT_FILENO) != 0;
  if (is_read)
    std::cout << coloured("Next:", Colour::faint) << ' ' << line << '\n' << std::flush;
  else
    std::cerr << "Next: " << line << '\n';
}

std::vector<json> EventReader::take(std::string_view part) {
  std::vector<json> events;
  text_ += part;
  for (std::size_t end = 0; (end = text_.find('\n')) != std::string::npos;) {
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    if (!line.starts_with("data:")) continue;
    json event = json::parse(line.substr(5), nullptr, false);
    if (event.is_object()) events.push_back(std::move(event));
  }
  return events;
}

}  // namespace trainyard::cli
