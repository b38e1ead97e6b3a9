#include "live/engine/local/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

namespace trainyard {
namespace {

/// Those that this process may use.
std::int32_t cpu_count() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<std::int32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::int32_t memory_mib() {
  const std::int64_t mib = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE) >> 20;
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(mib, 1, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

Expected<Cluster> this_machine(const std::vector<Gpu>& gpus, std::int32_t slots) {
  if (slots < 0 || slots > kMaxGpusPerMachine)
    return fail("{} slots: from 1 to {} are possible", slots, kMaxGpusPerMachine);
  const bool has_gpus = !gpus.empty();
  std::int32_t count = slots != 0 ? slots : cpu_count();
  if (has_gpus) count = static_cast<std::int32_t>(gpus.size());
  Machine machine;
  machine.capacity = {.gpus = std::min(count, kMaxGpusPerMachine),
                      .milli_cpus = cpu_count() * 1000,
                      .memory_mib = memory_mib()};
  Cluster cluster;
  cluster.add_rack(0);
  if (auto ok = cluster.add_machines(1, machine, has_gpus ? gpus.front().kind : "cpu"); !ok)
    return tl::make_unexpected(ok.error());
  cluster.machines[0].name = host_name();
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.push_back(name(gpu));
  if (has_gpus) {
    names.resize(static_cast<std::size_t>(machine.capacity.gpus));
    cluster.set_gpus(MachineId{0}, std::move(names));
  }
  return cluster;
}

}  // namespace trainyard
