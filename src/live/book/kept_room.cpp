#include "live/book/kept_room.h"

namespace trainyard {
namespace {

const Machine* find(const Cluster& cluster, MachineId machine) {
  return index(machine) < cluster.machines.size() ? &cluster.machine(machine) : nullptr;
}

}  // namespace

KeptRoom keep_room(SavedRoom room, const Cluster& cluster) {
  KeptRoom kept{
      std::move(room.placement), {}, std::move(room.missing), room.flow, std::move(room.each)};
  for (std::size_t i = 0; i < room.gpus.size(); ++i) {
    const Machine* machine = find(cluster, kept.placement.at(i).machine);
    auto& names = kept.gpus.emplace_back();
    for (const std::int32_t gpu : room.gpus[i])
      names.push_back(machine != nullptr ? gpu_name(*machine, gpu) : std::to_string(gpu));
  }
  return kept;
}

SavedRoom find_room(KeptRoom room, const Cluster& cluster) {
  SavedRoom found{
      std::move(room.placement), {}, std::move(room.missing), room.flow, std::move(room.each)};
  for (std::size_t i = 0; i < room.gpus.size(); ++i) {
    const Machine* machine = find(cluster, found.placement.at(i).machine);
    auto& numbers = found.gpus.emplace_back();
    for (const std::string& name : room.gpus[i])
      numbers.push_back(machine != nullptr ? find_gpu(*machine, name).value_or(-1) : -1);
  }
  return found;
}

}  // namespace trainyard
