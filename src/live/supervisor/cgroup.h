// Control groups: where the system allows, a run's processes live in a group of their own, so that
// its limits of CPU, memory and processes hold, devices of others stay closed, and none of them can
// hide. One group per run, trainyard/<state>/<job>.<run>, in every hierarchy in use:
//
//   unified (v2)   cgroup.kill ends all at once; cpu.max, memory.max and pids.max where the
//                  hierarchy has these controllers; devices by a BPF program (device_filter.h)
//   v1             else cpu.cfs_quota_us, memory.limit_in_bytes, pids.max and devices.deny
//
// Groups of v1 are at the top of their hierarchy. Those of v2 are in the first of these that there
// is, as systemd owns every group that it has not delegated:
//
//   trainyard-runs.service   beside the daemon's own group: the packaged unit that is delegated for
//                            this and never restarted. systemd could not restart a unit that has
//                            runs in its own group: it would place the new process there, and the
//                            kernel allows none in a group that hands controllers down
//   the daemon's own group   if it is delegated
//   the top                  else
//
// Limits of CPU and memory that cannot be written are done without. A limit of processes or devices
// that should hold and cannot be set is an error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/resources.h"
#include "live/supervisor/device_filter.h"

namespace trainyard {

/// The groups in which `trainyard` is, one for each hierarchy that can be written; empty: none.
struct CgroupPlaces {
  std::string unified{}, cpu{}, memory{}, pids{}, devices{};  // all but the first: of v1
  bool unified_cpu = false, unified_memory = false, unified_pids = false, unified_devices = false;

  [[nodiscard]] bool limits_cpu() const { return unified_cpu || !cpu.empty(); }
  [[nodiscard]] bool limits_memory() const { return unified_memory || !memory.empty(); }
  [[nodiscard]] bool limits_processes() const { return unified_pids || !pids.empty(); }
  [[nodiscard]] bool limits_devices() const { return unified_devices || !devices.empty(); }
  /// The group whose pids.max is above all runs'; empty if processes are not limited.
  [[nodiscard]] const std::string& of_processes() const { return unified_pids ? unified : pids; }
  bool operator==(const CgroupPlaces&) const = default;
};

/// What all processes of a run together may have and open.
struct RunLimits {
  Resources resources;         // 0 of CPUs or memory is no limit
  std::int64_t processes = 0;  // and threads; 0: no limit
  std::vector<DeviceRange> denied{};

  bool operator==(const RunLimits&) const = default;
};

/// The hierarchies that are mounted, whatever their directories are called.
CgroupPlaces mounted_cgroups(std::string_view mountinfo);
/// The group of v2 that runs' groups are to be made in, by the list above. `top` is where the
/// hierarchy is mounted, `own_groups` is the text of /proc/self/cgroup.
std::string group_for_runs(const std::string& top, std::string_view own_groups);
/// Moves the processes of a group of v2 into a leaf below it and hands these controllers
/// ("+cpu +pids") down: a group can do that only while no process is in itself. Returns false if
/// it cannot.
bool hand_down(const std::string& group, std::string_view controllers);
/// Those of this machine in which a group can be made, tried out below `parent`.
CgroupPlaces usable_cgroups(const std::string& parent);
/// Limits all groups in `top` ("trainyard") together. Returns false if that cannot be done.
bool limit_all_processes(const CgroupPlaces& places, const std::string& top, std::int64_t most);

/// The group of one run, in all places at once.
class RunCgroup {
 public:
  /// `name` below the roots: "trainyard/1f3a/17.2". Nothing is done yet.
  RunCgroup(CgroupPlaces places, std::string name);

  /// Makes it with these limits. A place that cannot be made is done without, unless a limit
  /// of processes or devices would be lost with it.
  Expected<void> make(const RunLimits& limits);
  /// The group in each place. A process that writes "0" into cgroup.procs of all of them is in it.
  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }
  /// The one of v2, within which a process can also be born; empty: none.
  [[nodiscard]] std::string unified() const {
    return places_.unified.empty() ? "" : group(places_.unified);
  }

  /// True if it was made in any place and is still there.
  [[nodiscard]] bool exists() const;
  [[nodiscard]] std::vector<pid_t> members() const;
  /// Also keeps members from multiplying meanwhile, where it can.
  void kill() const;
  [[nodiscard]] bool ran_out_of_memory() const;
  /// When nobody is in it any more.
  void remove() const;

 private:
  [[nodiscard]] std::string group(const std::string& root) const { return root + "/" + name_; }
  void limit_cpu(std::int32_t milli_cpus) const;
  void limit_memory(std::int32_t mib) const;
  [[nodiscard]] bool limit_processes(std::int64_t most) const;
  [[nodiscard]] Expected<void> deny_devices(const std::vector<DeviceRange>& devices) const;

  CgroupPlaces places_;
  std::string name_;
  std::vector<std::string> directories_;
};

}  // namespace trainyard
