// Any bytes as a cluster, in TOML and in short: an error, or machines whose racks and kinds exist,
// and tiers of which the last holds any two of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/cluster.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const Expected<Cluster>& cluster) {
  if (!cluster) return require(!cluster.error().message.empty());
  require(!cluster->machines.empty() && cluster->machines.size() <= kMaxMachines);
  std::int64_t gpus = 0;
  for (const Machine& machine : cluster->machines) {
    require(index(machine.rack) < cluster->racks.size());
    require(index(machine.kind) < cluster->kinds.size());
    require(machine.capacity.gpus >= 0 && machine.capacity.gpus <= kMaxGpusPerMachine);
    gpus += machine.capacity.gpus;
  }
  require(gpus == cluster->total_gpus);
  require(!describe(*cluster).empty());
  require(cluster->tiers.size() >= 3 && cluster->tiers.size() <= kMaxTiers);
  for (const Tier& tier : cluster->tiers) require(tier.link_gbps() > 0 && tier.latency_us >= 0);
  const auto last = static_cast<std::uint32_t>(cluster->machines.size() - 1);
  require(tier_of(*cluster, {{MachineId{0}, 1}, {MachineId{last}, 1}}) < cluster->tiers.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(parse_cluster_toml(text, "input"));
  check(parse_cluster_shorthand(text));
  return 0;
}
