// What the daemon tells an agent: which jobs of its machine send in which flow class. Always the
// whole state, as one line of JSON:
//
//   {"machine": "gpu1", "age_s": 0, "valid_for_s": 30, "classes": 4, "floor": 0.2,
//    "jobs": [{"job": 12, "run": 1, "class": 0, "cgroups": ["trainyard/1f3a/12.1"]}]}
//
// The agent has rights that the daemon's other clients do not have, and writes what it reads here
// into commands for the kernel. So names of control groups are of few characters, none of which
// means anything to nft, and numbers are within bounds. A group must be called as engines call
// those of a job, so that a false daemon can put no service of the machine into a class.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

inline constexpr std::size_t kMostFlowClasses = 256, kMostFlowJobs = 4096;

struct HostFlows {
  struct Job {
    std::int64_t job = 0;
    std::uint32_t run = 0;
    std::size_t flow_class = 0;
    /// Where its processes may be, below where cgroup v2 is mounted.
    std::vector<std::string> cgroups;
    /// Its user, if no other job of theirs is on the machine.
    std::optional<std::uint32_t> user{};

    bool operator==(const Job&) const = default;
  };
  std::string machine;
  Duration age;        // since the scheduler vouched for it
  Duration valid_for;  // from then on
  std::size_t classes = 1;
  double floor = 0;  // of every link, for the last class
  std::vector<Job> jobs;

  bool operator==(const HostFlows&) const = default;
};

Expected<HostFlows> parse_host_flows(std::string_view line);

/// True for a path such as "system.slice/slurmstepd.scope/job_12": relative, without "." and ".."
/// as parts, of letters, digits, and _ . @ : + -
bool is_cgroup_name(std::string_view name);
/// True if a job's group is called so: ".../12.1" of the local engine, of that job and run, or
/// ".../slurmstepd.scope/job_N" and ".../NODE_slurmstepd.scope/job_N" of Slurm.
bool is_cgroup_of(std::string_view name, std::int64_t job, std::uint32_t run);

}  // namespace trainyard
