// trainyard queue: the jobs that have not ended, or those that were asked for.
#include "cli/answer_text.h"
#include "cli/client.h"
#include "live/book/job_words.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMostListed = 1000;

struct QueueOptions : AskOptions {
  bool all = false;
  std::string user, name, state, job_class;
  std::uint64_t array = 0;
  std::uint64_t limit = 100;
};

std::string query_of(const QueueOptions& options) {
  std::string query = fmt::format("/v1/jobs?limit={}", options.limit);
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) query += fmt::format("&{}={}", key, url_encoded(value));
  };
  add("user", options.user);
  add("name", options.name);
  add("class", options.job_class);
  if (options.array > 0) query += fmt::format("&array={}", options.array);
  if (!options.json()) query += "&fold=true";
  add("state", !options.state.empty() || options.all ? options.state : unfinished_state_names(","));
  return query;
}

Expected<void> queue(const QueueOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto page = client->get(query_of(options));
  if (!page) return tl::make_unexpected(page.error());
  if (options.json()) return print_json(*page);
  const json& jobs = page->at("jobs");
  if (jobs.empty()) {
    if (auto ok = print(options.all ? "there are no jobs\n" : "no jobs are waiting or running\n");
        !ok)
      return ok;
    hint(options, "trainyard submit -- sleep 60");
    return {};
  }
  std::string text = job_table(jobs);
  if (page->at("more").get<bool>())
    text += options.limit < kMostListed ? fmt::format("... and older ones; --limit {} lists more\n",
                                                      std::min(options.limit * 10, kMostListed))
                                        : "... and older ones\n";
  if (auto ok = print(text); !ok) return ok;
  for (const json& job : jobs)
    if (job.at("state") == "queued" || job.at("state") == "held") {
      hint(options, fmt::format("trainyard why {}", job.at("job").get<std::int64_t>()));
      return {};
    }
  hint(options, fmt::format("trainyard show {}", jobs.back().at("id").get<std::string>()));
  return {};
}

}  // namespace

void add_queue_command(Command& program) {
  const auto options = std::make_shared<QueueOptions>();
  Command& command = add_daemon_command(
      program, "queue", "Lists jobs, newest first: those that have not ended.",
      "trainyard queue\ntrainyard queue --all --user ada\ntrainyard queue --state-is failed --json",
      *options);
  command.flag("--all,-a", &options->all, "also those that have ended");
  command.option("--user,-u", &options->user, "only this user's");
  command.option("--name", &options->name, "only of this name");
  command.option("--state-is", &options->state,
                 "only in these states, with commas between: held, queued, running, done ...");
  command.option("--class", &options->job_class, "only of this class",
                 {.words = {"trial", "batch"}});
  command.option("--array", &options->array, "only tasks of this array",
                 {.range = Range{1, std::numeric_limits<std::int64_t>::max()}});
  command.option("--limit", &options->limit, "so many at most", {.range = Range{1, kMostListed}});
  command.action = [options] { return queue(*options); };
}

}  // namespace trainyard::cli
