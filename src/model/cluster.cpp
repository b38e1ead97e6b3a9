#include "model/cluster.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/toml.h"

namespace trainyard {
namespace {

constexpr std::int32_t kMilliCpusPerGpu = 12'000;
constexpr std::int32_t kMemoryMibPerGpu = 96 * 1024;

Machine machine_with(std::int64_t gpus) {
  Machine machine;
  machine.capacity.gpus = static_cast<std::int32_t>(gpus);
  machine.capacity.milli_cpus = std::max(1, machine.capacity.gpus) * kMilliCpusPerGpu;
  machine.capacity.memory_mib = std::max(1, machine.capacity.gpus) * kMemoryMibPerGpu;
  return machine;
}

/// Reads the fields of one table and complains about those it does not know. Every error names
/// file, line, field and value.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string_view origin) : table_(table), origin_(origin) {}

  std::int64_t whole(std::string_view key, std::int64_t fallback, std::int64_t low,
                     std::int64_t high) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    const auto value = node->value_exact<std::int64_t>();
    if (value && *value >= low && *value <= high) return *value;
    complain(*node, key, fmt::format("a whole number from {} to {}", low, high));
    return fallback;
  }

  double real(std::string_view key, double fallback) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    const auto value = node->value<double>();
    if (node->is_number() && value && *value >= 0 && *value < 1e9) return *value;
    complain(*node, key, "a number from 0 to 1e9");
    return fallback;
  }

  std::string text(std::string_view key, std::string fallback) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    auto value = node->value_exact<std::string>();
    if (value && !value->empty() && value->size() <= 100) return *value;
    complain(*node, key, "a text of 1 to 100 characters");
    return fallback;
  }

  /// A number, or a text that `parse` understands.
  template <class Parse>
  std::int32_t amount(std::string_view key, std::int32_t fallback, Parse parse) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    const auto parsed = parse(written(*node));
    if (parsed) return *parsed;
    if (!error_) error_ = fmt::format("{}: {}: {}", where(*node), key, parsed.error().message);
    return fallback;
  }

  const toml::array* tables(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return nullptr;
    if (node->is_array_of_tables()) return node->as_array();
    complain(*node, key, fmt::format("one or more [[{}]] tables", key));
    return nullptr;
  }

  /// After all fields are read: the first error, also for a field that nobody asked for.
  Expected<void> finish() {
    for (const auto& [key, node] : table_)
      if (!seen_.contains(key.str()) && !error_)
        error_ = fmt::format("{}:{}: unknown field {}{}", origin_, key.source().begin.line,
                             quoted(key.str()), did_you_mean(key.str(), seen_));
    if (error_) return tl::make_unexpected(Error{*error_});
    return {};
  }

 private:
  const toml::node* find(std::string_view key) {
    seen_.emplace(key);
    return table_.get(key);
  }

  void complain(const toml::node& node, std::string_view key, std::string_view wanted) {
    if (error_) return;
    error_ = fmt::format("{}: {} = {}; it must be {}", where(node), key,
                         trainyard::quoted(written(node)), wanted);
  }

  [[nodiscard]] std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", origin_, node.source().begin.line);
  }

  /// The value as in the file, a text without its quotation marks.
  static std::string written(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (node.is_number()) return fmt::format("{}", *node.value<double>());
    std::ostringstream out;
    node.visit([&](const auto& value) { out << value; });
    return out.str();
  }

  const toml::table& table_;
  std::string_view origin_;
  std::set<std::string, std::less<>> seen_;
  std::optional<std::string> error_;
};

struct MachineGroup {
  std::int64_t count = 1;
  Machine machine;
  std::string kind;
};

Expected<MachineGroup> read_machine(const toml::table& table, std::string_view origin) {
  TableReader in(table, origin);
  MachineGroup group;
  group.count = in.whole("count", 1, 1, kMaxMachines);
  group.machine = machine_with(in.whole("gpus", 8, 0, kMaxGpusPerMachine));
  group.kind = in.text("kind", "GPU");
  Resources& capacity = group.machine.capacity;
  capacity.milli_cpus = in.amount("cpus", capacity.milli_cpus, parse_cpus);
  capacity.memory_mib = in.amount("memory", capacity.memory_mib, parse_memory);
  group.machine.nic_gbps = in.real("nic_gbps", group.machine.nic_gbps);
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
    auto group = read_machine(*node.as_table(), origin);
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
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return fail("{}:{}: {}", origin, parsed.error().source().begin.line,
                parsed.error().description());
  TableReader in(parsed.table(), origin);
  const toml::array* racks = in.tables("rack");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  if (racks == nullptr)
    return fail("{}: no racks; describe at least one in a [[rack]] table", origin);
  Cluster cluster;
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
    if (auto ok = cluster.add_machines(numbers[1], machine_with(numbers[2]), rest); !ok)
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
