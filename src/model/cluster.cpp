#include "model/cluster.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include "base/toml_table.h"
#include "model/read_tiers.h"

namespace trainyard {
namespace {

constexpr std::int32_t kMilliCpusPerGpu = 12'000;
constexpr std::int32_t kMemoryMibPerGpu = 96 * 1024;

Machine machine_with(std::int64_t gpus, const Tier& rack_tier) {
  Machine machine;
  machine.nic_gbps = rack_tier.gbps;
  machine.capacity.gpus = static_cast<std::int32_t>(gpus);
  machine.capacity.milli_cpus = std::max(1, machine.capacity.gpus) * kMilliCpusPerGpu;
  machine.capacity.memory_mib = std::max(1, machine.capacity.gpus) * kMemoryMibPerGpu;
  return machine;
}

struct MachineGroup {
  std::int64_t count = 1;
  Machine machine;
  std::string kind;
};

Expected<MachineGroup> read_machine(const toml::table& table, std::string_view origin,
                                    const Tier& rack_tier) {
  TableReader in(table, origin);
  MachineGroup group;
  group.count = in.whole("count", 1, 1, kMaxMachines);
  group.machine = machine_with(in.whole("gpus", 8, 0, kMaxGpusPerMachine), rack_tier);
  group.kind = in.text("kind", "GPU");
  Resources& capacity = group.machine.capacity;
  capacity.milli_cpus = in.amount("cpus", capacity.milli_cpus, parse_cpus);
  capacity.memory_mib = in.amount("memory", capacity.memory_mib, parse_memory);
  if (const double nic_gbps = in.real("nic_gbps", 0); nic_gbps > 0)
    group.machine.nic_gbps = nic_gbps;
  group.machine.features = in.texts("features");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  return group;
}

Expected<void> read_rack(const toml::table& table, std::string_view origin, Cluster& cluster) {
  TableReader in(table, origin);
  const std::int64_t count = in.whole("count", 1, 1, kMaxMachines);
  const double uplink_gbps = in.real("uplink_gbps", 0);
  const toml::array* machines = in.tables("machine");
  if (auto ok = in.finish(); !ok) return ok;
  if (machines == nullptr)
    return fail("{}:{}: a rack without machines; add a [[rack.machine]] table", origin,
                table.source().begin.line);
  std::vector<MachineGroup> groups;
  for (const toml::node& node : *machines) {
    auto group = read_machine(*node.as_table(), origin, cluster.tiers[kRackTier]);
    if (!group) return tl::make_unexpected(group.error());
    groups.push_back(std::move(*group));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    cluster.add_rack(uplink_gbps);
    for (const MachineGroup& group : groups)
      if (auto ok = cluster.add_machines(group.count, group.machine, group.kind); !ok)
        return fail_at(origin, ok.error());
  }
  return {};
}

}  // namespace

std::string gpu_name(const Machine& machine, std::int32_t gpu) {
  const bool has_name = gpu >= 0 && gpu < std::ssize(machine.gpu_names);
  return has_name ? machine.gpu_names[static_cast<std::size_t>(gpu)] : std::to_string(gpu);
}

std::optional<std::int32_t> find_gpu(const Machine& machine, std::string_view name) {
  return find_gpu(machine.gpu_names, machine.capacity.gpus, name);
}

std::optional<std::int32_t> find_gpu(const std::vector<std::string>& gpu_names, std::int32_t count,
                                     std::string_view name) {
  if (!gpu_names.empty()) {
    const auto found = std::ranges::find(gpu_names, name);
    if (found == gpu_names.end()) return {};
    return static_cast<std::int32_t>(found - gpu_names.begin());
  }
  std::int32_t gpu = -1;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), gpu);
  const bool is_number = read.ec == std::errc() && read.ptr == name.data() + name.size();
  if (!is_number || gpu < 0 || gpu >= count) return {};
  return gpu;
}

void Cluster::set_gpus(MachineId id, std::vector<std::string> names) {
  Machine& machine = machines[index(id)];
  const auto count = static_cast<std::int32_t>(names.size());
  total_gpus += count - machine.capacity.gpus;
  largest_machine_gpus = std::max(largest_machine_gpus, count);
  machine.capacity.gpus = count;
  machine.gpu_names = std::move(names);
}

void Cluster::add_rack(double uplink_gbps) {
  racks.push_back({uplink_gbps, static_cast<std::uint32_t>(machines.size()), 0});
}

Expected<void> Cluster::add_machines(std::int64_t count, Machine machine, std::string_view kind) {
  if (count > static_cast<std::int64_t>(kMaxMachines - machines.size()))
    return fail("the cluster has more than {} machines", kMaxMachines);
  if (kinds.find(kind) == kinds.size() && kinds.size() >= 1000)
    return fail("the cluster has more than 1000 kinds of GPU");
  machine.kind = KindId{static_cast<std::uint16_t>(kinds.add(kind))};
  machine.rack = RackId{static_cast<std::uint32_t>(racks.size() - 1)};
  largest_machine_gpus = std::max(largest_machine_gpus, machine.capacity.gpus);
  for (std::int64_t i = 0; i < count; ++i) {
    machine.name = fmt::format("r{}m{}", index(machine.rack), racks.back().machine_count++);
    machines.push_back(machine);
    total_gpus += machine.capacity.gpus;
  }
  return {};
}

Expected<Cluster> parse_cluster_toml(std::string_view text, std::string_view origin) {
  const auto parsed = parse_toml(text, origin);
  if (!parsed) return tl::make_unexpected(parsed.error());
  TableReader in(*parsed, origin);
  const toml::array* racks = in.tables("rack");
  const toml::table* network = in.table("network");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  if (racks == nullptr)
    return fail("{}: no racks; describe at least one in a [[rack]] table", origin);
  auto tiers = read_tiers(network, origin);
  if (!tiers) return tl::make_unexpected(tiers.error());
  Cluster cluster;
  cluster.tiers = std::move(*tiers);
  for (const toml::node& node : *racks)
    if (auto ok = read_rack(*node.as_table(), origin, cluster); !ok)
      return tl::make_unexpected(ok.error());
  return cluster;
}

Expected<Cluster> parse_cluster_shorthand(std::string_view text) {
  const auto malformed = [&] {
    return fail(
        "{} is not a cluster; name a .toml file, or write machines x GPUs x kind as in "
        "16x8xV100, or racks x machines x GPUs x kind as in 4x16x8xV100",
        quoted(text));
  };
  std::vector<std::int64_t> numbers;
  std::string_view rest = text;
  while (numbers.size() < 3) {
    std::int64_t n = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
    if (status != std::errc{} || end == rest.data() + rest.size() || *end != 'x' || n < 1) break;
    numbers.push_back(n);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 1);
  }
  const bool is_kind = !rest.empty() && rest.size() <= 100 && (rest[0] < '0' || rest[0] > '9');
  if (numbers.size() < 2 || !is_kind) return malformed();
  if (numbers.size() == 2) numbers.insert(numbers.begin(), 1);
  if (numbers[2] > kMaxGpusPerMachine)
    return fail("{}: {} GPUs in a machine; {} is the most", quoted(text), numbers[2],
                kMaxGpusPerMachine);
  Cluster cluster;
  for (std::int64_t rack = 0; rack < numbers[0]; ++rack) {
    cluster.add_rack(0);
    if (auto ok = cluster.add_machines(numbers[1],
                                       machine_with(numbers[2], cluster.tiers[kRackTier]), rest);
        !ok)
      return fail_at(quoted(text), ok.error());
  }
  return cluster;
}

Expected<Cluster> read_cluster(const std::string& file_or_shorthand) {
  if (!file_or_shorthand.ends_with(".toml")) return parse_cluster_shorthand(file_or_shorthand);
  std::ifstream file(file_or_shorthand, std::ios::binary);
  if (!file) return fail("{}: cannot be opened; is the path right?", file_or_shorthand);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_cluster_toml(text.str(), file_or_shorthand);
}

std::string describe(const Cluster& cluster) {
  std::map<std::size_t, std::int64_t> by_kind;
  for (const Machine& m : cluster.machines) by_kind[index(m.kind)] += m.capacity.gpus;
  std::string kinds;
  for (const auto& [kind, gpus] : by_kind)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", gpus, cluster.kinds[kind]);
  const auto plural = [](std::size_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  return fmt::format("{}, {}, {} ({})", plural(cluster.racks.size(), "rack"),
                     plural(cluster.machines.size(), "machine"),
                     plural(static_cast<std::size_t>(cluster.total_gpus), "GPU"), kinds);
}

}  // namespace trainyard
