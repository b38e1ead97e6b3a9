// trainyard slurm release: gives the jobs of a partition back to Slurm's own scheduler.
#include "cli/client.h"
#include "cli/commands.h"
#include "live/client/client.h"
#include "live/engine/slurm/libslurm.h"
#include "live/engine/slurm/on_slurm.h"
#include "live/system/state_directory.h"

namespace trainyard::cli {
namespace {

struct ReleaseOptions {
  std::string state, partition;
};

/// A daemon that runs would hold them again: it has to end first, and none may begin meanwhile.
Expected<void> release(const ReleaseOptions& options) {
  if (options.partition.empty()) return fail("--partition: which one is to be given back?");
  const auto path = options.state.empty() ? default_state_directory() : options.state;
  if (!path) return tl::make_unexpected(path.error());
  const auto state = StateDirectory::take(*path);
  if (!state)
    return fail("{}\nEnd the daemon first: it would hold the jobs again", state.error().message);
  auto slurm = open_libslurm(options.partition);
  if (!slurm) return tl::make_unexpected(slurm.error());
  const auto released = release_jobs(**slurm, options.partition);
  if (!released) return tl::make_unexpected(released.error());
  for (const std::string& id : *released)
    if (auto ok = print(fmt::format("job {} is Slurm's to schedule\n", id)); !ok) return ok;
  return print(
      fmt::format("{} jobs of partition {} were given back; what runs runs on. New jobs are held "
                  "until the lines "
                  "of `trainyard slurm setup` are taken out of slurm.conf.\n",
                  released->size(), options.partition));
}

}  // namespace

void add_slurm_release_command(Command& slurm) {
  auto options = std::make_shared<ReleaseOptions>();
  Command& command =
      slurm.add("release", "Gives the jobs of a partition back to Slurm's own scheduler.",
                "trainyard slurm release --partition train");
  command.option("--partition", &options->partition, "the partition", {.type = "NAME"});
  command.option("--state", &options->state, "the state folder of the daemon that had it",
                 {.type = "DIR"});
  command.action = [options] { return release(*options); };
}

}  // namespace trainyard::cli
