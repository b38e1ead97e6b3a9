#include "live/daemon/daemon.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include "live/engine/local/machine.h"

namespace trainyard {

Expected<std::unique_ptr<Daemon>> Daemon::start(System& system, DaemonOptions options) {
  auto state = StateDirectory::take(options.state);
  if (!state) return tl::make_unexpected(state.error());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(*state)));

  const auto gpus = find_gpus().value_or(std::vector<Gpu>());
  const bool stands_in = options.slots != 0 || gpus.empty();
  auto claims = stands_in ? GpuClaims() : GpuClaims::take(gpus, daemon->state_.path());
  daemon->left_out_ = claims.left_out();
  if (!stands_in && claims.ours().empty())
    return fail(
        "every GPU of this machine is taken: {}; use that daemon, or give --slots N to try "
        "with stand-ins",
        fmt::join(claims.left_out(), "; "));
  auto machine = this_machine(claims.ours(), options.slots);
  if (!machine) return tl::make_unexpected(machine.error());
  auto engine = LocalEngine::open(system,
                                  {.state = daemon->state_.path(),
                                   .supervisor = std::move(options.supervisor),
                                   .claims = std::move(claims),
                                   .hides_gpus = stands_in && !gpus.empty()},
                                  std::move(*machine));
  if (!engine) return tl::make_unexpected(engine.error());
  daemon->engine_ = std::move(*engine);

  auto journal = Journal::open(system, daemon->state_.journal());
  if (!journal) return tl::make_unexpected(journal.error());
  daemon->journal_ = std::move(*journal);

  if (::geteuid() != 0) options.scheduling.only_uid = ::geteuid();
  auto master = Yardmaster::start(system, *daemon->journal_, *daemon->engine_, options.scheduling);
  if (!master) return tl::make_unexpected(master.error());
  daemon->master_ = std::move(*master);
  return daemon;
}

}  // namespace trainyard
