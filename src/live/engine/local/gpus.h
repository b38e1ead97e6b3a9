// Which GPUs this machine has: asked of NVIDIA's library (NVML) if it is installed, else of
// nvidia-smi, else none. Numbers are the driver's, in the order of the PCI bus. Where MIG divides a
// GPU, its instances are the GPUs, with its number and device node and UUIDs of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace trainyard {

struct Gpu {
  std::int32_t number = 0;  // the driver's
  std::string kind;         // "A100-SXM4-40GB"
  std::string
      uuid;  // "GPU-...", "MIG-...": the same for everybody on this machine; empty: not told
  /// The N of /dev/nvidiaN, which need not be `number`. Only NVML says it.
  std::optional<std::int32_t> device_minor{};

  bool operator==(const Gpu&) const = default;
};

/// What tells it from all others: its UUID. Where the driver tells none, its number, which is at
/// least the same for everybody: "number-3".
std::string name(const Gpu& gpu);

/// Nothing where the source is missing or fails.
using FoundGpus = std::optional<std::vector<Gpu>>;

/// Loaded at run time: the daemon also runs where no driver is.
FoundGpus gpus_from_nvml(const std::string& library);
/// A driver that hangs is not waited for longer than `patience`.
FoundGpus gpus_from_nvidia_smi(const std::string& program, Duration patience = seconds(15));

/// From the first of the two that answers.
FoundGpus find_gpus(const std::string& library = "libnvidia-ml.so.1",
                    const std::string& program = "nvidia-smi");

/// What is common to all names goes: "NVIDIA Tesla V100-SXM2-16GB" is "V100-SXM2-16GB".
std::string gpu_kind(std::string_view product_name);

}  // namespace trainyard
