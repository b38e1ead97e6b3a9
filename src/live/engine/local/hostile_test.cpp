// Jobs that print without end, fill the disk, take more than their part, or look where they should
// not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/keyctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

#include "live/engine/local/supervisor_link.h"
#include "live/engine/local/testing.h"
#include "live/supervisor/log_segments.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;
using testing::Not;

class LocalEngineHostile : public LocalEngineTest {
 protected:
  void TearDown() override {
    LocalEngineTest::TearDown();
    if (!mount_.empty()) ::umount2(mount_.c_str(), MNT_DETACH);
    std::error_code none;
    std::filesystem::remove_all(root_, none);
  }

  static Identity nobody() { return {.user = "nobody", .uid = 65534, .gid = 65534}; }

  RunReport run_as(const Identity& who, RunId id, const JobSpec& spec) {
    Launch order = launch(id, spec);
    order.owner = who;
    begin(order);
    return wait_for_end(id);
  }

  std::string mount_;
};

TEST_F(LocalEngineHostile, AGigabyteOfOutputLeavesItsBeginningAndItsEnd) {
  const RunReport end =
      run({1, 1}, shell("echo first; head -c 1000000000 /dev/zero | tr '\\0' '\\n'; echo last"));
  EXPECT_EQ(end.exit_status, 0);
  constexpr std::uint64_t kAll = 6 + 1'000'000'000 + 5;
  std::uint64_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory({1, 1})))
    if (entry.path().filename().string().starts_with("out.0.")) kept += entry.file_size();
  EXPECT_LE(kept, kSegmentBytes * (kLastSegments + 1));
  EXPECT_GE(kept, kSegmentBytes * kLastSegments);
  EXPECT_EQ(engine_->output({1, 1}, 0, 0, 6)->text, "first\n");
  EXPECT_EQ(engine_->output({1, 1}, 0, kAll - 5, 100)->text, "last\n");
  const auto middle = engine_->output({1, 1}, 0, kAll / 2, 10);
  EXPECT_GT(middle->offset, kAll / 2) << "what is not kept is skipped";
  EXPECT_EQ(middle->text, std::string(10, '\n'));
  EXPECT_EQ(engine_->output({1, 1}, 0, kAll, 10)->text, "");
}

TEST_F(LocalEngineHostile, AFullDiskLosesOutputButNotTheJobOrItsEnd) {
  // The state directory is on a disk of its own, with room for three megabytes.
  engine_.reset();
  std::filesystem::remove_all(state_);
  std::filesystem::create_directory(state_);
  if (::mount("tmpfs", state_.c_str(), "tmpfs", 0, "size=3m,mode=711") != 0)
    GTEST_SKIP() << "no small disk can be mounted here: " << std::strerror(errno);
  mount_ = state_;
  reopen();
  // It ends by a stop, and the order to stop cannot be written either.
  JobSpec spec = shell(
      "trap 'echo asked; exit 5' USR1; echo first; "
      "head -c 20000000 /dev/zero | tr '\\0' 'x'; : > " +
      root_ +
      "/full; "
      "while :; do sleep 0.05; done");
  spec.signal.number = SIGUSR1;
  start({1, 1}, spec);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(root_ + "/full"); }));
  EXPECT_EQ(std::filesystem::space(state_).available, 0U) << "or nothing was tested";
  stop({1, 1}, SIGUSR1, seconds(20));
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::exited);
  EXPECT_EQ(end.exit_status, 5);
  EXPECT_EQ(output({1, 1}).substr(0, 7), "first\nx");
  const JobSpec another = shell("true");
  EXPECT_FALSE(engine_->start(launch({2, 1}, another))) << "there is no room for its files";
  EXPECT_FALSE(std::filesystem::exists(directory({2, 1})));
}

TEST_F(LocalEngineHostile, MemoryHasALimit) {
  if (!engine_->cgroups().limits_memory()) GTEST_SKIP() << "no memory controller can be used here";
  JobSpec spec = shell("head -c 400000000 /dev/zero | tail -c 390000000 | wc -c; exit 1");
  spec.per_worker.memory_mib = 64;
  const RunReport end = run({1, 1}, spec);
  EXPECT_NE(end.exit_status, 0);
  EXPECT_EQ(end.why, "out of memory: its limit is 64MiB");
  spec.per_worker.memory_mib = 1000;
  EXPECT_EQ(run({2, 1}, spec).why, "exit status 1");
  EXPECT_EQ(output({2, 1}), "390000000\n");
}

TEST_F(LocalEngineHostile, CpusHaveALimit) {
  if (!engine_->cgroups().limits_cpu()) GTEST_SKIP() << "no CPU controller can be used here";
  JobSpec spec = shell("while :; do :; done");
  spec.workers = 2;
  spec.per_worker.milli_cpus = 150;
  start({1, 1}, spec);
  const bool unified = engine_->cgroups().unified_cpu;
  const std::string group = (unified ? engine_->cgroups().unified : engine_->cgroups().cpu) + "/" +
                            read_plan(directory({1, 1})).value().cgroup;
  const auto quota = read_small_file(group + (unified ? "/cpu.max" : "/cpu.cfs_quota_us"));
  EXPECT_THAT(quota.value(), testing::StartsWith("30000")) << "of every 100,000 microseconds";
  EXPECT_TRUE(eventually([&] {
    const std::string stat = read_small_file(group + "/cpu.stat").value();
    return std::atoi(stat.substr(stat.find("nr_throttled") + 12).c_str()) > 0;
  }));
}

TEST_F(LocalEngineHostile, ProcessesHaveALimit) {
  if (!engine_->cgroups().limits_processes()) GTEST_SKIP() << "no pids controller can be used here";
  start({1, 1}, shell("cat /proc/self/oom_score_adj; echo ready; sleep 1000"));
  const CgroupPlaces& places = engine_->cgroups();
  const std::string group =
      places.of_processes() + "/" + read_plan(directory({1, 1})).value().cgroup;
  const std::int64_t all = processes_of_all_runs(read_process_bounds(places.of_processes()));
  EXPECT_EQ(read_small_file(group + "/pids.max").value(),
            fmt::format("{}\n", processes_of_run(all, 2, 8)));
  EXPECT_EQ(read_small_file(places.of_processes() + "/trainyard/pids.max").value(),
            fmt::format("{}\n", all));
  ASSERT_TRUE(printed({1, 1}, "ready"));
  EXPECT_NE(std::atoi(read_small_file(group + "/pids.current").value().c_str()), 0);
  EXPECT_EQ(output({1, 1}), "0\nready\n");
}

/// On a machine that is small by its bounds, under a group of its own.
class LocalEngineConfined : public LocalEngineTest {
 protected:
  [[nodiscard]] LocalEngineOptions options() const override {
    LocalEngineOptions options{.state = state_, .supervisor = supervisor_program()};
    options.process_bounds = ProcessBounds{.pid_max = 640, .threads_max = 9000};
    options.cgroup_top = top_;
    options.hides_gpus = true;
    // 10:229 is /dev/fuse: a "GPU" of the machine that jobs on stand-ins are not to open.
    options.gpu_devices = {.major = 10};
    return options;
  }
  void TearDown() override {
    const CgroupPlaces places = engine_ == nullptr ? CgroupPlaces{} : engine_->cgroups();
    LocalEngineTest::TearDown();
    for (const std::string& root :
         {places.unified, places.cpu, places.memory, places.pids, places.devices})
      if (!root.empty()) ::rmdir((root + "/" + top_).c_str());
  }

  const std::string top_ = "trainyard-confined-" + std::to_string(::getpid());
};

/// pid_max is 640, of which half is for jobs: 320, and 80 for a run with 2 of 8 stand-ins. Each
/// process of the bomb forks until it cannot, so it fills whatever it may have. A shell that cannot
/// fork ends, so the job's own process is none that forks.
TEST_F(LocalEngineConfined, AForkBombLeavesRoomForOthersAndEndsWhenStopped) {
  if (!engine_->cgroups().limits_processes()) GTEST_SKIP() << "no pids controller can be used here";
  const JobSpec bomb =
      shell("bomb() { while :; do bomb & sleep 0.1; done; }; bomb 2> /dev/null & exec sleep 600");
  const std::string parent = engine_->cgroups().of_processes() + "/" + top_;
  start({1, 1}, bomb);
  const std::string group =
      engine_->cgroups().of_processes() + "/" + read_plan(directory({1, 1})).value().cgroup;
  EXPECT_EQ(read_small_file(parent + "/pids.max").value(), "320\n");
  EXPECT_EQ(read_small_file(group + "/pids.max").value(), "80\n");
  const auto refused = [&] {
    const std::string events = read_small_file(group + "/pids.events").value();
    return std::atoi(events.substr(4).c_str()) > 0;  // "max N"
  };
  EXPECT_TRUE(eventually(refused)) << "or nothing was tested";
  EXPECT_LE(std::atoi(read_small_file(group + "/pids.current").value().c_str()), 80);
  EXPECT_EQ(run({2, 1}, shell("echo fine")).exit_status, 0) << "another job starts";
  stop({1, 1}, 0, {});
  EXPECT_EQ(wait_for_end({1, 1}).kind, Kind::exited);
  EXPECT_EQ(left_of({1, 1}), 0U);
}

TEST_F(LocalEngineConfined, JobsOnStandInsOpenNoGpu) {
  if (!engine_->cgroups().limits_devices()) GTEST_SKIP() << "devices cannot be confined here";
  EXPECT_THAT(engine_->describe(), HasSubstr("; jobs cannot open GPUs of others"));
  const std::string node = root_ + "/gpu";
  if (::mknod(node.c_str(), S_IFCHR | 0666, ::makedev(10, 229)) != 0)
    GTEST_SKIP() << "no device node can be made here";
  if (!Descriptor(::open(node.c_str(), O_RDWR))) GTEST_SKIP() << "the device cannot be opened here";
  const JobSpec spec =
      shell("head -c 1 /dev/zero > /dev/null && echo others are open; until [ -e " + root_ +
            "/go ]; do sleep 0.01; done; exec 3<> " + node);
  start({1, 1}, spec);
  reopen();
  ASSERT_TRUE(engine_->adopt({1, 1}));
  std::ofstream(root_ + "/go") << "after the restart";
  EXPECT_NE(wait_for_end({1, 1}).exit_status, 0);
  EXPECT_THAT(output({1, 1}), HasSubstr("others are open\n"));
  EXPECT_THAT(output({1, 1}), HasSubstr("Operation not permitted"));
}

TEST_F(LocalEngineHostile, AJobIsItsUserWithThatUsersGroupsOnly) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  const RunReport end = run_as(nobody(), {1, 1},
                               shell("id -u; id -G; echo $USER; echo heard > /dev/stdout; umask; "
                                     "echo x > $TRAINYARD_CHECKPOINT_DIR/x && echo saved; "
                                     "grep -E 'CapEff|SigBlk|SigIgn' /proc/self/status; ls -l "
                                     "/proc/self/fd | grep -c -- '->'"));
  EXPECT_EQ(end.exit_status, 0);
  const std::string text = output({1, 1});
  EXPECT_THAT(text, testing::StartsWith("65534\n65534\nnobody\nheard\n0022\nsaved\n"));
  for (const char* name : {"SigBlk", "CapEff"})
    EXPECT_THAT(text, HasSubstr(std::string(name) + ":\t0000000000000000\n"));
  // The C library keeps two for itself.
  EXPECT_THAT(text, testing::ContainsRegex("SigIgn:\t0000000[01][08]0000000\n"));
  EXPECT_THAT(text, testing::EndsWith("\n4\n")) << "its three descriptors, and the one of ls";
}

TEST_F(LocalEngineHostile, NobodySeesWhatIsAnothers) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  JobSpec secret;
  secret.script =
      "#!/bin/sh\ntrap : USR1; echo secret; echo secret > $TRAINYARD_CHECKPOINT_DIR/model; "
      "while :; do sleep 0.1; done\n";
  secret.environment = {{"TOKEN", "secret"}};
  start({1, 1}, secret);
  ASSERT_TRUE(printed({1, 1}, "secret"));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(checkpoints(1) + "/model"); }));
  // It does not leave when asked, so that all its files are there.
  stop({1, 1}, SIGUSR1, seconds(1000));
  for (const char* name : {"/lock", "/started", "/exit.part", "/stop"})
    ASSERT_TRUE(std::filesystem::exists(directory({1, 1}) + name)) << name;
  std::string places = "runs checkpoints . trash";
  for (const char* kind : {"runs", "checkpoints"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(state_ + "/" + kind))
      places += " " + entry.path().lexically_relative(state_).string();
  ASSERT_THAT(places, HasSubstr("jobs/1.1/run.json"));
  ASSERT_THAT(places, HasSubstr("jobs/1/model"));
  JobSpec spy = shell("cd " + state_ + "; for f in " + places +
                      "; do "
                      "cat $f >/dev/null 2>&1 && echo read $f; ls $f >/dev/null 2>&1 && "
                      "[ -d $f ] && echo listed $f; touch $f/x 2>/dev/null && echo made in $f; "
                      "case $f in */u*/*) stat $f >/dev/null 2>&1 && echo asked $f;; esac; done; "
                      "stat -c '%u %A' ${TRAINYARD_REPORT%/*}; exit 0");
  EXPECT_EQ(run_as(nobody(), {2, 1}, spy).exit_status, 0);
  const std::string text = output({2, 1});
  EXPECT_THAT(text, HasSubstr("65534 drwx------")) << "or the spy saw nothing at all";
  for (const char* word : {"read", "listed", "made", "asked"})
    EXPECT_THAT(text, Not(HasSubstr(word)));
}

TEST_F(LocalEngineHostile, RootsKeysAreNotHandedOn) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  // What the supervisor, and so its workers, would inherit. A process sees in /proc/keys what it
  // holds.
  const std::string name = "trainyard-test-" + std::to_string(::getpid());
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, name.c_str()) < 0)
    GTEST_SKIP() << "there are no keyrings here: " << std::strerror(errno);
  ASSERT_THAT(read_small_file("/proc/keys").value_or(""), HasSubstr(name));
  EXPECT_EQ(run_as(nobody(), {1, 1}, shell("cat /proc/keys; echo all")).exit_status, 0);
  EXPECT_THAT(output({1, 1}), testing::EndsWith("all\n"));
  EXPECT_THAT(output({1, 1}), HasSubstr("_ses")) << "its own, or it saw nothing at all";
  EXPECT_THAT(output({1, 1}), Not(HasSubstr(name)));
}

TEST_F(LocalEngineHostile, ALockForReadingIsNoSupervisors) {
  const std::string run = root_ + "/run";
  std::filesystem::create_directory(run);
  ASSERT_TRUE(create_file(run + "/lock", "", 0600));
  for (const int type : {F_RDLCK, F_WRLCK}) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t holder = ::fork();
    ASSERT_GE(holder, 0);
    if (holder == 0) {
      struct flock all {};
      all.l_type = static_cast<short>(type);
      const int file = ::open((run + "/lock").c_str(), O_RDWR);
      const char ok = ::fcntl(file, F_SETLK, &all) == 0 ? 'y' : 'n';
      std::ignore = ::write(ready[1], &ok, 1);
      for (;;) ::pause();
    }
    char ok = 0;
    EXPECT_EQ(::read(ready[0], &ok, 1), 1);
    EXPECT_EQ(ok, 'y');
    const auto found = supervisor_of(run);
    EXPECT_TRUE(found);
    EXPECT_EQ(found && *found, type == F_WRLCK);
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
    ::close(ready[0]), ::close(ready[1]);
  }
}

TEST_F(LocalEngineHostile, ANumberThatIsAnothersNowRunsNothing) {
  const Identity us = ourselves();
  const JobSpec spec = shell("true");
  Launch order = launch({1, 1}, spec);
  order.owner.user = "somebody-who-left";
  if (us.user == std::to_string(us.uid)) GTEST_SKIP() << "we have no account here";
  begin(order);
  const RunReport end = wait_for_end({1, 1});
  EXPECT_EQ(end.kind, Kind::refused) << "it would be the same the next time";
  EXPECT_EQ(end.why, fmt::format("user somebody-who-left ({}): this number is now that of user {}: "
                                 "submit the job again",
                                 us.uid, us.user));
  EXPECT_FALSE(std::filesystem::exists(directory({1, 1})));
  engine_->forget({1, 1});
}

TEST_F(LocalEngineHostile, OnlyRootRunsOthersJobs) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  ASSERT_EQ(::chown(state_.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::seteuid(65534), 0);
  const JobSpec spec = shell("true");
  Launch order = launch({1, 1}, spec);
  order.owner = {.user = "ada", .uid = 1234, .gid = 1234};
  const auto refused = engine_->start(order);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "user ada (1234): the daemon runs as user 65534 and can run that user's jobs only");
}

}  // namespace
}  // namespace trainyard
