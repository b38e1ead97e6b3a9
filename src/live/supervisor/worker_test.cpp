#include "live/supervisor/worker.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "live/supervisor/supervise.h"
#include "live/system/silent_mount.h"

namespace trainyard {
namespace {

/// A process that enters a control group whose file is a FIFO that nobody reads waits there for
/// ever: it never comes to its program.
class WorkerThatHangs : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "trainyard-worker-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    std::filesystem::create_directory(root_ + "/group");
    ASSERT_EQ(::mkfifo((root_ + "/group/cgroup.procs").c_str(), 0600), 0);
    plan_.uid = ::getuid();
    plan_.gid = ::getgid();
    plan_.groups = {plan_.gid};
    plan_.command = {"/bin/true"};
    plan_.directory = "/";
    plan_.gpus = {{0}};
    plan_.stop.grace = seconds(600);
    plan_.cgroups.cpu = root_;
    plan_.cgroup = "group";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string root_;
  RunPlan plan_;
  std::optional<UnbornWorker> unborn_;
};

/// Our child's end.
int killed_by() {
  int status = 0;
  if (::waitpid(-1, &status, 0) < 0 || !WIFSIGNALED(status)) return 0;
  return WTERMSIG(status);
}

TEST_F(WorkerThatHangs, IsKilledAfterAWhile) {
  const RunCgroup group(plan_.cgroups, plan_.cgroup);
  const auto process =
      start_worker(plan_, 0, group, own_limits(),
                   {.limit = seconds(1), .is_stopped = [] { return false; }}, unborn_);
  ASSERT_FALSE(process);
  EXPECT_EQ(
      process.error().message,
      "a worker did not begin within 1s: its directory '/' may be on a file system that hangs, "
      "or be a FIFO that no process reads");
  EXPECT_EQ(killed_by(), SIGKILL);
}

TEST_F(WorkerThatHangs, IsKilledWhenTheRunIsStopped) {
  const RunCgroup group(plan_.cgroups, plan_.cgroup);
  const auto process =
      start_worker(plan_, 0, group, own_limits(),
                   {.limit = seconds(600), .is_stopped = [] { return true; }}, unborn_);
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().message, "a worker was stopped before it began");
  EXPECT_EQ(killed_by(), SIGKILL);
}

TEST_F(WorkerThatHangs, DoesNotKeepASupervisorFromStopping) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The order is there before it listens.
    ::alarm(25);
    sigset_t order;
    ::sigemptyset(&order);
    ::sigaddset(&order, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &order, nullptr);
    ::raise(SIGUSR1);
    const RunEnd end = Supervisor(root_, plan_).run(Descriptor());
    ::_exit(end.kind == RunEnd::Kind::exited && end.status == 137 &&
                    end.why == "a worker was stopped before it began"
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(WorkerThatHangs, AFifoForItsOutputIsNamed) {
  plan_.cgroups = {};
  plan_.output = root_ + "/fifo";
  ASSERT_EQ(::mkfifo(plan_.output.c_str(), 0600), 0);
  const RunCgroup group(plan_.cgroups, plan_.cgroup);
  const auto process =
      start_worker(plan_, 0, group, own_limits(),
                   {.limit = seconds(1), .is_stopped = [] { return false; }}, unborn_);
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message,
              testing::HasSubstr("or its output '" + plan_.output + "' may be on"));
  EXPECT_EQ(killed_by(), SIGKILL);
  EXPECT_FALSE(unborn_->is_stuck());
}

/// Its mount was asked, and does not answer: not even SIGKILL ends such a sleep.
TEST_F(WorkerThatHangs, OneThatCannotDieIsNotWaitedFor) {
  plan_.cgroups = {};
  plan_.output = root_ + "/mount/out";
  std::filesystem::create_directory(root_ + "/mount");
  SilentMount mount(root_ + "/mount", SilentMount::Kind::takes_requests);
  if (!mount.is_there()) GTEST_SKIP() << "nothing can be mounted here: " << mount.why_not();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(50);
    const RunEnd end = Supervisor(root_, plan_).run(Descriptor());
    ::_exit(end.kind == RunEnd::Kind::exited && end.status == 137 ? 0 : 1);
  }
  mount.wait_for_request();
  ::kill(child, SIGUSR1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace trainyard
