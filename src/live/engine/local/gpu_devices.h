// The device files by which processes reach NVIDIA's GPUs, as numbers, and those that a run is to
// be denied. Nodes that all GPUs share (/dev/nvidiactl, /dev/nvidia-modeset, /dev/nvidia-uvm) stay
// open, as do all devices that are no GPUs.
//
//   /dev/nvidiaN           minor N of the driver's major; N is the GPU's minor number, which need
//                          not be its index
//   /dev/nvidia-caps/...   a minor for each part of a GPU (MIG) in a major of their own
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "live/engine/local/gpus.h"
#include "live/supervisor/device_filter.h"

namespace trainyard {

struct GpuDevices {
  struct Part {
    std::uint32_t gpu = 0;    // its minor number
    std::uint32_t minor = 0;  // of the part's capability

    bool operator==(const Part&) const = default;
  };
  std::uint32_t major = 0;  // 0: no driver is loaded
  std::uint32_t parts_major = 0;
  std::vector<Part> parts{};

  bool operator==(const GpuDevices&) const = default;
};

/// From the texts of /proc/devices and /proc/driver/nvidia-caps/mig-minors.
GpuDevices parse_gpu_devices(std::string_view devices, std::string_view mig_minors);
GpuDevices gpu_devices_of_this_machine();

/// The minor number of each; none at all if that of one is not known.
std::vector<std::uint32_t> device_minors(const std::vector<Gpu>& gpus);

/// Everything but the GPUs with the minor numbers `own` and their parts. Also denies GPUs that do
/// not exist yet. Empty if no driver is loaded.
std::vector<DeviceRange> devices_of_other_gpus(const GpuDevices& devices,
                                               std::span<const std::uint32_t> own);

}  // namespace trainyard
