// trainyard cancel: ends jobs for good.
#include <limits>

#include "cli/daemon.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct CancelOptions : AskOptions {
  std::vector<std::string> jobs;  // by name
};

Expected<void> cancel(const CancelOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  for (const std::string& job : options.jobs)
    if (auto done = client->remove(job_path(job)); !done)
      return fail("job {}: {}", job, done.error().message);
  if (options.json) return print_json({{"cancelled", options.jobs}});
  for (const std::string& job : options.jobs)
    if (auto ok = print(fmt::format("job {} is told to end\n", job)); !ok) return ok;
  hint(options, "trainyard queue");
  return {};
}

}  // namespace

void add_cancel_command(Command& program) {
  const auto options = std::make_shared<CancelOptions>();
  Command& command = add_daemon_command(
      program, "cancel", "Ends jobs for good.",
      "trainyard cancel 7\ntrainyard cancel 7 8 9\ntrainyard cancel 12 13_4 '14_[3-5]'", *options);
  command.option("jobs", &options->jobs, "numbers; tasks of an array as 12_3 or 12_[3-5]",
                 {.type = "JOB", .required = true});
  command.action = [options] { return cancel(*options); };
}

}  // namespace trainyard::cli
