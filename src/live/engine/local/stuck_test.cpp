// Users who try to keep a GPU: their files are swapped under the supervisor's eyes, their file
// systems do not answer, their supervisor is halted. Each run comes to its end, and frees its GPUs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "live/engine/local/supervisor_link.h"
#include "live/engine/local/testing.h"
#include "live/system/silent_mount.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

class LocalEngineStuck : public LocalEngineTest {
 protected:
  void TearDown() override {
    end_attack();
    LocalEngineTest::TearDown();
  }
  [[nodiscard]] LocalEngineOptions options() const override {
    LocalEngineOptions options{.state = state_, .supervisor = supervisor_program()};
    options.stuck_after = seconds(2);
    return options;
  }

  /// Does this again and again in a process of this user, which is no part of any run.
  void attack(uid_t user, const std::function<void()>& act) {
    attacker_ = ::fork();
    ASSERT_GE(attacker_, 0);
    if (attacker_ != 0) return;
    if (user != ::geteuid() && (::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(1);
    ::alarm(100);
    for (;;) act();
  }
  void end_attack() {
    if (attacker_ == 0) return;
    ::kill(attacker_, SIGKILL);
    ::waitpid(attacker_, nullptr, 0);
    attacker_ = 0;
  }
  [[nodiscard]] pid_t supervisor_pid(RunId id) const {
    return pid_of(supervisor_of(directory(id)).value().get());
  }
  static void kill_all_with(const std::vector<std::string>& marks) {
    for (const pid_t pid : processes_with({::geteuid(), marks})) ::kill(pid, SIGKILL);
  }

  pid_t attacker_ = 0;
};

TEST_F(LocalEngineStuck, FilesThatAreSwappedAllTheTimeKeepNoRunFromEnding) {
  const bool is_other = can_be_others();
  const Identity user =
      is_other ? Identity{.user = "nobody", .uid = 65534, .gid = 65534} : ourselves();
  constexpr std::uint32_t kRuns = 40;
  attack(user.uid, [&] {
    for (std::uint32_t run = 1; run <= kRuns; ++run)
      for (const char* name : {"saved", "requeue", "report.json"}) {
        const std::string path =
            fmt::format("{}/runs/u{}/jobs/1.{}/job/{}", state_, user.uid, run, name);
        const std::string next = path + ".next";
        if (::mkfifo(next.c_str(), 0600) == 0) ::rename(next.c_str(), path.c_str());
        std::ofstream(next) << "saved";
        ::rename(next.c_str(), path.c_str());
      }
  });
  for (std::uint32_t run = 1; run <= kRuns; ++run) {
    const JobSpec spec = shell("true");
    Launch order = launch({1, run}, spec);
    order.owner = user;
    begin(order);
    ASSERT_TRUE(is_end(wait_for_end({1, run}).kind)) << "run " << run;
  }
}

TEST_F(LocalEngineStuck, AMountThatNeverAnswersKeepsNoRunFromEnding) {
  start({1, 1}, shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  SilentMount own(directory({1, 1}) + "/job"), saved(checkpoints(1));
  if (!own.is_there()) GTEST_SKIP() << "nothing can be mounted here: " << own.why_not();
  stop({1, 1}, 0, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::exited);
  EXPECT_EQ(run({1, 2}, shell("true")).kind, Kind::exited) << "with the same checkpoints";
  engine_->forget({1, 1});
  own.end(), saved.end();
  ASSERT_TRUE(engine_->erase_output(1, 2));
  engine_->finish_erasing();
  EXPECT_FALSE(std::filesystem::exists(directory({1, 1})));
}

TEST_F(LocalEngineStuck, AFifoForOutputIsNotWaitedForWhenTheRunIsStopped) {
  JobSpec spec = shell("echo never");
  spec.output = root_ + "/fifo";
  ASSERT_EQ(::mkfifo(spec.output.c_str(), 0600), 0);
  begin(launch({1, 1}, spec));
  ASSERT_TRUE(eventually([&] { return has_living_child(supervisor_pid({1, 1})); }));
  stop({1, 1}, 0, hours(1));
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::exited);
  EXPECT_EQ(end.why, "a worker was stopped before it began");
}

TEST_F(LocalEngineStuck, AFifoForOutputThatIsReadOnceAndThenFullEndsWithItsGrace) {
  JobSpec spec = shell("echo ready; while :; do echo more; done");
  spec.output = root_ + "/fifo";
  ASSERT_EQ(::mkfifo(spec.output.c_str(), 0600), 0);
  const Descriptor reader(::open(spec.output.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  start({1, 1}, spec);
  stop({1, 1}, 0, {}, {});
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::exited);
}

TEST_F(LocalEngineStuck, AHaltedSupervisorGoesOnWhenItsRunIsStopped) {
  start({1, 1}, shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  ASSERT_EQ(::kill(supervisor_pid({1, 1}), SIGSTOP), 0);
  stop({1, 1}, 0, seconds(20));
  EXPECT_EQ(wait_for_end({1, 1}).exit_status, 7);
}

TEST_F(LocalEngineStuck, ASupervisorThatIsHaltedAgainAndAgainIsEndedAfterItsTime) {
  start({1, 1}, shell("trap '' TERM; echo ready; while :; do sleep 0.05; done"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  const pid_t supervisor = supervisor_pid({1, 1});
  attack(::geteuid(), [&] { ::kill(supervisor, SIGSTOP); });
  stop({1, 1}, 0, {}, {});
  const RunReport end = wait_for_end({1, 1});
  end_attack();
  // Where the attacker is slow, it may get through.
  if (end.kind == Kind::lost) {
    EXPECT_THAT(end.why, HasSubstr("its supervisor did not"));
  }
  EXPECT_EQ(left_of({1, 1}), 0U);
}

TEST_F(LocalEngineStuck, ASupervisorWithoutProcessesThatDoesNotEndIsEnded) {
  start({1, 1}, shell("while :; do sleep 0.05; done"));
  ASSERT_EQ(::kill(supervisor_pid({1, 1}), SIGSTOP), 0);
  kill_all_with(marks_of_run(directory({1, 1}), 1, 1));
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::lost);
  EXPECT_THAT(end.why, HasSubstr("its processes were gone"));
}

class LocalEngineForged : public LocalEngineBothWays {
 protected:
  void TearDown() override {
    for (const pid_t pid : strangers_) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    LocalEngineBothWays::TearDown();
  }
  /// A process of this user that claims in its environment to be of the run, and is not.
  pid_t claim(uid_t user, RunId id) {
    const auto marks = marks_of_run(directory(id), id.job, id.run);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (user != ::geteuid() && (::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(1);
      std::vector<char*> variables;
      for (const std::string& mark : marks) variables.push_back(const_cast<char*>(mark.c_str()));
      variables.push_back(nullptr);
      char name[] = "sleep", time[] = "1000";
      char* arguments[] = {name, time, nullptr};
      ::execve("/bin/sleep", arguments, variables.data());
      ::_exit(1);
    }
    strangers_.push_back(pid);
    EXPECT_TRUE(eventually([&] { return has_marks(pid, {user, marks}); }));
    return pid;
  }

  std::vector<pid_t> strangers_;
};
INSTANTIATE_TEST_SUITE_P(, LocalEngineForged, testing::Bool(), way_name);

TEST_P(LocalEngineForged, ClaimsOfOtherUsersNeitherHoldALostRunNorAreKilled) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  start({1, 1}, shell("setsid sleep 1000 & echo ready; sleep 1000"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  const pid_t stranger = claim(65534, {1, 1});
  ASSERT_EQ(::kill(pid_of(supervisor_of(directory({1, 1})).value().get()), SIGKILL), 0);
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
  EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0) << "it lives";
  EXPECT_EQ(left_of({1, 1}), 0U) << "and all of the run is gone";
}

TEST_P(LocalEngineForged, WhereThereAreGroupsNoClaimCounts) {
  start({1, 1}, shell("setsid sleep 1000 & echo ready; sleep 1000"));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  if (engine_->cgroups() == CgroupPlaces{}) GTEST_SKIP() << "there are none";
  const pid_t stranger = claim(::geteuid(), {1, 1});
  ASSERT_EQ(::kill(pid_of(supervisor_of(directory({1, 1})).value().get()), SIGKILL), 0);
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::lost);
  EXPECT_EQ(::waitpid(stranger, nullptr, WNOHANG), 0) << "it lives";
  EXPECT_EQ(left_of({1, 1}), 1U) << "the stranger";
  ::kill(stranger, SIGKILL);
}

/// Makes inotify_init1 fail in this process and all that it starts, as when other programs of the
/// same user have taken all instances.
bool take_inotify_away() {
  const sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_inotify_init1, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = const_cast<sock_filter*>(filter)};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(LocalEngineStuck, RunsBeginEndAndAreRunAgainWithoutInotify) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!take_inotify_away()) ::_exit(77);
    reopen();
    if (HasFatalFailure()) ::_exit(1);
    start({1, 1}, shell("scontrol requeue $SLURM_JOB_ID; sleep 1000"));
    const RunReport end = wait_for_end({1, 1});
    ::_exit(HasFailure() || end.kind != Kind::exited || !end.asked_requeue ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(status, 0);
}

TEST_F(LocalEngineStuck, ASupervisorHasNoInotifyInstance) {
  start({1, 1}, shell("sleep 1000"));
  const std::string files = fmt::format("/proc/{}/fd", supervisor_pid({1, 1}));
  for (const auto& file : std::filesystem::directory_iterator(files))
    EXPECT_THAT(std::filesystem::read_symlink(file).string(), testing::Not(HasSubstr("inotify")));
}

}  // namespace
}  // namespace trainyard
