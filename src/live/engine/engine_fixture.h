// For tests of any engine: runs are begun and stopped, and what is reported of them is waited for.
// No wait is longer than kPatience.
#pragma once

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>

#include "live/engine/engine.h"

namespace trainyard {

class EngineTest : public testing::Test {
 protected:
  using Kind = RunReport::Kind;
  static constexpr std::chrono::seconds kPatience{30};

  virtual Engine& engine() = 0;
  /// Until something may have happened; false: nothing will any more.
  virtual bool wait_a_little() = 0;

  static Identity ourselves() {
    const passwd* account = ::getpwuid(::getuid());
    return {.user = account ? account->pw_name : std::to_string(::getuid()),
            .uid = ::getuid(),
            .gid = ::getgid()};
  }

  static Launch launch(RunId id, const JobSpec& spec) {
    Launch launch{.id = id,
                  .owner = ourselves(),
                  .spec = &spec,
                  .per_worker = spec.per_worker,
                  .workers = {},
                  .task = {},
                  .born_as = {}};
    for (std::int32_t rank = 0; rank < spec.workers; ++rank)
      launch.workers.push_back({.gpus = {2 * rank + 1, 2 * rank + 2}});
    return launch;
  }

  /// Begins it and waits until its processes run.
  void start(RunId id, const JobSpec& spec) {
    begin(launch(id, spec));
    wait_for(Kind::started, id);
  }

  void begin(const Launch& launch) {
    const auto ok = engine().start(launch);
    ASSERT_TRUE(ok) << ok.error().message;
    open_.insert(launch.id);
    begun_.insert(launch.id);
  }

  RunReport run(RunId id, const JobSpec& spec) {
    begin(launch(id, spec));
    return wait_for_end(id);
  }

  /// `signal` 0: none was declared.
  void stop(RunId id, int signal, Duration grace, Duration kill_wait = seconds(30),
            bool leader_only = false) {
    const StopSignal declared{.number = signal, .leader_only = leader_only, .ahead = {}};
    const auto ok =
        engine().stop({.id = id, .signal = declared, .grace = grace, .kill_wait = kill_wait});
    ASSERT_TRUE(ok) << ok.error().message;
  }

  void adopt(RunId id) {
    const auto ok = engine().adopt(id);
    ASSERT_TRUE(ok) << ok.error().message;
  }

  /// The next report about a run of one of these kinds; earlier ones of other kinds are dropped.
  RunReport wait_for(std::initializer_list<Kind> kinds, RunId id) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    bool goes_on = true;
    do {
      for (; !waiting_.empty(); waiting_.pop_front()) {
        const RunReport report = waiting_.front();
        if (is_end(report.kind)) open_.erase(report.id);
        if (report.id != id || std::find(kinds.begin(), kinds.end(), report.kind) == kinds.end())
          continue;
        waiting_.pop_front();
        return report;
      }
      goes_on = wait_a_little();
      for (EngineReport& report : engine().poll())
        if (auto* of_run = std::get_if<RunReport>(&report)) waiting_.push_back(std::move(*of_run));
    } while ((goes_on && std::chrono::steady_clock::now() < deadline) || !waiting_.empty());
    ADD_FAILURE() << "nothing was reported of run " << id.job << "." << id.run;
    return {};
  }
  RunReport wait_for(Kind kind, RunId id) { return wait_for({kind}, id); }
  RunReport wait_for_end(RunId id) {
    return wait_for({Kind::exited, Kind::lost, Kind::refused}, id);
  }

  /// For what a job does that nobody reports.
  static bool eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      ::usleep(2000);
    }
    return true;
  }

  std::string output(RunId id, std::int32_t worker = 0) {
    const auto output = engine().output(id, worker, 0, 1 << 20);
    EXPECT_TRUE(output) << output.error().message;
    return output ? output->text : "";
  }
  bool printed(RunId id, const std::string& text, std::int32_t worker = 0) {
    return eventually([&] { return output(id, worker).find(text) != std::string::npos; });
  }

  std::deque<RunReport> waiting_;
  std::set<RunId> open_, begun_;
};

}  // namespace trainyard
