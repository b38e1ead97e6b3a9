#include "live/engine/check_cluster.h"

#include <algorithm>
#include <set>

#include "live/job/utf8.h"

namespace trainyard {
namespace {

/// None, or one for each GPU.
Expected<void> check_gpu_names(const Machine& machine) {
  const std::vector<std::string>& names = machine.gpu_names;
  if (names.empty()) return {};
  if (std::ssize(names) != machine.capacity.gpus)
    return fail("machine {} has {} GPUs and names for {}", machine.name, machine.capacity.gpus,
                names.size());
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty() || !is_utf8(name))
      return fail("machine {} has a GPU of the name {}: text in UTF-8 would be right", machine.name,
                  quoted(name));
    if (!seen.insert(name).second)
      return fail("machine {} has two GPUs of the name {}", machine.name, name);
  }
  return {};
}

Expected<void> check_machine(const Machine& machine, const Cluster& cluster) {
  const Resources& has = machine.capacity;
  if (machine.name.empty()) return fail("a machine has no name");
  if (!is_utf8(machine.name)) return fail("the name {} is not UTF-8", quoted(machine.name));
  if (has.gpus < 0 || has.gpus > kMaxGpusPerMachine)
    return fail("machine {} has {} GPUs: from 0 to {} would be right", machine.name, has.gpus,
                kMaxGpusPerMachine);
  if (has.milli_cpus < 0 || has.memory_mib < 0)
    return fail("machine {} has less than no CPUs or memory", machine.name);
  if (auto ok = check_gpu_names(machine); !ok) return ok;
  if (index(machine.kind) >= cluster.kinds.size())
    return fail("machine {} is of a kind that is not named", machine.name);
  if (index(machine.rack) >= cluster.racks.size())
    return fail("machine {} is in a rack that does not exist", machine.name);
  return {};
}

/// Those of a rack stand together.
Expected<void> check_racks(const Cluster& cluster) {
  std::size_t next = 0;
  for (std::size_t r = 0; r < cluster.racks.size(); ++r) {
    const Rack& rack = cluster.racks[r];
    if (rack.first_machine != next || rack.machine_count > cluster.machines.size() - next)
      return fail("rack {} does not begin where the one before it ends", r);
    for (const std::size_t last = next + rack.machine_count; next < last; ++next)
      if (index(cluster.machines[next].rack) != r)
        return fail("machine {} does not stand with its rack", cluster.machines[next].name);
  }
  if (next != cluster.machines.size()) return fail("a machine is in no rack");
  return {};
}

}  // namespace

Expected<void> check_cluster(const Cluster& cluster) {
  if (cluster.machines.empty()) return fail("there are no machines");
  if (cluster.machines.size() > kMaxMachines)
    return fail("there are {} machines: at most {} would be right", cluster.machines.size(),
                kMaxMachines);
  std::set<std::string_view> names;
  std::int64_t gpus = 0;
  std::int32_t largest = 0;
  for (const Machine& machine : cluster.machines) {
    if (auto ok = check_machine(machine, cluster); !ok) return ok;
    if (!names.insert(machine.name).second) return fail("two machines are called {}", machine.name);
    gpus += machine.capacity.gpus;
    largest = std::max(largest, machine.capacity.gpus);
  }
  for (const std::string& kind : cluster.kinds)
    if (!is_utf8(kind)) return fail("the kind {} is not UTF-8", quoted(kind));
  if (gpus != cluster.total_gpus)
    return fail("it says {} GPUs in all, and its machines have {}", cluster.total_gpus, gpus);
  if (largest > cluster.largest_machine_gpus)
    return fail("it says {} GPUs at most in a machine, and one has {}",
                cluster.largest_machine_gpus, largest);
  return check_racks(cluster);
}

}  // namespace trainyard
