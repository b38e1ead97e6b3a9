#include "yard/free_index.h"

namespace trainyard {

FreeIndex::FreeIndex(const Cluster& cluster)
    : cluster_(cluster), up_(cluster.machines.size(), true) {
  const std::size_t kinds = cluster.kinds.size() <= 1 ? 1 : cluster.kinds.size() + 1;
  const auto largest = static_cast<std::size_t>(cluster.largest_machine_gpus);
  std::int64_t largest_rack = 0;
  for (const Rack& rack : cluster.racks)
    largest_rack = std::max<std::int64_t>(largest_rack, rack.machine_count * largest);
  const std::size_t buckets = std::min<std::size_t>(kRackBuckets, largest_rack);
  for (std::size_t k = 0; k < kinds; ++k) {
    kinds_.push_back({CountIndex(cluster.machines.size(), largest),
                      CountIndex(cluster.racks.size(), buckets),
                      std::vector<std::int32_t>(cluster.racks.size()), 0});
    for (std::size_t rack = 0; rack < cluster.racks.size(); ++rack) kinds_[k].racks.insert(rack, 0);
  }
  for (std::size_t m = 0; m < cluster.machines.size(); ++m) {
    free_.push_back(cluster.machines[m].capacity);
    up_[m] = false;
    set_up(MachineId{static_cast<std::uint32_t>(m)}, true);
  }
}

void FreeIndex::list(OfKind& of, MachineId machine, std::int32_t before, std::int32_t after) {
  const std::size_t rack = index(cluster_.machine(machine).rack);
  const std::int32_t was = of.free_in_rack[rack];
  const std::int32_t is = was - std::max(before, 0) + std::max(after, 0);
  if (before >= 0) of.machines.erase(index(machine), static_cast<std::size_t>(before));
  if (after >= 0) of.machines.insert(index(machine), static_cast<std::size_t>(after));
  const auto bucket = [&](std::int32_t n) {
    return std::min(static_cast<std::size_t>(n), of.racks.max_count());
  };
  if (bucket(was) != bucket(is)) of.racks.move(rack, bucket(was), bucket(is));
  of.free_in_rack[rack] = is;
  of.free_gpus += is - was;
}

void FreeIndex::change(MachineId machine, const Resources& now) {
  Resources& free = free_[index(machine)];
  const std::int32_t before = free.gpus;
  free = now;
  if (before < now.gpus) ++gives_;
  if (before == now.gpus || !is_up(machine)) return;
  list(kinds_.back(), machine, before, now.gpus);
  if (kinds_.size() > 1)
    list(kinds_[index(cluster_.machine(machine).kind)], machine, before, now.gpus);
}

void FreeIndex::set_up(MachineId machine, bool up) {
  if (is_up(machine) == up) return;
  up_[index(machine)] = up;
  if (up) ++gives_;
  constexpr std::int32_t kUnlisted = -1;
  const std::int32_t free = on(machine).gpus;
  const std::int32_t before = up ? kUnlisted : free, after = up ? free : kUnlisted;
  list(kinds_.back(), machine, before, after);
  if (kinds_.size() > 1)
    list(kinds_[index(cluster_.machine(machine).kind)], machine, before, after);
}

}  // namespace trainyard
