// The text of what an agent has the kernel do, as nft and tc take it. Pure: what is carried out is
// in linux_flow_kernel.h.
//
// One nftables table marks packets. Its owner is the process that made it, so that the kernel
// removes it with that process, however that ends, and lets no other change it:
//
//   table inet trainyard_flow { flags owner }
//     map groups { type cgroupsv2 : verdict }    control group -> goto the chain of its job
//     map users { type uid : verdict }           the same by user, for jobs without a group
//     chain job_12_1 { counter; goto class0 }    a chain for each job that sends
//     chain class0 { counter; DSCP; priority }   a chain for each class
//     chain other { DSCP of ours -> 0 }          bleaches: only jobs have our code points
//     chain out (output): by the map; then other. chain forwarded (forward): other
//
// A map's elements are never listed: nft would look for each control group's path in the whole
// tree, which takes a twelfth of a second each. So bytes of a job are counted in its chain.
//
// The host's own queue is HTB: a class for each flow class, in strict priority, whose rate is what
// it keeps in any case: next to nothing, or the floor for the last one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trainyard {

inline constexpr std::string_view kFlowTable = "trainyard_flow";
/// Of the queue, so that it is known again: 7a1d:, in hexadecimal.
inline constexpr std::uint32_t kQueueHandle = 0x7a1d;

struct FlowHost {
  std::string interface;
  /// By class, the first goes first; the last is that of all other traffic, and 0.
  std::vector<int> code_points{43, 35, 19, 0};
  double mbit = 0;  // the rate of the queue; 0: the agent keeps none
  /// A job that has no control group is marked by its user, who has no other job here.
  bool marks_users = false;

  [[nodiscard]] std::size_t classes() const { return code_points.size(); }
  [[nodiscard]] bool has_queue() const { return mbit > 0; }
};

/// A control group that is there now. One that is made anew has another number.
struct FoundCgroup {
  std::string name;  // below where cgroup v2 is mounted
  std::uint64_t number = 0;

  bool operator==(const FoundCgroup&) const = default;
};

/// A job whose packets are marked.
struct JobMark {
  std::size_t flow_class = 0;
  std::vector<FoundCgroup> cgroups;
  std::optional<std::uint32_t> user{};  // all that they send is the job's

  [[nodiscard]] bool is_told() const { return user || !cgroups.empty(); }
  bool operator==(const JobMark&) const = default;
};
/// By the job and its run: "12_1".
using Marks = std::map<std::string, JobMark>;

struct CgroupMount {
  std::string directory = "/sys/fs/cgroup";  // where v2 is mounted

  [[nodiscard]] std::string path(std::string_view name) const;
  /// The name as nft looks it up: below /sys/fs/cgroup.
  [[nodiscard]] std::string for_nft(std::string_view name) const;
  /// How deep that is below the mount.
  [[nodiscard]] std::size_t level(std::string_view for_nft) const;

  bool operator==(const CgroupMount&) const = default;
};
/// The one that is mounted, by the text of /proc/self/mountinfo.
Expected<CgroupMount> find_cgroup_mount(std::string_view mountinfo);

/// Commands for nft, a line and a transaction each.
std::vector<std::string> table_commands(const FlowHost& host);
/// One transaction from what is marked to what shall be.
std::string change_command(const FlowHost& host, const CgroupMount& mount, const Marks& now,
                           const Marks& next);

/// Commands for `tc -batch`, that make the queue in place of the one that is there.
std::vector<std::string> queue_commands(const FlowHost& host, double floor);
/// The one that gives the last class another floor.
std::string floor_command(const FlowHost& host, double floor);

enum class RootQueue : std::uint8_t { usual, ours, foreign };
/// What `tc -json qdisc show dev X` says of the interface's root. `kind` is for people.
struct RootQueueFound {
  RootQueue what{};
  std::string kind;
};
Expected<RootQueueFound> find_root_queue(std::string_view json);

/// Bytes that were sent, since the table was made.
struct FlowBytes {
  std::vector<std::uint64_t> by_class;
  std::uint64_t other = 0;
  std::map<std::string, std::uint64_t> by_job;  // by the name of its mark
};
/// As `nft -j list counters` has them.
Expected<FlowBytes> read_counters(std::string_view json, std::size_t classes);

}  // namespace trainyard
