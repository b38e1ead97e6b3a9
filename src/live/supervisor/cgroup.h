// Control groups: where the system allows, a run's processes live in a group of their own, so that
// its limits of CPU and memory hold and none of them can hide. One group per run,
// trainyard/<state>/<job>.<run>, at the top of every hierarchy in use:
//
//   unified (v2)   cgroup.kill ends all at once; cpu.max, memory.max and pids.max where the
//                  hierarchy has these controllers
//   v1             else cpu.cfs_quota_us, memory.limit_in_bytes and pids.max
//
// What is not there, or cannot be written, is done without: a run then has no limits, and its
// processes are found as descendants of their supervisor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/resources.h"

namespace trainyard {

/// Roots of hierarchies that can be written; empty: none.
struct CgroupPlaces {
  std::string unified, cpu, memory, pids;  // all but the first: of v1
  bool unified_cpu = false, unified_memory = false, unified_pids = false;

  [[nodiscard]] bool limits_cpu() const { return unified_cpu || !cpu.empty(); }
  [[nodiscard]] bool limits_memory() const { return unified_memory || !memory.empty(); }
  [[nodiscard]] bool limits_processes() const { return unified_pids || !pids.empty(); }
  bool operator==(const CgroupPlaces&) const = default;
};

/// The hierarchies that are mounted, whatever their directories are called.
CgroupPlaces mounted_cgroups(std::string_view mountinfo);
/// Those of this machine in which a group can be made, tried out below `parent`.
CgroupPlaces usable_cgroups(const std::string& parent);

/// The group of one run, in all places at once.
class RunCgroup {
 public:
  /// `name` below the roots: "trainyard/1f3a/17.2". Nothing is done yet.
  RunCgroup(CgroupPlaces places, std::string name);

  /// Makes it with these limits for all of it together (0: none), and with one of
  /// processes that only a run gone wild reaches. A place where that fails is done without.
  void make(const Resources& limits);
  /// The group in each place. A process that writes "0" into cgroup.procs of all of them is in it.
  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }
  /// The one of v2, within which a process can also be born; empty: none.
  [[nodiscard]] std::string unified() const {
    return places_.unified.empty() ? "" : group(places_.unified);
  }

  [[nodiscard]] std::vector<pid_t> members() const;
  void kill() const;
  [[nodiscard]] bool ran_out_of_memory() const;
  /// When nobody is in it any more.
  void remove() const;

 private:
  [[nodiscard]] std::string group(const std::string& root) const { return root + "/" + name_; }
  void limit_cpu(std::int32_t milli_cpus) const;
  void limit_memory(std::int32_t mib) const;
  void limit_processes() const;

  CgroupPlaces places_;
  std::string name_;
  std::vector<std::string> directories_;
};

}  // namespace trainyard
