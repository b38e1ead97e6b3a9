// The cluster: racks of machines, machines of GPUs of one kind each. Described in TOML, or by
// "16x8xV100": 16 machines of 8 V100 each ("4x16x8xV100": in 4 racks of 16).
//
//   [[rack]]                      # every table: one rack or `count` alike
//   count = 4
//   uplink_gbps = 400             # what its machines share towards other racks; 0: no limit
//   [[rack.machine]]
//   count = 16
//   gpus = 8
//   kind = "V100"
//   cpus = 96                     # default 12 for each GPU
//   memory = "768GiB"             # default 96 GiB for each GPU
//   nic_gbps = 100                # default that of [network.rack]
//   features = ["ib", "nvlink"]   # what a job's constraint may ask for, see constraint.h
//
// What lies between machines and racks is the optional [network], see tiers.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/names.h"
#include "base/resources.h"
#include "model/tiers.h"

namespace trainyard {

struct Machine {
  RackId rack{0};
  KindId kind{0};
  Resources capacity;
  double nic_gbps = 1600;
  std::string name;                        // "r0m3": the fourth machine of the first rack
  std::vector<std::string> features = {};  // declared, beside those by name and kind
  /// Which GPUs these are, by number: their UUIDs. Empty where they have none; see gpu_name().
  std::vector<std::string> gpu_names;
};

/// What tells a GPU from all others of its machine, also when their numbers change: its UUID. A GPU
/// without one, or that the machine does not have, is called by its number: "3".
std::string gpu_name(const Machine& machine, std::int32_t gpu);
/// The number of the GPU of this name, if the machine has it; or if one of `count` GPUs of these
/// names is it.
std::optional<std::int32_t> find_gpu(const Machine& machine, std::string_view name);
std::optional<std::int32_t> find_gpu(const std::vector<std::string>& gpu_names, std::int32_t count,
                                     std::string_view name);

struct Rack {
  double uplink_gbps = 0;  // 0: no limit
  std::uint32_t first_machine = 0;
  std::uint32_t machine_count = 0;
};

/// At most this many GPUs in one machine: the yard keeps machines by their number of free GPUs.
constexpr std::int32_t kMaxGpusPerMachine = 1024;
constexpr std::size_t kMaxMachines = 1'000'000;

struct Cluster {
  std::vector<Machine> machines;  // those of a rack stand together
  std::vector<Rack> racks;
  std::vector<Tier> tiers = default_tiers();  // innermost first, at least three
  Names kinds;
  std::int32_t total_gpus = 0;
  std::int32_t largest_machine_gpus = 0;

  [[nodiscard]] const Machine& machine(MachineId id) const { return machines[index(id)]; }

  /// A rack without machines yet; those added next stand in it.
  void add_rack(double uplink_gbps);
  /// The machine has these GPUs from now on, in this order.
  void set_gpus(MachineId machine, std::vector<std::string> names);
  /// `count` machines like this one (its rack, kind and name are set here) in the last rack.
  Expected<void> add_machines(std::int64_t count, Machine machine, std::string_view kind);
};

/// A file in TOML (its name ends in .toml) or a short description like "16x8xV100".
Expected<Cluster> read_cluster(const std::string& file_or_shorthand);
/// The TOML itself; `origin` names it in errors.
Expected<Cluster> parse_cluster_toml(std::string_view text, std::string_view origin);
Expected<Cluster> parse_cluster_shorthand(std::string_view text);

/// "2 racks, 32 machines, 256 GPUs (256 V100)".
std::string describe(const Cluster& cluster);

}  // namespace trainyard
