// The local engine as `trainyard serve` has it: with the GPUs of this machine that no other daemon
// holds, or with stand-ins.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "live/engine/engine.h"
#include "live/engine/local/launch.h"
#include "live/system/system.h"

namespace trainyard {

struct ThisMachine {
  std::string state;  // directory
  std::string supervisor = default_supervisor();
  std::int32_t slots = 0;  // 0: the machine's GPUs, or its cores
  bool is_private = false;
};

Expected<std::unique_ptr<Engine>> open_engine_on(System& system, ThisMachine machine);

}  // namespace trainyard
