// The parts of the daemon on this machine, put together: state directory, journal, local engine,
// yardmaster. How it is reached (HTTP) is put on top of it.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "live/engine/local/local_engine.h"
#include "live/journal/journal.h"
#include "live/loop/yardmaster.h"
#include "live/system/state_directory.h"
#include "live/system/system.h"

namespace trainyard {

struct DaemonOptions {
  std::string state;
  std::string supervisor = default_supervisor();
  std::int32_t slots = 0;  // 0: the machine's GPUs, or its cores
  SchedulingOptions scheduling;
};

class Daemon {
 public:
  /// Takes up what the state directory holds, and begins to schedule.
  static Expected<std::unique_ptr<Daemon>> start(System& system, DaemonOptions options);

  [[nodiscard]] Yardmaster& service() { return *master_; }
  [[nodiscard]] const StateDirectory& state() const { return state_; }
  [[nodiscard]] const LocalEngine& engine() const { return *engine_; }
  /// GPUs of this machine that others hold, and who: a sentence for each.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  explicit Daemon(StateDirectory state) : state_(std::move(state)) {}

  StateDirectory state_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<LocalEngine> engine_;
  std::unique_ptr<Yardmaster> master_;
  std::vector<std::string> left_out_;
};

}  // namespace trainyard
