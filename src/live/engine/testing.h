// For the tests of live/: an engine whose runs begin and end when the test says so.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "live/engine/engine.h"

namespace trainyard {

/// Starts nothing. What it was told is there to be looked at, and it reports what the test says.
class HandEngine : public Engine {
 public:
  explicit HandEngine(const std::string& cluster) : cluster_(*parse_cluster_shorthand(cluster)) {}
  ~HandEngine() override { ::close(wake_); }

  [[nodiscard]] const Cluster& cluster() const override { return cluster_; }
  Expected<void> start(const Launch& launch) override {
    const std::lock_guard lock(mutex_);
    if (!refusal_.empty()) return fail("{}", refusal_);
    log_.push_back(fmt::format("start {}.{}", launch.id.job, launch.id.run));
    launches_[launch.id] = launch;
    launches_[launch.id].spec = nullptr;
    commands_[launch.id] = launch.spec->command;
    return {};
  }
  Expected<void> stop(const Stop& stop) override {
    {
      const std::lock_guard lock(mutex_);
      stops_.insert_or_assign(stop.id, stop);
    }
    return write("stop", stop.id);
  }
  Expected<void> adopt(RunId id) override { return write("adopt", id); }
  void forget(RunId id) override { (void)write("forget", id); }
  Expected<void> erase_output(JobNumber job, std::uint32_t runs) override {
    return write("erase output", {job, runs});
  }
  Expected<void> erase_checkpoints(JobNumber job) override {
    return write("erase checkpoints", {job, 0});
  }
  [[nodiscard]] int descriptor() const override { return wake_; }
  [[nodiscard]] std::vector<EngineReport> poll() override {
    std::uint64_t count = 0;
    (void)!::read(wake_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return std::exchange(reports_, {});
  }
  [[nodiscard]] Expected<Output> output(RunId id, std::int32_t worker, std::uint64_t offset,
                                        std::size_t) const override {
    const std::string text = fmt::format("output of {}.{} worker {}", id.job, id.run, worker);
    return Output{offset, offset < text.size() ? text.substr(offset) : ""};
  }

  void report(EngineReport report) {
    {
      const std::lock_guard lock(mutex_);
      reports_.push_back(std::move(report));
    }
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
  }
  void report(RunReport::Kind kind, RunId id, int exit_status = 0) {
    RunReport made;
    made.kind = kind, made.id = id, made.exit_status = exit_status;
    made.at = Time::never();  // just now, whatever the test's clock says
    report(std::move(made));
  }
  /// "start 1.1", "stop 1.1" ... in the order in which they were told.
  [[nodiscard]] std::vector<std::string> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  /// The same, which is forgotten then.
  [[nodiscard]] std::vector<std::string> take_log() {
    const std::lock_guard lock(mutex_);
    return std::exchange(log_, {});
  }
  [[nodiscard]] bool was_told(const std::string& line) const {
    const std::vector<std::string> lines = log();
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
  [[nodiscard]] Launch launch(RunId id) const {
    const std::lock_guard lock(mutex_);
    return launches_.at(id);
  }
  [[nodiscard]] std::vector<std::string> command(RunId id) const {
    const std::lock_guard lock(mutex_);
    return commands_.at(id);
  }
  /// The last order to stop it.
  [[nodiscard]] Stop last_stop(RunId id) const {
    const std::lock_guard lock(mutex_);
    return stops_.at(id);
  }
  void refuse_starts(const std::string& why) {
    const std::lock_guard lock(mutex_);
    refusal_ = why;
  }

 private:
  Expected<void> write(const char* what, RunId id) {
    const std::lock_guard lock(mutex_);
    log_.push_back(fmt::format("{} {}.{}", what, id.job, id.run));
    return {};
  }

  Cluster cluster_;
  int wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  mutable std::mutex mutex_;
  std::vector<std::string> log_;
  std::map<RunId, Launch> launches_;
  std::map<RunId, std::vector<std::string>> commands_;
  std::map<RunId, Stop> stops_;
  std::vector<EngineReport> reports_;
  std::string refusal_;
};

}  // namespace trainyard
