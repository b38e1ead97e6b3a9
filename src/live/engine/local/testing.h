// For tests of the local engine: real processes, under a state directory of the test's own.
// Whatever a test does, nothing of it is left when it ends.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "live/engine/engine_fixture.h"
#include "live/engine/local/local_engine.h"
#include "live/engine/local/machine.h"
#include "live/supervisor/environment.h"
#include "live/system/process_tree.h"

namespace trainyard {

class LocalEngineTest : public EngineTest {
 protected:
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

  Engine& engine() override { return *engine_; }
  bool wait_a_little() override {
    pollfd ready{.fd = engine_->descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, 100);
    return true;
  }

  std::size_t left_of(RunId id) const {
    return processes_with({::geteuid(), marks_of_run(directory(id), id.job, id.run)}).size();
  }
  [[nodiscard]] std::string directory(RunId id) const {
    return (*RunPlaces::open(state_))->run(id);
  }
  /// Of our own jobs.
  [[nodiscard]] std::string checkpoints(JobNumber job) const {
    return fmt::format("{}/checkpoints/u{}/jobs/{}", state_, ::geteuid(), job);
  }

  RealSystem system_;
  std::string root_, state_;
  std::unique_ptr<LocalEngine> engine_;
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
