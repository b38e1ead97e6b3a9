// For tests of the local engine: real processes, under a state directory of the test's own.
// Whatever a test does, nothing of it is left when it ends, and no wait is longer than kPatience.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "live/engine/local/local_engine.h"
#include "live/engine/local/machine.h"
#include "live/supervisor/environment.h"
#include "live/system/process_tree.h"

namespace trainyard {

class LocalEngineTest : public testing::Test {
 protected:
  using Kind = RunReport::Kind;
  static constexpr std::chrono::seconds kPatience{30};

  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "trainyard-engine-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    ::chmod(name.c_str(), 0711);
    root_ = name;
    state_ = root_ + "/state";
    reopen();
  }

  void TearDown() override {
    if (engine_ == nullptr) reopen();
    for (const RunId id : open_) stop(id, 0, {});
    while (!open_.empty() && !HasFatalFailure()) {
      const RunId next = *open_.begin();
      wait_for_end(next);
      open_.erase(next);
    }
    for (const RunId id : begun_) EXPECT_EQ(left_of(id), 0U) << id.job << "." << id.run;
    engine_.reset();
    std::error_code none;
    std::filesystem::remove_all(root_, none);
  }

  /// As the daemon after a restart.
  void reopen() {
    engine_.reset();
    waiting_.clear();
    auto engine = LocalEngine::open(system_, options(), *this_machine({}, 8));
    ASSERT_TRUE(engine) << engine.error().message;
    engine_ = std::move(*engine);
  }

  [[nodiscard]] virtual LocalEngineOptions options() const {
    return {.state = state_, .supervisor = supervisor_program()};
  }

  static std::string supervisor_program() {
    if (const char* given = std::getenv("TRAINYARD_SUPERVISOR")) return given;
    const std::filesystem::path beside = default_supervisor();
    if (std::filesystem::exists(beside)) return beside;
    return beside.parent_path().parent_path() / beside.filename();
  }

  static JobSpec shell(const std::string& text) {
    JobSpec spec;
    spec.name = "test";
    spec.command = {"/bin/sh", "-c", text};
    return spec;
  }

  static Identity ourselves() {
    const passwd* account = ::getpwuid(::getuid());
    return {.user = account ? account->pw_name : std::to_string(::getuid()),
            .uid = ::getuid(),
            .gid = ::getgid()};
  }

  Launch launch(RunId id, const JobSpec& spec) {
    Launch launch{.id = id,
                  .owner = ourselves(),
                  .spec = &spec,
                  .per_worker = spec.per_worker,
                  .workers = {},
                  .task = {}};
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
    const auto ok = engine_->start(launch);
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
        engine_->stop({.id = id, .signal = declared, .grace = grace, .kill_wait = kill_wait});
    ASSERT_TRUE(ok) << ok.error().message;
  }

  /// The next report about a run of one of these kinds; earlier ones of other kinds are dropped.
  RunReport wait_for(std::initializer_list<Kind> kinds, RunId id) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    do {
      for (; !waiting_.empty(); waiting_.pop_front()) {
        const RunReport report = waiting_.front();
        const bool is_end = report.kind == Kind::exited || report.kind == Kind::lost ||
                            report.kind == Kind::refused;
        if (is_end) open_.erase(report.id);
        if (report.id != id || std::find(kinds.begin(), kinds.end(), report.kind) == kinds.end())
          continue;
        waiting_.pop_front();
        return report;
      }
      pollfd ready{.fd = engine_->descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, 100);
      for (RunReport& report : engine_->poll()) waiting_.push_back(std::move(report));
    } while (std::chrono::steady_clock::now() < deadline || !waiting_.empty());
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
    const auto output = engine_->output(id, worker, 0, 1 << 20);
    EXPECT_TRUE(output) << output.error().message;
    return output ? output->text : "";
  }
  bool printed(RunId id, const std::string& text, std::int32_t worker = 0) {
    return eventually([&] { return output(id, worker).find(text) != std::string::npos; });
  }

  std::size_t left_of(RunId id) const {
    return processes_with_environment(marks_of_run(state_, id.job, id.run)).size();
  }
  [[nodiscard]] std::string directory(RunId id) const {
    return run_directory(state_, id.job, id.run);
  }

  RealSystem system_;
  std::string root_, state_;
  std::unique_ptr<LocalEngine> engine_;
  std::deque<RunReport> waiting_;
  std::set<RunId> open_, begun_;
};

/// Everything must hold with control groups and without.
class LocalEngineBothWays : public LocalEngineTest, public testing::WithParamInterface<bool> {
 protected:
  [[nodiscard]] LocalEngineOptions options() const override {
    return {.state = state_, .supervisor = supervisor_program(), .use_cgroups = GetParam()};
  }
};

inline std::string way_name(const testing::TestParamInfo<bool>& way) {
  return way.param ? "Cgroups" : "NoCgroups";
}

}  // namespace trainyard
