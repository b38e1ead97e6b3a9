#include "live/flow_agent/flow_rules.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "live/job/bounded_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

/// A class that has nothing for sure still needs a rate.
constexpr double kLeastMbit = 0.008;
constexpr const char* kNftRoot = "/sys/fs/cgroup";  // where nft looks, whatever is mounted there

std::uint32_t minor_of(std::size_t flow_class) {
  return 0x10 + static_cast<std::uint32_t>(flow_class);
}

std::string rule(std::string_view chain, std::string_view text) {
  return fmt::format("add rule inet {} {} {}", kFlowTable, chain, text);
}

/// HTB takes a packet's priority for the class that it goes into.
std::string priority(std::size_t flow_class) {
  return fmt::format("meta priority set 0x{:08x}", (kQueueHandle << 16U) + minor_of(flow_class));
}

std::string class_chain(const FlowHost& host, std::size_t flow_class) {
  const std::string chain = fmt::format("class{}", flow_class);
  const int code_point = host.code_points[flow_class];
  std::string text =
      fmt::format("add counter inet {0} bytes_{1}; add chain inet {0} {1}; ", kFlowTable, chain);
  text += rule(chain, fmt::format("counter name bytes_{}", chain));
  text += "; " + rule(chain, fmt::format("ip dscp set {}", code_point));
  text += "; " + rule(chain, fmt::format("ip6 dscp set {}", code_point));
  if (host.has_queue()) text += "; " + rule(chain, priority(flow_class));
  return text;
}

/// What is no job's goes with the last class, and has none of our code points.
std::string other_chain(const FlowHost& host) {
  std::vector<int> ours;
  for (const int code_point : host.code_points)
    if (code_point != 0) ours.push_back(code_point);
  std::string text =
      fmt::format("add counter inet {0} bytes_other; add chain inet {0} other; ", kFlowTable);
  text += rule("other", "counter name bytes_other");
  if (!ours.empty())
    for (const char* protocol : {"ip", "ip6"})
      text += "; " + rule("other", fmt::format("{0} dscp {{ {1} }} {0} dscp set 0", protocol,
                                               fmt::join(ours, ", ")));
  if (host.has_queue()) text += "; " + rule("other", priority(host.classes() - 1));
  return text;
}

std::string out_rules(const FlowHost& host, const std::set<std::size_t>& levels, bool has_users) {
  std::string text;
  for (const std::size_t level : levels)
    text += rule("out", fmt::format("oifname \"{}\" socket cgroupv2 level {} vmap @groups",
                                    host.interface, level)) +
            "; ";
  if (has_users)
    text +=
        rule("out", fmt::format("oifname \"{}\" meta skuid vmap @users", host.interface)) + "; ";
  return text + rule("out", fmt::format("oifname \"{}\" goto other", host.interface));
}

std::string job_rules(const std::string& name, const JobMark& mark) {
  const std::string chain = "job_" + name;
  return rule(chain, fmt::format("counter name bytes_{}", chain)) + "; " +
         rule(chain, fmt::format("goto class{}", mark.flow_class));
}

std::uint64_t bytes_of(const json& counter) {
  const auto bytes = counter.find("bytes");
  return bytes != counter.end() && bytes->is_number_unsigned() ? bytes->get<std::uint64_t>() : 0;
}

}  // namespace

std::string CgroupMount::path(std::string_view name) const {
  return fmt::format("{}/{}", directory, name);
}

std::string CgroupMount::for_nft(std::string_view name) const {
  return path(name).substr(std::string_view(kNftRoot).size() + 1);
}

std::size_t CgroupMount::level(std::string_view for_nft) const {
  const auto parts = [](std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '/'));
  };
  return parts(for_nft) + parts(kNftRoot) + 1 - parts(directory);
}

Expected<CgroupMount> find_cgroup_mount(std::string_view mountinfo) {
  std::string elsewhere;
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    const std::string_view line = mountinfo.substr(0, end);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
    const std::size_t dash = line.find(" - cgroup2 ");
    if (dash == std::string_view::npos) continue;
    std::vector<std::string_view> words;
    for (std::string_view rest = line.substr(0, dash); !rest.empty();) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      words.push_back(rest.substr(0, blank));
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    if (words.size() < 5) continue;
    const std::string directory(words[4]);
    if (directory == kNftRoot || directory.starts_with(std::string(kNftRoot) + "/"))
      return CgroupMount{directory};
    elsewhere = directory;
  }
  if (elsewhere.empty())
    return fail("cgroup v2 is not mounted, so jobs' packets cannot be told apart");
  return fail("cgroup v2 is mounted at {}, and nft looks for it below {} only", elsewhere,
              kNftRoot);
}

std::vector<std::string> table_commands(const FlowHost& host) {
  std::vector<std::string> commands{
      fmt::format("create table inet {} {{ flags owner; }}", kFlowTable),
      fmt::format("add map inet {} groups {{ type cgroupsv2 : verdict; }}", kFlowTable),
      fmt::format("add map inet {} users {{ type uid : verdict; }}", kFlowTable)};
  for (std::size_t c = 0; c < host.classes(); ++c) commands.push_back(class_chain(host, c));
  commands.push_back(other_chain(host));
  commands.push_back(
      fmt::format("add chain inet {0} out {{ type filter hook output priority mangle; policy "
                  "accept; }}; {1}; add chain inet {0} forwarded {{ type filter hook forward "
                  "priority mangle; policy accept; }}; {2}",
                  kFlowTable, out_rules(host, {}, false),
                  rule("forwarded", fmt::format("oifname \"{}\" goto other", host.interface))));
  return commands;
}

std::string change_command(const FlowHost& host, const CgroupMount& mount, const Marks& now,
                           const Marks& next) {
  std::vector<std::string> acts{fmt::format("flush map inet {} groups", kFlowTable),
                                fmt::format("flush map inet {} users", kFlowTable),
                                fmt::format("flush chain inet {} out", kFlowTable)};
  std::set<std::size_t> levels;
  bool has_users = false;
  for (const auto& [name, mark] : next) {
    const auto was = now.find(name);
    if (was == now.end()) {
      acts.push_back(fmt::format("add counter inet {} bytes_job_{}", kFlowTable, name));
      acts.push_back(fmt::format("add chain inet {} job_{}", kFlowTable, name));
      acts.push_back(job_rules(name, mark));
    } else if (was->second.flow_class != mark.flow_class) {
      acts.push_back(fmt::format("flush chain inet {} job_{}", kFlowTable, name));
      acts.push_back(job_rules(name, mark));
    }
    for (const FoundCgroup& found : mark.cgroups) {
      const std::string group = mount.for_nft(found.name);
      levels.insert(mount.level(group));
      acts.push_back(fmt::format("add element inet {} groups {{ \"{}\" : goto job_{} }}",
                                 kFlowTable, group, name));
    }
    if (!mark.user) continue;
    has_users = true;
    acts.push_back(fmt::format("add element inet {} users {{ {} : goto job_{} }}", kFlowTable,
                               *mark.user, name));
  }
  acts.push_back(out_rules(host, levels, has_users));
  for (const auto& [name, mark] : now) {
    if (next.contains(name)) continue;
    acts.push_back(fmt::format("delete chain inet {} job_{}", kFlowTable, name));
    acts.push_back(fmt::format("delete counter inet {} bytes_job_{}", kFlowTable, name));
  }
  return fmt::format("{}", fmt::join(acts, "; "));
}

namespace {

/// A hundredth of a second at the rate, and a few large packets at least.
std::int64_t burst_of(double mbit) {
  constexpr double kLeast = 16'000;
  return static_cast<std::int64_t>(std::max(kLeast, mbit * 1e6 / 8 / 100));
}

std::string class_command(const char* act, const FlowHost& host, std::size_t flow_class,
                          double floor) {
  const bool is_last = flow_class + 1 == host.classes();
  const double keeps = std::max(kLeastMbit, is_last ? floor * host.mbit : 0);
  return fmt::format(
      "class {} dev {} parent {:x}:1 classid {:x}:{:x} htb rate {:.0f}bit ceil {:.0f}bit prio {} "
      "burst {} cburst {} quantum 3000",
      act, host.interface, kQueueHandle, kQueueHandle, minor_of(flow_class), keeps * 1e6,
      host.mbit * 1e6, std::min<std::size_t>(flow_class, 7), burst_of(is_last ? keeps : 0),
      burst_of(host.mbit));
}

}  // namespace

std::vector<std::string> queue_commands(const FlowHost& host, double floor) {
  const std::size_t last = host.classes() - 1;
  std::vector<std::string> commands{
      fmt::format("qdisc replace dev {} root handle {:x}: htb default {:x}", host.interface,
                  kQueueHandle, minor_of(last)),
      fmt::format("class replace dev {0} parent {1:x}: classid {1:x}:1 htb rate {2:.0f}bit ceil "
                  "{2:.0f}bit burst {3} cburst {3} quantum 3000",
                  host.interface, kQueueHandle, host.mbit * 1e6, burst_of(host.mbit))};
  for (std::size_t c = 0; c <= last; ++c) {
    commands.push_back(class_command("replace", host, c, floor));
    commands.push_back(fmt::format("qdisc replace dev {} parent {:x}:{:x} pfifo limit 1000",
                                   host.interface, kQueueHandle, minor_of(c)));
  }
  return commands;
}

std::string floor_command(const FlowHost& host, double floor) {
  return class_command("change", host, host.classes() - 1, floor);
}

Expected<RootQueueFound> find_root_queue(std::string_view text) try {
  const auto queues = parse_bounded_json(text);
  if (!queues || !queues->is_array()) return fail("tc does not list the queues in JSON");
  for (const json& queue : *queues) {
    if (!queue.is_object() || !queue.value("root", false)) continue;
    const std::string kind = queue.value("kind", "?"), handle = queue.value("handle", "?");
    if (handle == "0:") return RootQueueFound{RootQueue::usual, kind};
    const bool is_ours = kind == "htb" && handle == fmt::format("{:x}:", kQueueHandle);
    return RootQueueFound{is_ours ? RootQueue::ours : RootQueue::foreign, kind};
  }
  return RootQueueFound{RootQueue::usual, "none"};
} catch (const json::exception& problem) {
  return fail("tc lists the queues in a way that is not known: {}", problem.what());
}

Expected<FlowBytes> read_counters(std::string_view text, std::size_t classes) try {
  const auto value = parse_bounded_json(text);
  const auto list = value && value->is_object() ? value->find("nftables") : json::const_iterator();
  if (!value || !value->is_object() || list == value->end() || !list->is_array())
    return fail("nft does not list the counters in JSON");
  FlowBytes bytes;
  bytes.by_class.resize(classes);
  for (const json& entry : *list) {
    const auto found = entry.is_object() ? entry.find("counter") : entry.end();
    if (!entry.is_object() || found == entry.end() || !found->is_object()) continue;
    const json& counter = *found;
    if (counter.value("table", "") != kFlowTable) continue;
    const std::string name = counter.value("name", "");
    for (std::size_t c = 0; c < classes; ++c)
      if (name == fmt::format("bytes_class{}", c)) bytes.by_class[c] = bytes_of(counter);
    if (name == "bytes_other") bytes.other = bytes_of(counter);
    constexpr std::string_view kJob = "bytes_job_";
    if (name.starts_with(kJob)) bytes.by_job[name.substr(kJob.size())] = bytes_of(counter);
  }
  return bytes;
} catch (const json::exception& problem) {
  return fail("nft lists the counters in a way that is not known: {}", problem.what());
}

}  // namespace trainyard
