#include "live/engine/local/gpu_devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace trainyard {
namespace {

TEST(GpuDevices, AreReadFromTheDriversTables) {
  const GpuDevices devices = parse_gpu_devices(
      "Character devices:\n  1 mem\n195 nvidia-frontend\n236 nvidia-caps\n237 nvidia-uvm\n\n"
      "Block devices:\n195 nvidia\n",
      "config 1\nmonitor 2\ngpu0/gi0/access 3\ngpu0/gi0/ci0/access 4\ngpu12/gi1/access 1632\n");
  EXPECT_EQ(devices, (GpuDevices{195, 236, {{0, 3}, {0, 4}, {12, 1632}}}));
  EXPECT_EQ(parse_gpu_devices("  1 mem\n195 nvidia\n", "").major, 195U) << "as newer drivers say";
  EXPECT_EQ(parse_gpu_devices("", "gpux/gi0/access 3\ngpu/access 4\ntorn"), GpuDevices{});
}

TEST(GpuDevices, OfOthersAreDenied) {
  const GpuDevices devices{195, 236, {{0, 3}, {1, 70}, {1, 71}, {2, 140}}};
  const std::vector<std::uint32_t> own{2, 0};
  EXPECT_EQ(devices_of_other_gpus(devices, own),
            (std::vector<DeviceRange>{{195, 1, 1}, {195, 3, 253}, {236, 70, 71}}));
  EXPECT_EQ(devices_of_other_gpus(devices, {}),
            (std::vector<DeviceRange>{{195, 0, 253}, {236, 3, 3}, {236, 70, 71}, {236, 140, 140}}))
      << "stand-ins have no GPU";
  EXPECT_TRUE(devices_of_other_gpus({}, own).empty()) << "no driver, no devices";
}

TEST(GpuDevices, AreToldApartOnlyIfAllAreKnown) {
  std::vector<Gpu> gpus(2);
  gpus[0].device_minor = 3, gpus[1].device_minor = 0;
  EXPECT_EQ(device_minors(gpus), (std::vector<std::uint32_t>{3, 0}));
  gpus[1].device_minor.reset();
  EXPECT_TRUE(device_minors(gpus).empty());
}

/// Every minor number is denied exactly if it is another GPU's, whichever GPUs a run has.
TEST(GpuDevices, EachIsDeniedUnlessItIsOnesOwn) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t minor = 0; minor < 254; ++minor)
      if (random() % 16 == 0) own.push_back(minor);
    std::ranges::shuffle(own, random);
    const auto denied = devices_of_other_gpus({.major = 195}, own);
    for (std::uint32_t minor = 0; minor < 256; ++minor) {
      const bool is_denied = std::ranges::any_of(denied, [&](const DeviceRange& range) {
        return range.first <= minor && minor <= range.last;
      });
      const bool is_own = std::ranges::find(own, minor) != own.end();
      ASSERT_EQ(is_denied, minor < 254 && !is_own) << minor;
    }
  }
}

}  // namespace
}  // namespace trainyard
