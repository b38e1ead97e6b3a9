// For tests of the Slurm engine: one on a Slurm in memory (scripted_slurm.h), both by a clock that
// the test moves, and no threads.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "live/engine/slurm/dry_run.h"
#include "live/engine/slurm/scripted_slurm.h"
#include "live/engine/slurm/slurm_engine.h"
#include "live/system/system.h"

namespace trainyard {

class HandClock : public RealSystem {
 public:
  [[nodiscard]] Time wall_clock() const override { return now; }
  [[nodiscard]] Time steady_clock() const override { return now; }
  Time now = Time{} + days(20'000);
};

class SlurmBench {
 public:
  explicit SlurmBench(std::int32_t nodes = 4, std::int32_t gpus = 4) : slurm(clock, nodes, gpus) {
    reopen();
  }

  /// What a restart of the daemon is.
  void reopen(bool is_dry = false) {
    engine.reset();
    SlurmEngineOptions options;
    options.has_thread = false;
    options.runs.partition = "train";
    options.runs.daemon = "1a2b3c4d";
    options.runs.takes_unheld = is_dry;
    auto connection = slurm.connect();
    if (is_dry) connection = std::make_unique<DryRun>(clock, std::move(connection));
    auto opened = SlurmEngine::open(clock, std::move(connection), options);
    ASSERT_TRUE(opened) << opened.error().message;
    engine = *std::move(opened);
  }

  /// What is reported in this time, looked at five times a second.
  std::vector<EngineReport> pass(Duration time) {
    std::vector<EngineReport> all;
    for (const Time until = clock.now + time; clock.now < until;) {
      clock.now = clock.now + microseconds(200'000);
      for (EngineReport& report : engine->poll()) all.push_back(std::move(report));
    }
    return all;
  }

  HandClock clock;
  ScriptedSlurm slurm;
  std::unique_ptr<SlurmEngine> engine;
};

}  // namespace trainyard
