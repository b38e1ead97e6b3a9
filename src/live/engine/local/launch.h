// What must be on disk before a run's supervisor can be started, and starting it.
#pragma once

#include <string>

#include "base/error.h"
#include "live/engine/engine.h"
#include "live/engine/local/account.h"
#include "live/engine/local/gpu_devices.h"
#include "live/engine/local/gpus.h"
#include "live/engine/local/trash.h"
#include "live/supervisor/run_plan.h"
#include "live/system/files.h"

namespace trainyard {

/// What the engine adds to a launch: the same for all runs.
struct LaunchSite {
  std::string state;  // absolute
  std::string host;
  CgroupPlaces cgroups;
  std::string cgroup;  // the parent of all runs' groups
  /// By our numbers; empty where there are stand-ins.
  std::vector<Gpu> gpus{};
  bool hides_gpus = false;     // stand-ins, though the machine has GPUs
  std::int32_t capacity = 1;   // GPUs of the machine, or stand-ins
  std::int64_t processes = 0;  // that all runs together may have; 0: no limit
  GpuDevices devices{};        // major 0: runs are not kept from any

  /// Jobs on stand-ins are kept from all GPUs; others need to have their own told apart.
  [[nodiscard]] bool confines_devices() const {
    return devices.major != 0 && cgroups.limits_devices() &&
           (hides_gpus || !device_minors(gpus).empty());
  }
};

/// What keeps runs from taking the machine, as a sentence for operators.
std::string describe_confinement(const LaunchSite& site);

/// Refuses who cannot be run as: only root may start processes of others.
Expected<RunPlan> plan_run(const Launch& launch, const Account& account, const LaunchSite& site);

/// The run's directory with run.json and the script, and the job's with its checkpoints. Fails if
/// the run's exists: a run is begun once. What was made of it when it fails is thrown away.
Expected<void> make_run_directory(const RunPlan& plan, const std::string& script, Trash& trash);

/// In a session of its own, with no environment, no descriptors but `claims` and nothing else of
/// ours; our child. Returns its pidfd.
Expected<Descriptor> spawn_supervisor(const std::string& program, const std::string& directory,
                                      std::vector<Descriptor> claims = {});

/// Beside this program, as it is built; in ../libexec/trainyard, as it is installed.
std::string default_supervisor();

}  // namespace trainyard
