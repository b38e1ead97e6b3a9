// trainyard cancel: ends jobs for good.
#include <limits>

#include "cli/client.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct CancelOptions : AskOptions {
  std::vector<std::string> jobs;  // by name
};

Expected<void> cancel(const CancelOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  std::vector<std::string> cancelled;
  std::string refusals;
  for (const std::string& job : options.jobs) {
    if (const auto done = client->remove(job_path(job)))
      cancelled.push_back(job);
    else
      refusals += (refusals.empty() ? "" : "; ") + done.error().message;
  }
  std::string text;
  for (const std::string& job : cancelled)
    text += fmt::format("job {} has been told to end\n", job);
  if (auto ok = options.json() ? print_json({{"cancelled", cancelled}}) : print(text); !ok)
    return ok;
  if (!refusals.empty()) return fail("{}", refusals);
  hint(options, "trainyard queue");
  return {};
}

}  // namespace

void add_cancel_command(Command& program) {
  const auto options = std::make_shared<CancelOptions>();
  Command& command = add_daemon_command(
      program, "cancel", "Ends jobs for good; fails if one has ended already.",
      "trainyard cancel 7\ntrainyard cancel 7 8 9\ntrainyard cancel 12 13_4 '14_[3-5]'", *options);
  command.option("jobs", &options->jobs, "numbers; tasks of an array as 12_3 or 12_[3-5]",
                 {.type = "JOB", .required = true});
  command.action = [options] { return cancel(*options); };
}

}  // namespace trainyard::cli
