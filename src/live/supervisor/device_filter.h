// Keeps the processes of a control group from opening devices of others: GPUs that their job was
// not given. CUDA_VISIBLE_DEVICES is a request; this is what holds against a job that ignores it.
//
//   v2   a BPF program on the group, which the kernel asks at every open and mknod, and which lives
//        as long as the group. It needs CAP_BPF and CAP_NET_ADMIN. Programs of groups above go
//        on holding beside it
//   v1   one line in devices.deny for each device
//
// Both hold for whatever processes there will be in the group, with or without a daemon.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace trainyard {

/// Character devices of one major number, from minor `first` to `last` inclusive.
struct DeviceRange {
  std::uint32_t major = 0, first = 0, last = 0;

  bool operator==(const DeviceRange&) const = default;
};

/// Denies these devices to a group of v2, given by its directory. All others stay as they are.
Expected<void> deny_devices_in(const std::string& group, const std::vector<DeviceRange>& devices);
/// The same for a group of v1.
Expected<void> deny_devices_in_v1(const std::string& group,
                                  const std::vector<DeviceRange>& devices);

}  // namespace trainyard
