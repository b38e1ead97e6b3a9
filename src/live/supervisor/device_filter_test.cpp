// Devices are stood in for by harmless ones: /dev/null is "GPU 0", /dev/zero "GPU 1".
#include "live/supervisor/device_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "live/supervisor/cgroup.h"
#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr std::uint32_t kMemory = 1, kNull = 3, kZero = 5;

/// Whether groups of v2 (true) or of v1.
class DeviceFilter : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const CgroupPlaces all = usable_cgroups(parent_);
    if (GetParam() && all.unified_devices)
      places_ = {.unified = all.unified, .unified_devices = true};
    if (!GetParam())
      places_.devices = mounted_cgroups(read_small_file("/proc/self/mountinfo").value()).devices;
    if (!places_.limits_devices()) GTEST_SKIP() << "devices of groups cannot be confined here";
    root_ = std::filesystem::temp_directory_path() / "trainyard-devices-XXXXXX";
    ASSERT_NE(::mkdtemp(root_.data()), nullptr);
    make_node("gpu0", kNull), make_node("gpu1", kZero);
  }
  void TearDown() override {
    for (const char* below : {"/1.1", ""}) {
      ::rmdir((places_.unified + "/" + parent_ + below).c_str());
      ::rmdir((places_.devices + "/" + parent_ + below).c_str());
    }
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  void make_node(const char* name, std::uint32_t minor) {
    if (::mknod((root_ + "/" + name).c_str(), S_IFCHR | 0666, ::makedev(kMemory, minor)) != 0)
      GTEST_SKIP() << "no device node can be made here";
  }

  /// What a process of the group, or its child, gets for opening one: 0 or errno.
  int open_within(const RunCgroup& group, const std::string& path, bool as_child = false) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (const std::string& directory : group.directories())
        if (!write_to(directory + "/cgroup.procs", "0")) ::_exit(255);
      if (as_child) {
        const pid_t child = ::fork();
        int status = 0;
        if (child > 0) ::waitpid(child, &status, 0), ::_exit(WEXITSTATUS(status));
      }
      ::_exit(::open(path.c_str(), O_RDWR) >= 0 ? 0 : errno);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
  }

  const std::string parent_ = "trainyard/devices" + std::to_string(::getpid());
  CgroupPlaces places_;
  std::string root_;
};

TEST_P(DeviceFilter, ClosesTheDevicesOfOthersOnly) {
  RunCgroup group(places_, parent_ + "/1.1");
  const auto made = group.make(
      {.resources = {}, .processes = 0, .denied = {{kMemory, kZero, kZero}, {250, 0, 100}}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(open_within(group, root_ + "/gpu0"), 0) << "its own";
  EXPECT_EQ(open_within(group, root_ + "/gpu1"), EPERM) << "another's";
  EXPECT_EQ(open_within(group, "/dev/zero"), EPERM) << "by whatever name";
  EXPECT_EQ(open_within(group, "/dev/urandom"), 0) << "no GPU";
  EXPECT_EQ(open_within(group, root_ + "/gpu1", true), EPERM) << "for a process born later";
  EXPECT_GE(Descriptor(::open("/dev/zero", O_RDONLY)).get(), 0) << "not for others";
  // As found again by the next daemon: nothing keeps the rule but the group itself.
  const RunCgroup found(places_, parent_ + "/1.1");
  EXPECT_EQ(open_within(found, root_ + "/gpu1"), EPERM);
  EXPECT_EQ(open_within(found, root_ + "/gpu0"), 0);
}

TEST_P(DeviceFilter, ManyRangesFitInOneProgram) {
  RunCgroup group(places_, parent_ + "/1.1");
  std::vector<DeviceRange> many;
  for (std::uint32_t minor = 0; minor < 254; minor += 2) many.push_back({250, minor, minor});
  many.push_back({kMemory, 4, 6});
  const auto made = group.make({.resources = {}, .processes = 0, .denied = many});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(open_within(group, root_ + "/gpu1"), EPERM) << "in the middle of the last range";
  EXPECT_EQ(open_within(group, root_ + "/gpu0"), 0);
}

INSTANTIATE_TEST_SUITE_P(, DeviceFilter, testing::Bool(),
                         [](const auto& way) { return way.param ? "Unified" : "V1"; });

}  // namespace
}  // namespace trainyard
