#include "live/engine/local/gpu_devices.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr std::uint32_t kLastGpuMinor = 253;  // 254 is nvidia-modeset, 255 nvidiactl

/// "gpu3/gi7/ci0/access": of GPU 3. "config" and "monitor" are of none.
bool parse_gpu(std::string_view capability, std::uint32_t& gpu) {
  if (!capability.starts_with("gpu")) return false;
  const char* end = capability.data() + capability.size();
  const auto [at, wrong] = std::from_chars(capability.data() + 3, end, gpu);
  return wrong == std::errc() && at != end && *at == '/';
}

/// The parts of a GPU have consecutive numbers: a range for each GPU, not for each part.
void append(std::uint32_t major, std::uint32_t minor, std::vector<DeviceRange>& ranges) {
  if (!ranges.empty() && ranges.back().major == major && ranges.back().last + 1 == minor)
    ++ranges.back().last;
  else
    ranges.push_back({major, minor, minor});
}

}  // namespace

GpuDevices parse_gpu_devices(std::string_view devices, std::string_view mig_minors) {
  GpuDevices found;
  std::istringstream lines{std::string(devices)};
  for (std::string line; std::getline(lines, line) && line != "Block devices:";) {
    std::istringstream words(line);
    std::uint32_t major = 0;
    std::string name;
    if (!(words >> major >> name)) continue;
    if (name == "nvidia" || name == "nvidia-frontend") found.major = major;
    if (name == "nvidia-caps") found.parts_major = major;
  }
  std::istringstream capabilities{std::string(mig_minors)};
  std::string name;
  GpuDevices::Part part;
  while (capabilities >> name >> part.minor)
    if (parse_gpu(name, part.gpu)) found.parts.push_back(part);
  return found;
}

GpuDevices gpu_devices_of_this_machine() {
  return parse_gpu_devices(read_small_file("/proc/devices").value_or(""),
                           read_small_file("/proc/driver/nvidia-caps/mig-minors").value_or(""));
}

std::vector<std::uint32_t> device_minors(const std::vector<Gpu>& gpus) {
  std::vector<std::uint32_t> minors;
  for (const Gpu& gpu : gpus) {
    if (!gpu.device_minor) return {};
    minors.push_back(static_cast<std::uint32_t>(*gpu.device_minor));
  }
  return minors;
}

std::vector<DeviceRange> devices_of_other_gpus(const GpuDevices& devices,
                                               std::span<const std::uint32_t> own) {
  std::vector<DeviceRange> others;
  if (devices.major == 0) return others;
  std::vector<std::uint32_t> kept(own.begin(), own.end());
  std::ranges::sort(kept);
  std::uint32_t next = 0;
  for (const std::uint32_t minor : kept) {
    if (next < minor) others.push_back({devices.major, next, minor - 1});
    next = minor + 1;
  }
  if (next <= kLastGpuMinor) others.push_back({devices.major, next, kLastGpuMinor});
  if (devices.parts_major == 0) return others;
  for (const GpuDevices::Part& part : devices.parts)
    if (!std::ranges::binary_search(kept, part.gpu))
      append(devices.parts_major, part.minor, others);
  return others;
}

}  // namespace trainyard
