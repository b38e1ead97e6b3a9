// trainyard forecast: when jobs are expected to start and end, and how good such forecasts were.
#include <cmath>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct ForecastOptions : AskOptions {
  std::string job, policy;
  std::vector<std::string> settings, without;
  bool record = false;
};

bool is_supposed(const ForecastOptions& options) {
  return !options.policy.empty() || !options.without.empty();
}

/// "made 3s ago with 32 draws under trainyard": by which it can be judged.
std::string made(const json& forecast) {
  return fmt::format("made {} with {} draws under {}", ago(forecast.at("made_at")),
                     forecast.at("draws").get<std::size_t>(),
                     forecast.at("policy").get<std::string>());
}

std::string table_of(const json& forecast) {
  std::vector<std::vector<std::string>> rows{{"JOB", "STARTS", "ENDS"}};
  for (const json& job : forecast.at("jobs")) {
    const std::string start =
        job.at("waits").get<bool>() ? expected(job.at("start")) : "has started";
    rows.push_back({std::to_string(job.at("job").get<std::int64_t>()),
                    start.empty() ? "not within two days" : start, expected(job.at("end"))});
  }
  return table(rows);
}

std::string record_of(const json& forecast) {
  std::vector<std::vector<std::string>> rows{
      {"EXPECTED WITHIN", "PROMISES", "STARTED WITHIN THE BAND", "MEDIAN ERROR"}};
  for (const json& row : forecast.at("record")) {
    const auto promises = row.at("promises").get<double>();
    rows.push_back(
        {span(row.at("within_s")), fmt::format("{:.0f}", promises),
         promises > 0 ? fmt::format("{:.0f}%", 100 * row.at("held").get<double>() / promises) : "-",
         promises > 0 ? span(std::round(row.at("median_error_s").get<double>())) : "-"});
  }
  return table(rows) +
         "each is what a job was promised when it came; four in five should be within the band\n";
}

Expected<json> ask(const ForecastOptions& options, Client& client) {
  if (!is_supposed(options)) {
    return client.get(options.job.empty() ? "/v1/forecast"
                                          : "/v1/forecast?job=" + url_encoded(options.job));
  }
  json question = json::object();
  if (!options.policy.empty()) question["policy"] = options.policy;
  if (!options.settings.empty()) question["settings"] = options.settings;
  if (!options.without.empty()) question["without"] = options.without;
  return client.post("/v1/forecast", question);
}

Expected<void> forecast(const ForecastOptions& options) {
  if (!options.job.empty() && is_supposed(options))
    return fail("--policy and --without are for all jobs: leave out {}", options.job);
  if (options.record && (!options.job.empty() || is_supposed(options)))
    return fail("--record is of all promises so far: it goes with nothing else");
  if (!options.settings.empty() && options.policy.empty())
    return fail("--set is for --policy: name one");
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto answer = ask(options, *client);
  if (!answer) return tl::make_unexpected(answer.error());
  if (options.json()) return print_json(*answer);
  if (options.record) return print(record_of(*answer));
  const bool is_empty = answer->at("jobs").empty();
  const char* nothing = options.job.empty()
                            ? "no jobs are waiting or running\n"
                            : "nothing is expected of that job: it is held, has ended, or came "
                              "after the forecast was made\n";
  if (auto ok = print((is_empty ? nothing : table_of(*answer)) + made(*answer) + "\n"); !ok)
    return ok;
  hint(options, "trainyard forecast --record");
  return {};
}

}  // namespace

void add_forecast_command(Command& program) {
  const auto options = std::make_shared<ForecastOptions>();
  Command& command = add_daemon_command(
      program, "forecast",
      "Tells when jobs are expected to start and end: the middle, and a band in which four in five "
      "should be.",
      "trainyard forecast\ntrainyard forecast 7\ntrainyard forecast --record\n"
      "trainyard forecast --policy fifo-easy          # what if\n"
      "trainyard forecast --without r2m3",
      *options);
  command.option("job", &options->job, "its number; a task of an array as 12_3; else all",
                 {.type = "JOB"});
  command.flag("--record", &options->record, "how good the promises of the past were");
  command.option("--policy", &options->policy, "as if this policy decided from now on",
                 {.type = "POLICY"});
  add_set_option(command, options->settings);
  command.option("--without", &options->without,
                 "as if these machines took no more jobs, with commas between",
                 {.type = "MACHINE,...", .separator = ','});
  command.action = [options] { return forecast(*options); };
}

}  // namespace trainyard::cli
