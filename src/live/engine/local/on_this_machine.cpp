#include "live/engine/local/on_this_machine.h"

#include <fmt/ranges.h>

#include "live/engine/local/local_engine.h"
#include "live/engine/local/machine.h"

namespace trainyard {

Expected<std::unique_ptr<Engine>> open_engine_on(System& system, ThisMachine machine) {
  const auto gpus = find_gpus().value_or(std::vector<Gpu>());
  const bool stands_in = machine.slots != 0 || gpus.empty();
  auto claims = stands_in ? Expected<GpuClaims>(GpuClaims()) : GpuClaims::take(gpus, machine.state);
  if (!claims) return tl::make_unexpected(claims.error());
  if (!stands_in && claims->ours().empty())
    return fail(
        "every GPU of this machine is taken: {}; use that daemon, or give --slots N to try "
        "with stand-ins",
        fmt::join(claims->left_out(), "; "));
  for (const std::string& gpu : claims->left_out())
    system.log().write(LogLevel::warning, gpu + "; it is left out");
  for (const std::string& gpu : claims->shared())
    system.log().write(LogLevel::warning,
                       gpu +
                           "; root's daemon takes it all the same, and what that process runs "
                           "there may share it with jobs");
  auto cluster = this_machine(claims->ours(), machine.slots);
  if (!cluster) return tl::make_unexpected(cluster.error());
  return LocalEngine::open(system,
                           {.state = std::move(machine.state),
                            .supervisor = std::move(machine.supervisor),
                            .claims = std::move(*claims),
                            .has_slots = machine.slots != 0,
                            .hides_gpus = stands_in && !gpus.empty(),
                            .is_private = machine.is_private},
                           std::move(*cluster));
}

}  // namespace trainyard
