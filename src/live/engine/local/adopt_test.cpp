// What is left of a run when the daemon, or its supervisor, is not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <fstream>

#include "live/engine/local/supervisor_link.h"
#include "live/engine/local/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

class LocalEngineAdopt : public LocalEngineBothWays {
 protected:
  void kill_supervisor(RunId id) {
    const auto process = supervisor_of(directory(id));
    ASSERT_TRUE(process && *process);
    ::syscall(SYS_pidfd_send_signal, process->get(), SIGKILL, nullptr, 0);
  }
};
INSTANTIATE_TEST_SUITE_P(, LocalEngineAdopt, testing::Bool(), way_name);

TEST_P(LocalEngineAdopt, ARunGoesOnWithoutTheDaemonAndIsFoundAgain) {
  start({1, 1}, shell("trap 'echo saved; exit 3' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  reopen();
  adopt({1, 1});
  EXPECT_EQ(wait_for(Kind::started, {1, 1}).id, (RunId{1, 1}));
  stop({1, 1}, 0, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 3);
  EXPECT_THAT(output({1, 1}), testing::StartsWith("ready\n"));
  EXPECT_THAT(output({1, 1}), testing::EndsWith("saved\n"));
}

TEST_P(LocalEngineAdopt, HowItEndedMeanwhileIsKept) {
  start({1, 1}, shell("while [ ! -e " + root_ +
                      "/go ]; do sleep 0.02; done; "
                      "echo '{\"step\": 5}' > $TRAINYARD_REPORT; exit 6"));
  engine_.reset();
  std::ofstream(root_ + "/go").put('\n');
  ASSERT_TRUE(eventually([&] { return read_end(directory({1, 1})).has_value(); }));
  reopen();
  adopt({1, 1});
  EXPECT_EQ(wait_for(Kind::started, {1, 1}).id.job, 1);
  EXPECT_EQ(wait_for(Kind::progress, {1, 1}).progress.step, 5);
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::exited);
  EXPECT_EQ(end.exit_status, 6);
  EXPECT_LE(end.at, system_.wall_clock());
}

TEST_P(LocalEngineAdopt, AStopIsCarriedOutWithoutTheDaemon) {
  start({1, 1}, shell("trap '' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  stop({1, 1}, 0, microseconds(300'000));
  engine_.reset();
  ASSERT_TRUE(eventually([&] { return read_end(directory({1, 1})).has_value(); }));
  reopen();
  adopt({1, 1});
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 128 + SIGKILL);
}

TEST_P(LocalEngineAdopt, WhatWasNeverBegunIsLostAndNeverWillBe) {
  adopt({5, 1});
  EXPECT_EQ(wait_for_end({5, 1}).kind, Kind::lost);
  const JobSpec spec = shell("true");
  EXPECT_FALSE(engine_->start(launch({5, 1}, spec)));
}

TEST_P(LocalEngineAdopt, ASupervisorThatComesLateStartsNothing) {
  // The daemon died between making the directory and starting the supervisor, or the machine is so
  // slow that the supervisor has not begun when the next daemon looks.
  const JobSpec spec = shell("echo started > " + root_ + "/evidence");
  Trash trash(system_, state_ + "/trash");
  const auto plan = plan_run(launch({5, 1}, spec), account_of(ourselves()).value(),
                             {.state = state_, .host = "here", .cgroups = {}, .cgroup = {}});
  ASSERT_TRUE(plan);
  ASSERT_TRUE(make_run_directory(*plan, "", trash));
  adopt({5, 1});
  EXPECT_EQ(wait_for_end({5, 1}).kind, Kind::lost);
  for (const char* when : {"before", "after"}) {
    const auto late = spawn_supervisor(supervisor_program(), directory({5, 1}));
    ASSERT_TRUE(late) << late.error().message;
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PIDFD, static_cast<id_t>(late->get()), &info, WEXITED), 0);
    EXPECT_EQ(info.si_status, 1) << "it leaves at once, " << when << " the run is forgotten";
    EXPECT_FALSE(std::filesystem::exists(root_ + "/evidence"));
    engine_->forget({5, 1});
  }
}

/// Holds the lock of a run as its supervisor does, until it is destroyed.
class LockHolder {
 public:
  explicit LockHolder(const std::string& path) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      const int lock = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
      struct flock all {};
      all.l_type = F_WRLCK;
      if (::fcntl(lock, F_SETLK, &all) == 0 && ::write(ready[1], "!", 1) == 1) ::pause();
      ::_exit(1);
    }
    ::close(ready[1]);
    char word = 0;
    EXPECT_EQ(::read(ready[0], &word, 1), 1);
    ::close(ready[0]);
  }
  ~LockHolder() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;

 private:
  pid_t child_ = -1;
};

TEST_P(LocalEngineAdopt, ASupervisorThatComesLateIsNoStray) {
  const JobSpec spec = shell("true");
  Trash trash(system_, state_ + "/trash");
  const auto plan = plan_run(launch({5, 1}, spec), account_of(ourselves()).value(),
                             {.state = state_, .host = "here", .cgroups = {}, .cgroup = {}});
  ASSERT_TRUE(plan && make_run_directory(*plan, "", trash));
  for (const bool is_known : {true, false}) {
    reopen();
    if (is_known) adopt({5, 1});
    const LockHolder late(directory({5, 1}) + "/lock");
    std::size_t births = 0;
    for (const EngineReport& report : engine_->poll())
      births += std::holds_alternative<BirthReport>(report);
    EXPECT_EQ(births, is_known ? 0U : 1U);
  }
}

/// As older daemons did: directly in runs/ and checkpoints/.
class LocalEngineUpgrade : public LocalEngineTest {
 protected:
  void begin_as_older_daemon(RunId id, const std::string& command) {
    const JobSpec spec = shell(command);
    Trash trash(system_, state_ + "/trash");
    const auto plan = plan_run(launch(id, spec), account_of(ourselves()).value(),
                               {.state = state_, .host = "here", .cgroups = {}, .cgroup = {}});
    ASSERT_TRUE(plan && make_run_directory(*plan, "", trash));
    ASSERT_TRUE(spawn_supervisor(supervisor_program(), old_directory(id)));
    ASSERT_TRUE(eventually([&] { return time_of_start(old_directory(id)).has_value(); }));
  }
  [[nodiscard]] std::string old_directory(RunId id) const {
    return fmt::format("{}/runs/{}.{}", state_, id.job, id.run);
  }
  [[nodiscard]] LocalEngineOptions options() const override {
    return {.state = state_, .supervisor = supervisor_program(), .is_private = is_private_};
  }

  bool is_private_ = true;
};

TEST_F(LocalEngineUpgrade, RunsThatLiveAreFoundWhereTheyBegan) {
  begin_as_older_daemon({5, 1},
                        "echo kept > $TRAINYARD_CHECKPOINT_DIR/x; "
                        "trap 'cat $TRAINYARD_CHECKPOINT_DIR/x; exit 0' TERM; "
                        "echo ready; while :; do sleep 0.05; done");
  reopen();
  EXPECT_EQ(engine_->traces().at(5).last_run, 1U);
  adopt({5, 1});
  wait_for(Kind::started, {5, 1});
  EXPECT_EQ(directory({5, 1}), old_directory({5, 1}));
  ASSERT_TRUE(printed({5, 1}, "ready"));
  stop({5, 1}, 0, seconds(20));
  EXPECT_EQ(wait_for_end({5, 1}).kind, Kind::exited);
  EXPECT_THAT(output({5, 1}), testing::EndsWith("kept\n"));
  run({5, 2}, shell("cat $TRAINYARD_CHECKPOINT_DIR/x"));
  EXPECT_EQ(output({5, 2}), "kept\n") << "its checkpoints are found by the next run";
}

TEST_F(LocalEngineUpgrade, WhatHasEndedIsHiddenAndFound) {
  begin_as_older_daemon({5, 1}, "echo kept | tee $TRAINYARD_CHECKPOINT_DIR/x");
  ASSERT_TRUE(eventually([&] { return read_end(old_directory({5, 1})).has_value(); }));
  is_private_ = false;
  reopen();
  EXPECT_TRUE(std::filesystem::exists(old_directory({5, 1}))) << "nobody asked for it";
  is_private_ = true;
  reopen();
  EXPECT_FALSE(std::filesystem::exists(old_directory({5, 1})));
  EXPECT_FALSE(std::filesystem::exists(state_ + "/checkpoints/5"));
  EXPECT_TRUE(engine_->traces().contains(5));
  adopt({5, 1});
  EXPECT_EQ(wait_for_end({5, 1}).kind, Kind::exited);
  EXPECT_EQ(output({5, 1}), "kept\n");
  run({5, 2}, shell("cat $TRAINYARD_CHECKPOINT_DIR/x"));
  EXPECT_EQ(output({5, 2}), "kept\n");
  ASSERT_TRUE(engine_->erase_output(5, 2) && engine_->erase_checkpoints(5));
  EXPECT_FALSE(engine_->traces().contains(5));
}

TEST_P(LocalEngineAdopt, OfManySupervisorsOneStartsTheRun) {
  const JobSpec spec = shell("echo once >> " + root_ + "/evidence; sleep 0.2");
  Trash trash(system_, state_ + "/trash");
  const auto plan = plan_run(launch({5, 1}, spec), account_of(ourselves()).value(),
                             {.state = state_, .host = "here", .cgroups = {}, .cgroup = {}});
  ASSERT_TRUE(plan && make_run_directory(*plan, "", trash));
  std::vector<Descriptor> all;
  for (int i = 0; i < 8; ++i) {
    auto one = spawn_supervisor(supervisor_program(), directory({5, 1}));
    ASSERT_TRUE(one);
    all.push_back(std::move(*one));
  }
  int began = 0;
  for (const Descriptor& one : all) {
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PIDFD, static_cast<id_t>(one.get()), &info, WEXITED), 0);
    if (info.si_status == 0) ++began;
  }
  EXPECT_EQ(began, 1);
  EXPECT_EQ(read_small_file(root_ + "/evidence").value(), "once\n");
}

TEST_P(LocalEngineAdopt, AKilledSupervisorLosesTheRunAndLeavesNothing) {
  JobSpec spec = shell(
      "(setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' &); sleep 1001 & "
      "echo ready; wait");
  spec.workers = 2;
  start({1, 1}, spec);
  ASSERT_TRUE(printed({1, 1}, "ready", 0) && printed({1, 1}, "ready", 1));
  kill_supervisor({1, 1});
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::lost);
  EXPECT_EQ(end.why, "its supervisor was killed");
  EXPECT_EQ(left_of({1, 1}), 0U);
}

TEST_P(LocalEngineAdopt, ASupervisorKilledWithoutTheDaemonIsFoundOutLater) {
  start({1, 1}, shell("sleep 1000 & echo ready; wait"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  engine_.reset();
  kill_supervisor({1, 1});
  reopen();
  adopt({1, 1});
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
  EXPECT_EQ(left_of({1, 1}), 0U);
}

TEST_P(LocalEngineAdopt, AnotherRunOfTheSameJobIsNotTouchedByTheCleaning) {
  start({1, 1}, shell("sleep 1000 & echo ready; wait"));
  start({11, 1}, shell("sleep 1000 & echo ready; wait"));
  start({1, 2}, shell("sleep 1000 & echo ready; wait"));
  kill_supervisor({1, 1});
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
  EXPECT_GE(left_of({1, 2}), 1U);
  EXPECT_GE(left_of({11, 1}), 1U);
}

TEST_P(LocalEngineAdopt, InACopyOfTheStateARunIsLostAndTheOriginalsGoesOn) {
  start({1, 1}, shell("trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  const std::string original = state_;
  engine_.reset();
  state_ = root_ + "/copy";
  std::filesystem::copy(original, state_, std::filesystem::copy_options::recursive);
  reopen();
  adopt({1, 1});
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::lost);
  EXPECT_THAT(end.why,
              HasSubstr("it was started in " + original + ", and this state directory is"));
  state_ = original;
  reopen();
  EXPECT_GE(left_of({1, 1}), 1U);
  adopt({1, 1});
  stop({1, 1}, 0, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 3);
}

TEST_P(LocalEngineAdopt, InACopyOfTheStateHowARunEndedIsKnown) {
  EXPECT_EQ(run({1, 1}, shell("exit 6")).exit_status, 6);
  engine_.reset();
  std::filesystem::copy(state_, root_ + "/copy", std::filesystem::copy_options::recursive);
  state_ = root_ + "/copy";
  reopen();
  adopt({1, 1});
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 6);
}

TEST_P(LocalEngineAdopt, WhenTheMachineGoesDownTheJobMaySaveAndRunsAgain) {
  start({1, 1}, shell("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  const auto process = supervisor_of(directory({1, 1}));
  ASSERT_TRUE(process && *process);
  ::syscall(SYS_pidfd_send_signal, process->get(), SIGTERM, nullptr, 0);
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
  EXPECT_THAT(output({1, 1}), HasSubstr("saved"));
}

/// Refuses every act.
class NothingWorks : public RealSystem {
 public:
  Expected<void> before(std::string_view act) override { return fail("{}: not now", act); }
};

TEST_P(LocalEngineAdopt, WhatTheSystemRefusesIsNotDone) {
  NothingWorks none;
  auto engine = LocalEngine::open(none, options(), *this_machine({}, 2));
  ASSERT_TRUE(engine);
  const JobSpec spec = shell("true");
  EXPECT_EQ((*engine)->start(launch({1, 1}, spec)).error().message, "engine.start: not now");
  EXPECT_EQ((*engine)->adopt({1, 1}).error().message, "engine.adopt: not now");
  EXPECT_FALSE((*engine)->stop({.id = {1, 1}, .signal = {}, .grace = {}}));
  EXPECT_FALSE(std::filesystem::exists(directory({1, 1})));
}

}  // namespace
}  // namespace trainyard
