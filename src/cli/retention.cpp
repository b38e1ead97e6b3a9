// trainyard retention: what ended jobs have left behind, how long it is kept, and how erasing goes
// on after it was suspended.
#include "cli/answer_text.h"
#include "cli/client.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

std::string retention_line(const char* name, const json& part) {
  const std::int64_t kept = part.at("kept"), due = part.at("due");
  if (part.at("keep_s").is_null())
    return fmt::format("{}: of {} ended jobs, kept for ever\n", name, kept);
  return fmt::format(
      "{}: of {} ended jobs, kept for {} after their end; {} due; {} erased today, {} at most\n",
      name, kept, span(part.at("keep_s")), due, part.at("erased_today").get<std::int64_t>(),
      part.at("most_a_day").get<std::int64_t>());
}

std::string retention_text(const json& retention) {
  std::string text = retention_line("output", retention.at("output")) +
                     retention_line("checkpoints", retention.at("checkpoints"));
  text += fmt::format("ages and days are counted in time that the daemon ran, {} so far\n",
                      span(retention.at("lived_s")));
  const json& why = retention.at("suspended");
  if (!why.is_null())
    text += fmt::format("ERASING IS SUSPENDED since {}: {}\n",
                        clock(retention.at("suspended_since")), why.get<std::string>());
  return text;
}

Expected<void> show_retention(const AskOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto retention = client->get("/v1/retention");
  if (!retention) return tl::make_unexpected(retention.error());
  if (options.json()) return print_json(*retention);
  if (auto ok = print(retention_text(*retention)); !ok) return ok;
  const bool is_suspended = !retention->at("suspended").is_null();
  hint(options, is_suspended ? "trainyard retention resume" : "trainyard nodes");
  return {};
}

Expected<void> resume_erasing(const AskOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  const auto done = client->post("/v1/retention/resume", nullptr);
  if (!done) return tl::make_unexpected(done.error());
  if (options.json()) return print_json(*done);
  if (auto ok = print("what is old is erased again\n"); !ok) return ok;
  hint(options, "trainyard retention");
  return {};
}

}  // namespace

void add_retention_command(Command& program) {
  const auto options = std::make_shared<AskOptions>();
  Command& command = add_daemon_command(
      program, "retention",
      "Shows how long output and checkpoints of ended jobs are kept, or lets erasing go on; for "
      "operators.",
      "trainyard retention              # the same as trainyard retention show\n"
      "trainyard retention resume",
      *options);
  command.action = [options] { return show_retention(*options); };
  Command& show = add_daemon_command(
      command, "show", "Shows what is kept, what is due, and whether erasing is suspended.",
      "trainyard retention show", *options);
  show.action = [options] { return show_retention(*options); };
  Command& go_on = add_daemon_command(
      command, "resume",
      "Lets erasing go on after the clock has jumped. Check first that the clock is right.",
      "date; trainyard retention resume", *options);
  go_on.action = [options] { return resume_erasing(*options); };
}

}  // namespace trainyard::cli
