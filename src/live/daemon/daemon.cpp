#include "live/daemon/daemon.h"

#include <unistd.h>

#include "live/system/elsewhere.h"

namespace trainyard {

Expected<std::unique_ptr<Daemon>> Daemon::start(System& system, DaemonOptions options,
                                                const EngineFactory& open_engine) {
  auto state = StateDirectory::take(options.state);
  if (!state) return tl::make_unexpected(state.error());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(*state)));
  options.scheduling.reserve = daemon->state_.path();
  options.scheduling.disk = options.disk.of(system.disk(daemon->state_.path()).size);
  DiskReserve(system, options.scheduling.reserve).give_for_start();

  for (const auto& [name, target] :
       {std::pair{"/runs", options.runs}, std::pair{"/checkpoints", options.checkpoints}})
    if (auto ok = keep_elsewhere(daemon->state_.path() + name, target); !ok)
      return tl::make_unexpected(ok.error());
  auto engine = open_engine(system, daemon->state_);
  if (!engine) return tl::make_unexpected(engine.error());
  daemon->engine_ = std::move(*engine);
  daemon->about_engine_ = daemon->engine_->describe();

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
