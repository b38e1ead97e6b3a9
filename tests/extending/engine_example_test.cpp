// The engine of docs/extending.md, handed to a daemon that runs a job on it to its end. In src/ the
// first part would be live/engine/dry_run/dry_run_engine.h.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <set>
#include <utility>

#include "live/daemon/daemon.h"
#include "live/engine/engine.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

/// Starts nothing: a run ends as soon as it begins, `false` with status 1 and all else with 0. It
/// keeps nothing over a restart of the daemon, so what was to run then is lost, and run again.
class DryRunEngine final : public Engine {
 public:
  explicit DryRunEngine(System& system) : system_(system) {}
  ~DryRunEngine() override { ::close(wake_); }

  [[nodiscard]] const Cluster& cluster() const override { return cluster_; }

  Expected<void> start(const Launch& launch) override {
    const auto [job, run] = launch.id;
    if (!begun_.insert(launch.id).second)
      return fail("run {} of job {} was begun before", run, job);
    report(RunReport::Kind::started, launch.id);
    const bool fails = launch.spec->command == std::vector<std::string>{"false"};
    report(RunReport::Kind::exited, launch.id, fails ? 1 : 0);
    return {};
  }
  Expected<void> stop(const Stop& /*stop*/) override { return {}; }  // every run has ended
  Expected<void> adopt(RunId id) override {
    if (begun_.insert(id).second) report(RunReport::Kind::lost, id);
    return {};
  }
  void forget(RunId /*id*/) override {}
  Expected<void> erase_output(JobNumber /*job*/, std::uint32_t /*runs*/) override { return {}; }
  Expected<void> erase_checkpoints(JobNumber /*job*/) override { return {}; }

  [[nodiscard]] int descriptor() const override { return wake_; }
  [[nodiscard]] std::vector<EngineReport> poll() override {
    eventfd_t count = 0;
    (void)::eventfd_read(wake_, &count);
    return std::exchange(reports_, {});
  }
  [[nodiscard]] Expected<Output> output(RunId /*id*/, std::int32_t /*worker*/, std::uint64_t offset,
                                        std::size_t /*limit*/) const override {
    return Output{offset, ""};  // nothing was run, so nothing was printed
  }

 private:
  void report(RunReport::Kind kind, RunId id, int exit_status = 0) {
    RunReport made;
    made.kind = kind, made.id = id, made.exit_status = exit_status;
    made.at = system_.wall_clock();
    reports_.emplace_back(std::move(made));
    (void)::eventfd_write(wake_, 1);
  }

  System& system_;
  Cluster cluster_ = *parse_cluster_shorthand("2x8xV100");
  int wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::set<RunId> begun_;
  std::vector<EngineReport> reports_;
};

Expected<std::unique_ptr<Engine>> open_dry_run(System& system, const StateDirectory& /*state*/) {
  return std::make_unique<DryRunEngine>(system);
}

// --- Its test ------------------------------------------------------------------------------------

const Identity kSomeone{"someone", ::geteuid(), ::getegid(), Role::user};

JobSpec job_of(const std::string& command) {
  JobSpec spec;
  spec.command = {command};
  spec.workers = 2;
  spec.per_worker.gpus = 8;
  return spec;
}

TEST(EngineExample, ADaemonThatIsHandedItRunsJobsToTheirEnd) {
  const TemporaryDirectory directory;
  HandSystem system;
  DaemonOptions options;
  options.state = directory.path() + "/state";
  options.scheduling.policy = {"fifo", {}};
  const auto daemon = Daemon::start(system, options, open_dry_run);
  ASSERT_TRUE(daemon) << daemon.error().message;
  Service& service = (*daemon)->service();
  for (const auto& [command, end] : {std::pair{"true", "done"}, std::pair{"false", "failed"}}) {
    const auto job = service.submit(kSomeone, job_of(command));
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_TRUE(eventually([&, wanted = end] {
      return state_name(service.job(kSomeone, job->number)->phase()) == wanted;
    })) << command;
  }
}

TEST(EngineExample, ARunIsBegunOnceAndHasOneEnd) {
  HandSystem system;
  DryRunEngine engine(system);
  const JobSpec spec = job_of("true");
  Launch launch;
  launch.id = {1, 1}, launch.spec = &spec;
  EXPECT_TRUE(engine.start(launch));
  EXPECT_EQ(engine.poll().size(), 2U) << "it started, and ended";
  EXPECT_EQ(engine.start(launch).error().message, "run 1 of job 1 was begun before");
  EXPECT_TRUE(engine.adopt({7, 1})) << "of which it knows nothing";
  const std::vector<EngineReport> reports = engine.poll();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(std::get<RunReport>(reports.front()).kind, RunReport::Kind::lost);
  launch.id = {7, 1};
  EXPECT_FALSE(engine.start(launch)) << "what is lost never starts";
}

}  // namespace
}  // namespace trainyard
