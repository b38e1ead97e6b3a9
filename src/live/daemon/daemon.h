// The parts of the daemon, put together: state directory, journal, engine, yardmaster. Which engine
// it is the caller chooses. How the daemon is reached (HTTP) is put on top of it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "live/engine/engine.h"
#include "live/journal/journal.h"
#include "live/loop/yardmaster.h"
#include "live/system/disk_limit.h"
#include "live/system/state_directory.h"
#include "live/system/system.h"

namespace trainyard {

struct DaemonOptions {
  std::string state;
  std::string runs, checkpoints;  // folders on other file systems (elsewhere.h); empty: as before
  SchedulingOptions scheduling;
  DiskLimit disk{.percent = 50};  // of the state directory's file system, for users
};

/// Opens the engine of the daemon whose state directory this is. It is called once that directory
/// is ours alone.
using EngineFactory =
    std::function<Expected<std::unique_ptr<Engine>>(System& system, const StateDirectory& state)>;

class Daemon {
 public:
  /// Takes up what the state directory holds, and begins to schedule.
  static Expected<std::unique_ptr<Daemon>> start(System& system, DaemonOptions options,
                                                 const EngineFactory& open_engine);

  [[nodiscard]] Yardmaster& service() { return *master_; }
  [[nodiscard]] const StateDirectory& state() const { return state_; }
  /// What the engine says that it is (Engine::describe).
  [[nodiscard]] const std::string& about_engine() const { return about_engine_; }

 private:
  explicit Daemon(StateDirectory state) : state_(std::move(state)) {}

  StateDirectory state_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Engine> engine_;
  std::string about_engine_;
  std::unique_ptr<Yardmaster> master_;
};

}  // namespace trainyard
