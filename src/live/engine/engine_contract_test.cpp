// What every engine must do (engine.h), tried on each: the local one with real processes; the same
// with simulated ones, the one in memory and that of Slurm (on a Slurm in memory) by a clock that
// the test moves.
#include <gmock/gmock.h>

#include <csignal>

#include "live/engine/local/simulated_host.h"
#include "live/engine/local/supervisor_link.h"
#include "live/engine/local/testing.h"
#include "live/engine/memory/memory_engine.h"
#include "live/engine/slurm/testing.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

/// The script as a program for the shell.
std::string as_shell(const MemoryScript& script) {
  const auto seconds_of = [](Duration time) { return fmt::format("{}", time.seconds()); };
  std::string text = "trap '' TERM USR1; ";
  if (script.leaves_after)
    text = fmt::format("trap 'sleep {}; exit {}' TERM USR1; ", seconds_of(*script.leaves_after),
                       script.exit_when_told);
  if (script.asks_requeue) text += ": > $TRAINYARD_REQUEUE_FILE; ";
  if (script.tells)
    text += fmt::format("echo '{{\"step\": {}}}' > $TRAINYARD_REPORT; ", script.tells->step);
  text += fmt::format("printf '%s' '{}'; ", script.output);
  return text + (script.runs_for ? fmt::format("sleep {}; exit {}", seconds_of(*script.runs_for),
                                               script.exit_status)
                                 : "while :; do sleep 0.02; done");
}

class OnThisMachine : public LocalEngineTest {
 public:
  /// It keeps output, hears what jobs tell, sees which signal ended them, and stops them alone.
  static constexpr bool kStaysWithItsJobs = true;

 protected:
  JobSpec job_that(JobNumber /*job*/, const MemoryScript& script) {
    if (!script.refused.empty()) return no_such_program();
    return shell(as_shell(script));
  }
  void wait_for_output(RunId id, const std::string& text) { ASSERT_TRUE(printed(id, text)); }
  /// While no engine is there.
  void wait_until_it_has_ended(RunId id) {
    engine_.reset();
    ASSERT_TRUE(eventually([&] { return read_end(directory(id)).has_value(); }));
  }
  void wait_until_erased() { engine_->finish_erasing(); }

 private:
  static JobSpec no_such_program() {
    JobSpec spec = shell("");
    spec.command = {"no-such-command-of-anybody"};
    return spec;
  }
};

class ClockOfTheTest : public RealSystem {
 public:
  [[nodiscard]] Time wall_clock() const override { return now; }
  Time now = Time{} + days(20'000);
};

class InMemory : public EngineTest {
 public:
  static constexpr bool kStaysWithItsJobs = true;

 protected:
  void SetUp() override { reopen(); }
  void TearDown() override { EXPECT_THAT(world_.faults(), testing::IsEmpty()); }

  void reopen() {
    engine_.reset();
    waiting_.clear();
    engine_ = std::make_unique<MemoryEngine>(system_, world_);
  }
  JobSpec job_that(JobNumber job, const MemoryScript& script) {
    world_.set_script(job, script);
    return {};
  }
  Engine& engine() override { return *engine_; }
  bool wait_a_little() override {
    const Time next = world_.next();
    if (next != Time::never()) system_.now = std::max(system_.now, next);
    return next != Time::never();
  }
  std::size_t left_of(RunId id) { return world_.living(id); }
  void wait_for_output(RunId id, const std::string& text) { EXPECT_EQ(output(id), text); }
  void wait_until_it_has_ended(RunId id) {
    engine_.reset();
    while (left_of(id) > 0 && wait_a_little()) continue;
  }
  void wait_until_erased() {}

  ClockOfTheTest system_;
  MemoryWorld world_{system_, *parse_cluster_shorthand("1x8xV100")};
  std::unique_ptr<MemoryEngine> engine_;
};

/// The local engine as it is, with simulated supervisors.
class OnSimulatedMachine : public EngineTest {
 public:
  static constexpr bool kStaysWithItsJobs = true;

 protected:
  struct Clock : ClockOfTheTest {
    [[nodiscard]] Time steady_clock() const override { return now; }
    [[nodiscard]] bool has_threads() const override { return false; }
  };

  void SetUp() override { reopen(); }
  void TearDown() override { EXPECT_THAT(world_.faults(), testing::IsEmpty()); }

  void reopen() {
    engine_.reset();
    waiting_.clear();
    auto host = std::make_unique<SimulatedHost>(system_, world_);
    host_ = host.get();
    LocalEngineOptions options{.state = root_.path() + "/state", .use_cgroups = false};
    options.host = std::move(host);
    auto engine =
        LocalEngine::open(system_, std::move(options), *parse_cluster_shorthand("1x8xV100"));
    ASSERT_TRUE(engine) << engine.error().message;
    engine_ = std::move(*engine);
  }
  JobSpec job_that(JobNumber job, const MemoryScript& script) {
    world_.set_script(job, script);
    return {};
  }
  Engine& engine() override { return *engine_; }
  bool wait_a_little() override {
    const Time next = engine_ ? host_->next() : world_.next();
    if (next != Time::never()) system_.now = std::max(system_.now, next);
    return next != Time::never();
  }
  std::size_t left_of(RunId id) { return world_.living(id); }
  void wait_for_output(RunId id, const std::string& text) { EXPECT_EQ(output(id), text); }
  void wait_until_it_has_ended(RunId id) {
    engine_.reset();
    while (left_of(id) > 0 && wait_a_little()) continue;
  }
  void wait_until_erased() {}

  Clock system_;
  TemporaryDirectory root_;
  SimulatedWorld world_{system_};
  SimulatedHost* host_ = nullptr;
  std::unique_ptr<LocalEngine> engine_;
};

/// Jobs are with Slurm, which tells how they ended and little else.
class OnSlurm8 : public EngineTest, protected SlurmBench {
 public:
  static constexpr bool kStaysWithItsJobs = false;

 protected:
  OnSlurm8() : SlurmBench(1, 8) {}
  void TearDown() override { EXPECT_THAT(slurm.faults(), testing::IsEmpty()); }

  void reopen() {
    waiting_.clear();
    SlurmBench::reopen();
  }
  JobSpec job_that(JobNumber job, const MemoryScript& script) {
    slurm.set_script(job, script);
    said_[job] = script.output;
    JobSpec spec;
    spec.command = {"train"};
    return spec;
  }
  Engine& engine() override { return *SlurmBench::engine; }
  bool wait_a_little() override {
    clock.now = clock.now + microseconds(50'000);
    return true;
  }
  std::size_t left_of(RunId) { return slurm.processes(); }
  std::string output(RunId id, std::int32_t = 0) { return said_[id.job]; }
  void wait_for_output(RunId, const std::string&) {}
  void wait_until_it_has_ended(RunId) {
    SlurmBench::engine.reset();
    clock.now = clock.now + seconds(30);
  }
  void wait_until_erased() {}

  HandClock& system_ = clock;
  std::map<JobNumber, std::string> said_;
};

template <class Engine>
class EngineContract : public Engine {};
using Engines = testing::Types<OnThisMachine, OnSimulatedMachine, InMemory, OnSlurm8>;

class EngineName {
 public:
  template <class Engine>
  static std::string GetName(int) {
    return std::is_same_v<Engine, InMemory>             ? "Memory"
           : std::is_same_v<Engine, OnSlurm8>           ? "Slurm"
           : std::is_same_v<Engine, OnSimulatedMachine> ? "Simulated"
                                                        : "Local";
  }
};
TYPED_TEST_SUITE(EngineContract, Engines, EngineName);

constexpr Duration kMoment = microseconds(100'000);

TYPED_TEST(EngineContract, ARunIsStartedAndEndsByItself) {
  const JobSpec spec =
      this->job_that(1, {.runs_for = kMoment, .exit_status = 3, .output = "a line"});
  this->start({1, 1}, spec);
  const RunReport end = this->wait_for_end({1, 1});
  EXPECT_EQ(end.kind, RunReport::Kind::exited);
  EXPECT_EQ(end.exit_status, 3);
  EXPECT_FALSE(end.asked_requeue);
  EXPECT_EQ(this->output({1, 1}), "a line");
  EXPECT_EQ(this->left_of({1, 1}), 0U);
}

TYPED_TEST(EngineContract, ARunIsStartedOnceOnly) {
  const JobSpec spec = this->job_that(1, {.runs_for = kMoment});
  EXPECT_EQ(this->run({1, 1}, spec).kind, RunReport::Kind::exited);
  EXPECT_THAT(this->engine().start(this->launch({1, 1}, spec)).error().message,
              testing::HasSubstr("run 1 of job 1 was begun before"));
  this->engine().forget({1, 1});
  EXPECT_FALSE(this->engine().start(this->launch({1, 1}, spec)));
  EXPECT_EQ(this->run({1, 2}, spec).kind, RunReport::Kind::exited) << "another may be";
}

TYPED_TEST(EngineContract, AJobAtFaultIsRefused) {
  const JobSpec spec = this->job_that(1, {.refused = "there is no such command"});
  const RunReport end = this->run({1, 1}, spec);
  EXPECT_EQ(end.kind, RunReport::Kind::refused);
  EXPECT_THAT(end.why, testing::HasSubstr("there is no such command"));
}

TYPED_TEST(EngineContract, AJobTellsOfItselfAndAsksToBeRunAgain) {
  JobProgress progress;
  progress.step = 5;
  const JobSpec spec =
      this->job_that(1, {.runs_for = kMoment, .asks_requeue = true, .tells = progress});
  this->begin(this->launch({1, 1}, spec));
  if constexpr (TypeParam::kStaysWithItsJobs) {
    EXPECT_EQ(this->wait_for(RunReport::Kind::progress, {1, 1}).progress.step, 5);
  }
  EXPECT_TRUE(this->wait_for_end({1, 1}).asked_requeue);
}

TYPED_TEST(EngineContract, ItLeavesWhenItIsTold) {
  const JobSpec spec =
      this->job_that(1, {.output = "ready", .leaves_after = kMoment, .exit_when_told = 7});
  this->start({1, 1}, spec);
  this->wait_for_output({1, 1}, "ready");
  this->stop({1, 1}, 0, seconds(20));
  const RunReport end = this->wait_for_end({1, 1});
  EXPECT_EQ(end.kind, RunReport::Kind::exited);
  EXPECT_EQ(end.exit_status, 7);
}

TYPED_TEST(EngineContract, OrIsKilledWhenItsGraceIsOver) {
  const JobSpec spec = this->job_that(1, {.output = "ready", .leaves_after = {}});
  this->start({1, 1}, spec);
  this->wait_for_output({1, 1}, "ready");
  this->stop({1, 1}, SIGUSR1, kMoment, kMoment);
  const RunReport end = this->wait_for_end({1, 1});
  EXPECT_EQ(this->left_of({1, 1}), 0U);
  if constexpr (!TypeParam::kStaysWithItsJobs) return;
  EXPECT_EQ(end.exit_status, 128 + SIGKILL);
  EXPECT_EQ(end.why, "killed by signal 9 (SIGKILL)");
}

TYPED_TEST(EngineContract, ASecondStopShortensTheFirst) {
  const JobSpec spec = this->job_that(1, {.output = "ready", .leaves_after = {}});
  this->start({1, 1}, spec);
  this->wait_for_output({1, 1}, "ready");
  this->stop({1, 1}, 0, hours(1));
  const Time told = this->system_.wall_clock();
  this->stop({1, 1}, 0, kMoment);
  EXPECT_NE(this->wait_for_end({1, 1}).exit_status, 0);
  EXPECT_LT(this->system_.wall_clock() - told, hours(1));
}

TYPED_TEST(EngineContract, AStopRightAfterTheStartIsNotLost) {
  const JobSpec spec = this->job_that(1, {});
  this->begin(this->launch({1, 1}, spec));
  this->stop({1, 1}, 0, seconds(10));
  EXPECT_EQ(this->wait_for_end({1, 1}).exit_status, 128 + SIGTERM);
}

TYPED_TEST(EngineContract, StoppingWhatHasEndedIsNothing) {
  this->run({1, 1}, this->job_that(1, {.runs_for = kMoment}));
  this->stop({1, 1}, 0, {});
  this->stop({99, 1}, 0, {});
  EXPECT_TRUE(this->engine().poll().empty());
}

TYPED_TEST(EngineContract, AfterARestartARunIsFoundAgain) {
  const JobSpec spec = this->job_that(1, {.output = "ready", .exit_when_told = 3});
  this->start({1, 1}, spec);
  this->wait_for_output({1, 1}, "ready");
  this->reopen();
  this->adopt({1, 1});
  this->wait_for(RunReport::Kind::started, {1, 1});
  EXPECT_FALSE(this->engine().start(this->launch({1, 1}, spec)));
  this->stop({1, 1}, 0, seconds(20));
  EXPECT_EQ(this->wait_for_end({1, 1}).exit_status, 3);
}

TYPED_TEST(EngineContract, HowItEndedWithoutTheDaemonIsKeptUntilItIsForgotten) {
  const JobSpec spec = this->job_that(1, {.runs_for = kMoment, .exit_status = 6});
  this->start({1, 1}, spec);
  this->wait_until_it_has_ended({1, 1});
  for (int restart = 0; restart < 2; ++restart) {
    this->reopen();
    this->adopt({1, 1});
    this->wait_for(RunReport::Kind::started, {1, 1});
    const RunReport end = this->wait_for_end({1, 1});
    EXPECT_EQ(end.kind, RunReport::Kind::exited);
    EXPECT_EQ(end.exit_status, 6);
    EXPECT_LE(end.at, this->system_.wall_clock());
  }
}

TYPED_TEST(EngineContract, AStopIsCarriedOutWithoutTheDaemon) {
  if constexpr (!TypeParam::kStaysWithItsJobs) GTEST_SKIP() << "the daemon asks Slurm step by step";
  const JobSpec spec = this->job_that(1, {.output = "ready", .leaves_after = {}});
  this->start({1, 1}, spec);
  this->wait_for_output({1, 1}, "ready");
  this->stop({1, 1}, 0, kMoment);
  this->wait_until_it_has_ended({1, 1});
  this->reopen();
  this->adopt({1, 1});
  EXPECT_EQ(this->wait_for_end({1, 1}).exit_status, 128 + SIGKILL);
}

TYPED_TEST(EngineContract, WhatWasNeverBegunIsLostAndNeverWillBe) {
  for (int restart = 0; restart < 2; ++restart) {
    this->adopt({5, 1});
    EXPECT_EQ(this->wait_for_end({5, 1}).kind, RunReport::Kind::lost);
    const JobSpec spec = this->job_that(5, {});
    EXPECT_FALSE(this->engine().start(this->launch({5, 1}, spec)));
    this->engine().forget({5, 1});
    this->reopen();
  }
}

TYPED_TEST(EngineContract, TheOutputStaysUntilTheJobIsErased) {
  if constexpr (!TypeParam::kStaysWithItsJobs) GTEST_SKIP() << "Slurm writes it to users' files";
  const JobSpec spec = this->job_that(1, {.runs_for = kMoment, .output = "0123456789"});
  this->run({1, 1}, spec);
  this->engine().forget({1, 1});
  this->reopen();
  const auto part = this->engine().output({1, 1}, 0, 4, 3);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(part->offset, 4U);
  EXPECT_EQ(part->text, "456");
  EXPECT_TRUE(this->engine().erase_checkpoints(1));
  this->wait_until_erased();
  EXPECT_TRUE(this->engine().output({1, 1}, 0, 0, 100)) << "that is something else";
  EXPECT_TRUE(this->engine().erase_output(1, 1));
  this->wait_until_erased();
  EXPECT_FALSE(this->engine().output({1, 1}, 0, 0, 100));
}

TYPED_TEST(EngineContract, AGangHasAnOutputForEachWorkerThatItWasLaunchedWith) {
  JobSpec spec = this->job_that(1, {.runs_for = kMoment, .output = "here"});
  spec.workers = 3;
  EXPECT_EQ(this->run({1, 1}, spec).kind, RunReport::Kind::exited);
  for (std::int32_t worker = 0; worker < 3; ++worker)
    EXPECT_EQ(this->output({1, 1}, worker), "here");
}

// --- What only a cluster does --------------------------------------------------------------------

class ClusterEngine : public InMemory {
 protected:
  ClusterEngine() { world_.set_cluster(*parse_cluster_shorthand("3x8xV100")); }
  void SetUp() override {
    reopen();
    (void)engine_->poll();
  }
  void down(const std::string& machine) {
    world_.set_machine({machine, MachineReport::State::down, "no answer"});
  }
  /// Two workers with two GPUs each, on the first two machines.
  Launch gang(RunId id, const JobSpec& spec) {
    Launch made = launch(id, spec);
    made.workers = {{MachineId{0}, {0, 1}}, {MachineId{1}, {0, 1}}};
    return made;
  }
  const JobSpec spec_;
};

TEST_F(ClusterEngine, AStartMayTakeLongAndFailLate) {
  world_.set_script(1, {.start_takes = minutes(5), .start_fails = "the node does not boot"});
  begin(launch({1, 1}, spec_));
  system_.now = system_.now + minutes(4);
  EXPECT_TRUE(engine_->poll().empty());
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::lost);
  EXPECT_EQ(end.why, "the node does not boot");
  EXPECT_FALSE(engine_->output({1, 1}, 0, 0, 100));
}

TEST_F(ClusterEngine, WhatIsLeftOfAHalfDeadGangLivesUntilItIsStopped) {
  world_.set_script(1, {.runs_for = hours(1)});
  begin(gang({1, 1}, spec_));
  wait_for(Kind::started, {1, 1});
  down("r0m1");
  EXPECT_EQ(left_of({1, 1}), 1U);
  system_.now = system_.now + hours(2);
  EXPECT_EQ(left_of({1, 1}), 1U) << "it hangs";
  stop({1, 1}, 0, seconds(1));
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
  EXPECT_EQ(left_of({1, 1}), 0U);
}

TEST_F(ClusterEngine, WithAllItsMachinesARunIsLostAtOnce) {
  begin(gang({1, 1}, spec_));
  wait_for(Kind::started, {1, 1});
  down("r0m0"), down("r0m1");
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
}

TEST_F(ClusterEngine, AWorkerThatIsGoneBreaksItsRun) {
  world_.set_script(1, {.breaks_after = minutes(1)});
  begin(gang({1, 1}, spec_));
  EXPECT_EQ(wait_for(Kind::broken, {1, 1}).why, "worker 0 is gone");
  EXPECT_EQ(left_of({1, 1}), 1U);
  stop({1, 1}, 0, {});
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
}

TEST_F(ClusterEngine, MachinesThatAreNotUpAreReportedAgainAfterARestart) {
  down("r0m2");
  const MachineReport closed{"r0m1", MachineReport::State::closed, "for repair"};
  world_.set_machine(closed);
  world_.set_machine({"r0m2", MachineReport::State::up, ""});
  EXPECT_EQ(engine_->poll().size(), 3U);
  reopen();
  const std::vector<EngineReport> reports = engine_->poll();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(std::get<MachineReport>(reports.front()), closed);
}

TEST_F(ClusterEngine, ItMayChooseTheGpusItself) {
  world_.choose_gpus();
  begin(gang({1, 1}, spec_));
  begin(gang({2, 1}, spec_));
  const std::vector<WorkerPlace> last{{MachineId{0}, {6, 7}}, {MachineId{1}, {6, 7}}};
  const std::vector<WorkerPlace> before{{MachineId{0}, {4, 5}}, {MachineId{1}, {4, 5}}};
  EXPECT_EQ(wait_for(Kind::started, {1, 1}).places, last);
  EXPECT_EQ(wait_for(Kind::started, {2, 1}).places, before);
}

TEST_F(ClusterEngine, OneThatIsFoundWhileItStartsKeepsTheGpusThatAreReported) {
  world_.choose_gpus();
  world_.set_script(1, {.start_takes = minutes(1)});
  begin(gang({1, 1}, spec_));
  reopen();
  const std::vector<EngineReport> reports = engine_->poll();
  ASSERT_EQ(reports.size(), 1U);
  const auto& found = std::get<BirthReport>(reports.front());
  engine_->call(found.name, 9);
  begin(gang({2, 1}, spec_));
  const std::vector<WorkerPlace> others{{MachineId{0}, {4, 5}}, {MachineId{1}, {4, 5}}};
  EXPECT_EQ(wait_for(Kind::started, {2, 1}).places, others);
  EXPECT_EQ(wait_for(Kind::started, {9, 1}).places, found.places);
}

TEST_F(ClusterEngine, JobsThatAreBornThereAreReportedUntilTheyAreForgotten) {
  BirthReport birth{"slurm-17", ourselves(), {}, {}};
  world_.bear(birth);
  for (int restart = 0; restart < 2; ++restart) {
    const std::vector<EngineReport> reports = engine_->poll();
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(std::get<BirthReport>(reports.front()).name, "slurm-17");
    engine_->call("slurm-17", 4);
    reopen();
  }
  (void)engine_->poll();
  engine_->call("slurm-17", 4);
  world_.withdraw("slurm-17");
  EXPECT_EQ(wait_for(Kind::withdrawn, {4, 0}).why, "its user has withdrawn it");
  engine_->forget({4, 0});
  reopen();
  EXPECT_TRUE(engine_->poll().empty());
}

TEST_F(ClusterEngine, OneThatRunsAlreadyEndsAsItsFirstRun) {
  world_.bear({"slurm-18", ourselves(), {}, {{MachineId{2}, {3}}}}, {.runs_for = hours(1)});
  engine_->call("slurm-18", 9);
  EXPECT_EQ(left_of({9, 1}), 1U);
  EXPECT_EQ(wait_for_end({9, 1}).kind, Kind::exited);
}

}  // namespace
}  // namespace trainyard
