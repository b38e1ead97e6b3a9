// trainyard cancel: ends jobs for good.
#include <limits>

#include "cli/daemon.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

struct CancelOptions : AskOptions {
  std::vector<std::int64_t> jobs;
};

Expected<void> cancel(const CancelOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  for (const std::int64_t job : options.jobs)
    if (auto done = client->remove(fmt::format("/v1/jobs/{}", job)); !done)
      return fail("job {}: {}", job, done.error().message);
  if (options.json) return print_json({{"cancelled", options.jobs}});
  for (const std::int64_t job : options.jobs)
    if (auto ok = print(fmt::format("job {} is told to end\n", job)); !ok) return ok;
  hint(options, fmt::format("trainyard show {}", options.jobs.back()));
  return {};
}

}  // namespace

void add_cancel_command(Command& program) {
  const auto options = std::make_shared<CancelOptions>();
  Command& command = add_daemon_command(program, "cancel", "Ends jobs for good.",
                                        "trainyard cancel 7\ntrainyard cancel 7 8 9", *options);
  command.option("jobs", &options->jobs, "their numbers",
                 {.type = "JOB",
                  .required = true,
                  .range = Range{1, std::numeric_limits<std::int64_t>::max()}});
  command.action = [options] { return cancel(*options); };
}

}  // namespace trainyard::cli
