// trainyard events: what happened to a job, when, and what it cost.
#include <ctime>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "live/book/job_words.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct EventsOptions : AskOptions {
  std::string job;
};

/// With the date, as a job may be old.
std::string time_of(const json& seconds_since_epoch) {
  const auto at = static_cast<std::time_t>(seconds_since_epoch.get<double>());
  std::tm parts{};
  char text[32];
  if (::localtime_r(&at, &parts) == nullptr) return "-";
  return {text, std::strftime(text, sizeof text, "%F %T", &parts)};
}

std::string places_of(const json& details) {
  std::string text;
  for (const json& gpu : details.value("gpus", json::array()))
    text += fmt::format("{}{}", text.empty() ? " on GPU " : ",", gpu.get<int>());
  for (const json& machine : details.value("machines", json::array()))
    text += fmt::format("{}{}", text.find(" of ") == std::string::npos ? " of " : ",",
                        machine.get<std::string>());
  return text;
}

std::string loaded(const json& details) {
  std::string text =
      fmt::format("has loaded, {} after it began", span(details.value("load_s", json())));
  if (details.contains("pause_cost_s"))
    text += fmt::format("; the pause before cost {}", span(details["pause_cost_s"]));
  return text;
}

std::string pausing(const json& details) {
  return details.contains("for") ? fmt::format("is told to leave, to make room for job {}",
                                               details["for"].get<std::int64_t>())
                                 : "is told to leave, to go on elsewhere or with another size";
}

std::string paused(const json& details) {
  std::string text = "has left";
  if (details.contains("took_s")) text += fmt::format(" after {}", span(details["took_s"]));
  if (details.contains("lost_s"))
    text += fmt::format("; it was killed, and lost {} of work", span(details["lost_s"]));
  return text;
}

/// "run 2 has loaded ..."; of what has no words of its own, its kind and the reason.
std::string words_of(const json& event) {
  const json& details = event.at("details");
  const std::string kind = event.at("kind");
  std::string text = kind;
  if (const auto happening = parse_happening(kind)) {
    if (*happening == Happening::starting) text = "is started" + places_of(details);
    if (*happening == Happening::running) text = "is running";
    if (*happening == Happening::loaded) text = loaded(details);
    if (*happening == Happening::pausing) text = pausing(details);
    if (*happening == Happening::paused) text = paused(details);
  }
  if (details.contains("run"))
    text = fmt::format("run {} {}{}", details["run"].get<std::int64_t>(), text == kind ? "is " : "",
                       text);
  for (const char* reason : {"reason", "why"})
    if (const std::string said = details.value(reason, ""); !said.empty()) text += ": " + said;
  if (details.contains("by")) text += fmt::format(" by {}", details["by"].get<std::string>());
  return text;
}

Expected<void> events(const EventsOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto answer = client->get(job_path(options.job) + "/events");
  if (!answer) return tl::make_unexpected(answer.error());
  if (options.json()) return print_json(*answer);
  std::vector<std::vector<std::string>> rows;
  for (const json& event : answer->at("events"))
    rows.push_back({time_of(event.at("at")), words_of(event)});
  if (auto ok = print(rows.empty() ? "its events are not kept any more\n" : table(rows)); !ok)
    return ok;
  hint(options, fmt::format("trainyard show {}", options.job));
  return {};
}

}  // namespace

void add_events_command(Command& program) {
  const auto options = std::make_shared<EventsOptions>();
  Command& command = add_daemon_command(
      program, "events",
      "Tells what happened to a job: when it was paused, for which job, and what that cost.",
      "trainyard events 7\ntrainyard events 7 --json", *options);
  add_job_argument(command, options->job);
  command.action = [options] { return events(*options); };
}

}  // namespace trainyard::cli
