// trainyard cancel: ends jobs for good.
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

void add_cancel_command(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<CancelOptions>();
  CLI::App* command = add_daemon_command(app, "cancel", "Ends jobs for good.",
                                         "trainyard cancel 7\ntrainyard cancel 7 8 9", *options);
  command->add_option("jobs", options->jobs, "their numbers")
      ->required()
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()))
      ->type_name("JOB");
  command->callback([options, &chosen] { chosen = [options] { return cancel(*options); }; });
}

}  // namespace trainyard::cli
