#include "live/supervisor/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "live/system/files.h"

namespace trainyard {
namespace {

TEST(Cgroups, AreFoundWhereverTheyAreMounted) {
  const CgroupPlaces places = mounted_cgroups(
      "22 1 0:20 / / rw - ext4 /dev/sda rw\n"
      "30 22 0:26 / /sys/fs/cgroup/strange\\040name rw,nosuid shared:9 - cgroup cgroup "
      "rw,cpuacct,cpu\n"
      "31 22 0:27 / /mnt/mem rw shared:10 master:3 - cgroup cgroup rw,memory\n"
      "32 22 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "35 22 0:30 / /mnt/pids rw - cgroup cgroup rw,pids\n"
      "33 22 0:29 / /no/such/unified rw - cgroup2 cgroup2 rw\n"
      "34 torn line\n");
  EXPECT_EQ(places.cpu, "/sys/fs/cgroup/strange name");
  EXPECT_EQ(places.memory, "/mnt/mem");
  EXPECT_EQ(places.pids, "/mnt/pids");
  EXPECT_EQ(places.unified, "/no/such/unified");
  EXPECT_FALSE(places.unified_cpu || places.unified_memory || places.unified_pids)
      << "it has no controllers";
  EXPECT_EQ(mounted_cgroups(""), CgroupPlaces{});
}

/// Where nothing can be made there is no group, and asking it is harmless.
TEST(Cgroups, DoWithoutWhatIsNotThere) {
  RunCgroup group({.unified = "/no/such",
                   .cpu = "/no/such",
                   .memory = "",
                   .pids = "/no/such",
                   .unified_cpu = true,
                   .unified_memory = true,
                   .unified_pids = true},
                  "trainyard/test/1.1");
  group.make({.gpus = 1, .milli_cpus = 1000, .memory_mib = 10});
  EXPECT_TRUE(group.directories().empty());
  EXPECT_TRUE(group.members().empty());
  EXPECT_FALSE(group.ran_out_of_memory());
  group.kill();
  group.remove();
}

TEST(Cgroups, KillAllThatEntered) {
  const std::string parent = "trainyard/test" + std::to_string(::getpid());
  const CgroupPlaces places = usable_cgroups(parent);
  if (places == CgroupPlaces{}) GTEST_SKIP() << "no control groups can be made here";
  // Each place alone: where the unified one kills at once, the others are never asked to.
  for (const CgroupPlaces& only : {CgroupPlaces{places.unified, "", "", "", false, false, false},
                                   CgroupPlaces{"", places.cpu, "", "", false, false, false},
                                   CgroupPlaces{"", "", places.memory, "", false, false, false},
                                   CgroupPlaces{"", "", "", places.pids, false, false, false}}) {
    if (only == CgroupPlaces{}) continue;
    RunCgroup group(only, parent + "/1.1");
    group.make({});
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
  for (const std::string* root : {&places.unified, &places.cpu, &places.memory, &places.pids})
    if (!root->empty()) ::rmdir((*root + "/" + parent).c_str());
}

}  // namespace
}  // namespace trainyard
