#include "live/supervisor/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "live/system/files.h"

namespace trainyard {
namespace {

/// `name` itself, and no group above it: others may use that.
void remove_groups(const CgroupPlaces& places, const std::string& name) {
  for (const std::string* root :
       {&places.unified, &places.cpu, &places.memory, &places.pids, &places.devices})
    if (!root->empty()) ::rmdir((*root + "/" + name).c_str());
}

TEST(Cgroups, AreFoundWhereverTheyAreMounted) {
  const CgroupPlaces places = mounted_cgroups(
      "22 1 0:20 / / rw - ext4 /dev/sda rw\n"
      "30 22 0:26 / /sys/fs/cgroup/strange\\040name rw,nosuid shared:9 - cgroup cgroup "
      "rw,cpuacct,cpu\n"
      "31 22 0:27 / /mnt/mem rw shared:10 master:3 - cgroup cgroup rw,memory\n"
      "32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "35 22 0:30 / /mnt/pids rw - cgroup cgroup rw,pids\n"
      "36 22 0:31 / /mnt/devices rw - cgroup cgroup rw,devices\n"
      "33 22 0:29 / /no/such/unified rw - cgroup2 cgroup2 rw\n"
      "34 torn line\n");
  EXPECT_EQ(places.cpu, "/sys/fs/cgroup/strange name");
  EXPECT_EQ(places.memory, "/mnt/mem");
  EXPECT_EQ(places.pids, "/mnt/pids");
  EXPECT_EQ(places.devices, "/mnt/devices");
  EXPECT_EQ(places.unified, "/no/such/unified");
  EXPECT_FALSE(places.unified_cpu || places.unified_memory || places.unified_pids)
      << "it has no controllers";
  EXPECT_EQ(mounted_cgroups(""), CgroupPlaces{});
}

/// Where nothing can be made there is no group, and asking it is harmless.
TEST(Cgroups, DoWithoutWhatIsNotThere) {
  const CgroupPlaces nowhere{.unified = "/no/such",
                             .cpu = "/no/such",
                             .pids = "/no/such",
                             .unified_cpu = true,
                             .unified_memory = true,
                             .unified_pids = true};
  RunCgroup group(nowhere, "trainyard/test/1.1");
  EXPECT_TRUE(group.make({.resources = {.gpus = 1, .milli_cpus = 1000, .memory_mib = 10}}));
  EXPECT_TRUE(group.directories().empty());
  EXPECT_TRUE(group.members().empty());
  EXPECT_FALSE(group.ran_out_of_memory());
  group.kill();
  group.remove();
  EXPECT_FALSE(RunCgroup(nowhere, "trainyard/test/1.1").make({.resources = {}, .processes = 5}))
      << "a limit that would not hold";
  EXPECT_FALSE(RunCgroup(nowhere, "trainyard/test/1.1")
                   .make({.resources = {}, .processes = 0, .denied = {{1, 5, 5}}}));
}

TEST(Cgroups, KillAllThatEntered) {
  const std::string parent = "trainyard/test" + std::to_string(::getpid());
  const CgroupPlaces places = usable_cgroups(parent);
  if (places == CgroupPlaces{}) GTEST_SKIP() << "no control groups can be made here";
  // Each place alone: where the unified one kills at once, the others are never asked to.
  for (const CgroupPlaces& only :
       {CgroupPlaces{.unified = places.unified}, CgroupPlaces{.cpu = places.cpu},
        CgroupPlaces{.memory = places.memory}, CgroupPlaces{.pids = places.pids}}) {
    if (only == CgroupPlaces{}) continue;
    RunCgroup group(only, parent + "/1.1");
    ASSERT_TRUE(group.make({}));
    ASSERT_EQ(group.directories().size(), 1U);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (!write_to(group.directories()[0] + "/cgroup.procs", "0")) ::_exit(1);
      for (;;) ::pause();
    }
    for (int tries = 0; tries < 10'000 && group.members().empty(); ++tries) ::usleep(1000);
    EXPECT_EQ(group.members(), std::vector<pid_t>{child});
    group.kill();
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    EXPECT_TRUE(group.members().empty());
    group.remove();
    EXPECT_FALSE(std::filesystem::exists(group.directories()[0]));
  }
  remove_groups(places, parent);
}

/// A group of v2 for one test, as systemd would have made it for a unit.
class DelegatedGroup : public testing::Test {
 protected:
  void SetUp() override {
    top_ = mounted_cgroups(read_small_file("/proc/self/mountinfo").value()).unified;
    name_ = "trainyard-test-" + std::to_string(::getpid());
    if (top_.empty() || ::mkdir(path().c_str(), 0755) != 0)
      GTEST_SKIP() << "no group of v2 can be made here";
  }
  void TearDown() override {
    if (child_ > 0) ::kill(child_, SIGKILL), ::waitpid(child_, nullptr, 0);
    for (const char* below : {"/daemon.service/processes", "/daemon.service",
                              "/trainyard-runs.service", "/processes", ""})
      ::rmdir((path() + below).c_str());
  }
  [[nodiscard]] std::string path() const { return top_ + "/" + name_; }
  void delegate(const std::string& group) {
    ::mkdir(group.c_str(), 0755);
    if (::setxattr(group.c_str(), "trusted.delegate", "1", 1, 0) != 0)
      GTEST_SKIP() << "no mark can be set here";
  }

  std::string top_, name_;
  pid_t child_ = 0;
};

TEST_F(DelegatedGroup, RunsGoWhereSystemdLeavesThemAlone) {
  const std::string own = "/" + name_ + "/daemon.service";
  const std::string groups = "8:pids:/elsewhere\n0::" + own + "\n";
  ::mkdir((top_ + own).c_str(), 0755);
  EXPECT_EQ(group_for_runs(top_, groups), top_) << "nothing is delegated";
  delegate(top_ + own);
  EXPECT_EQ(group_for_runs(top_, groups), top_ + own);
  delegate(path() + "/trainyard-runs.service");
  EXPECT_EQ(group_for_runs(top_, groups), path() + "/trainyard-runs.service");
  EXPECT_EQ(group_for_runs(top_, "0::/\n"), top_);
  EXPECT_EQ(group_for_runs(top_, ""), top_) << "v1 alone";
}

/// The controller stands in for those that limit runs, which v1 may have here.
TEST_F(DelegatedGroup, MovesItsProcessesBeforeItHandsControllersDown) {
  const std::string all = read_small_file(top_ + "/cgroup.controllers").value();
  const std::string one = "+" + all.substr(0, all.find_first_of(" \n"));
  if (one == "+" || !hand_down(top_, one)) GTEST_SKIP() << "v2 has no controllers here";
  child_ = ::fork();
  if (child_ == 0)
    for (;;) ::pause();
  ASSERT_TRUE(write_to(path() + "/cgroup.procs", std::to_string(child_)));
  EXPECT_FALSE(write_to(path() + "/cgroup.subtree_control", one)) << "or nothing was tested";
  EXPECT_TRUE(hand_down(path(), one));
  EXPECT_EQ(read_small_file(path() + "/processes/cgroup.procs").value(),
            std::to_string(child_) + "\n");
  EXPECT_EQ(read_small_file(path() + "/cgroup.subtree_control").value(), one.substr(1) + "\n");
  EXPECT_TRUE(hand_down(path(), one)) << "as every start of a daemon and of a run does";
}

/// A fork bomb within a limit: all of it fails but what the limit allows, and it can be killed.
TEST(Cgroups, AForkBombStaysWithinItsLimitAndDies) {
  const std::string top = "trainyard-bomb-" + std::to_string(::getpid()), parent = top + "/state";
  const CgroupPlaces places = usable_cgroups(parent);
  if (!places.limits_processes()) GTEST_SKIP() << "no pids controller can be used here";
  ASSERT_TRUE(limit_all_processes(places, top, 60));
  RunCgroup first(places, parent + "/1.1"), second(places, parent + "/2.1");
  std::vector<pid_t> bombs;
  for (RunCgroup* group : {&first, &second}) {
    ASSERT_TRUE(group->make({.resources = {}, .processes = 40}));
    const pid_t bomb = ::fork();
    ASSERT_GE(bomb, 0);
    if (bomb == 0) {
      for (const std::string& directory : group->directories())
        if (!write_to(directory + "/cgroup.procs", "0")) ::_exit(1);
      for (;;)
        if (::fork() < 0) ::usleep(1000);  // each of them goes on
    }
    bombs.push_back(bomb);
  }
  const auto count = [&](const std::string& name) {
    return std::atoi(
        read_small_file(places.of_processes() + "/" + name + "/pids.current").value().c_str());
  };
  for (int tries = 0; tries < 10'000 && count(top) < 60; ++tries) ::usleep(1000);
  EXPECT_EQ(count(top), 60) << "their parent's limit";
  EXPECT_LE(count(parent + "/1.1"), 40);
  EXPECT_LE(count(parent + "/2.1"), 40);
  for (RunCgroup* group : {&first, &second}) {
    for (int tries = 0; tries < 10'000 && !group->members().empty(); ++tries) {
      group->kill();
      for (const pid_t bomb : bombs) ::waitpid(bomb, nullptr, WNOHANG);
    }
    EXPECT_TRUE(group->members().empty());
    group->remove();
  }
  remove_groups(places, parent);
  remove_groups(places, top);
}

}  // namespace
}  // namespace trainyard
