#include "reference_place.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace trainyard::reference {
namespace {

std::int32_t free_gpus(const Free& free, std::size_t machine) {
  return free[machine] ? free[machine]->gpus : 0;
}

std::vector<std::size_t> machines_of(const Free& free) {
  std::vector<std::size_t> all(free.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// One machine after the other in this order, each filled before the next.
std::optional<Spots> fill_in_order(const Gang& gang, const Free& free,
                                   const std::vector<std::size_t>& order) {
  const auto room = slots(gang, free);
  Spots spots(free.size());
  std::int32_t left = gang.workers;
  for (const std::size_t m : order) {
    spots[m] = std::min(left, room[m]);
    left -= spots[m];
  }
  if (left > 0) return {};
  return spots;
}

/// The most room first; the last machine is the one with the fewest free GPUs that suffices.
std::optional<Spots> fewest_machines(const Gang& gang, const Free& free) {
  const auto room = slots(gang, free);
  Spots spots(free.size());
  std::int32_t left = gang.workers;
  while (left > 0) {
    std::optional<std::size_t> most, last;
    for (std::size_t m = 0; m < free.size(); ++m) {
      if (room[m] == 0 || spots[m] > 0) continue;
      const auto rank = [&](std::size_t i) { return std::pair(room[i], free_gpus(free, i)); };
      if (!most || rank(m) > rank(*most)) most = m;
      if (room[m] >= left && (!last || free_gpus(free, m) < free_gpus(free, *last))) last = m;
    }
    if (!most) return {};
    const std::size_t pick = last ? *last : *most;
    spots[pick] = std::min(left, room[pick]);
    left -= spots[pick];
  }
  return spots;
}

std::int32_t free_gpus_in_rack(const Free& free, const Cluster& cluster, std::size_t rack) {
  std::int32_t sum = 0;
  for (std::size_t m = 0; m < free.size(); ++m)
    if (index(cluster.machines[m].rack) == rack) sum += free_gpus(free, m);
  return sum;
}

/// Those with enough free GPUs, the fewest first.
std::vector<std::size_t> fullest_racks(const Gang& gang, const Free& free, const Cluster& cluster) {
  std::multimap<std::int32_t, std::size_t> by_free_gpus;
  for (std::size_t rack = 0; rack < cluster.racks.size(); ++rack) {
    const std::int32_t sum = free_gpus_in_rack(free, cluster, rack);
    if (sum >= gang.each.gpus * gang.workers) by_free_gpus.emplace(sum, rack);
  }
  std::vector<std::size_t> racks;
  for (const auto& [sum, rack] : by_free_gpus) racks.push_back(rack);
  return racks;
}

}  // namespace

std::int32_t machines_used(const Spots& spots) {
  return static_cast<std::int32_t>(
      std::count_if(spots.begin(), spots.end(), [](std::int32_t n) { return n > 0; }));
}

std::vector<std::int32_t> slots(const Gang& gang, const Free& free) {
  std::vector<std::int32_t> all(free.size());
  for (std::size_t m = 0; m < free.size(); ++m) {
    const std::optional<Resources> each =
        gang.by_machine.empty() ? std::optional(gang.each) : gang.by_machine[m];
    while (each && free[m] && all[m] < gang.workers && (*each * (all[m] + 1)).fits_in(*free[m]))
      ++all[m];
  }
  return all;
}

std::optional<Spots> first_fit(const Gang& gang, const Free& free) {
  return fill_in_order(gang, free, machines_of(free));
}

std::optional<Spots> best_fit(const Gang& gang, const Free& free) {
  auto order = machines_of(free);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return free_gpus(free, a) < free_gpus(free, b);
  });
  return fill_in_order(gang, free, order);
}

std::optional<Spots> spread(const Gang& gang, const Free& free) {
  const auto room = slots(gang, free);
  auto order = machines_of(free);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return free_gpus(free, a) > free_gpus(free, b);
  });
  Spots spots(free.size());
  std::int32_t left = gang.workers;
  for (std::int32_t turn = 1; turn <= gang.workers; ++turn)
    for (const std::size_t m : order)
      if (left > 0 && room[m] >= turn) ++spots[m], --left;
  if (left > 0) return {};
  return spots;
}

std::optional<Spots> least_work_filled(const Gang& gang, const Free& free,
                                       const std::vector<Duration>& work) {
  auto order = machines_of(free);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return work[a] < work[b]; });
  return fill_in_order(gang, free, order);
}

std::optional<Spots> least_work_dealt(const Gang& gang, const Free& free,
                                      std::vector<Duration> work, Duration of_worker) {
  const auto room = slots(gang, free);
  Spots spots(free.size());
  for (std::int32_t left = gang.workers; left > 0; --left) {
    std::optional<std::size_t> least;
    for (std::size_t m = 0; m < free.size(); ++m)
      if (spots[m] < room[m] && (!least || work[m] < work[*least])) least = m;
    if (!least) return {};
    ++spots[*least];
    work[*least] += of_worker;
  }
  return spots;
}

std::optional<Spots> consolidate(const Gang& gang, const Free& free, const Free& rack_free,
                                 const Cluster& cluster, std::int32_t max_machines) {
  const auto anywhere = fewest_machines(gang, free);
  if (!anywhere || machines_used(*anywhere) > max_machines) return {};
  if (machines_used(*anywhere) == 1) return anywhere;
  for (const std::size_t rack : fullest_racks(gang, rack_free, cluster)) {
    const auto in_rack = fewest_machines(gang, only_rack(free, cluster, rack));
    if (in_rack && machines_used(*in_rack) <= machines_used(*anywhere)) return in_rack;
  }
  return anywhere;
}

Free only_rack(const Free& free, const Cluster& cluster, std::size_t rack) {
  Free in_rack = free;
  for (std::size_t m = 0; m < free.size(); ++m)
    if (index(cluster.machines[m].rack) != rack) in_rack[m].reset();
  return in_rack;
}

Free only_machine(const Free& free, std::size_t machine) {
  Free alone(free.size());
  alone[machine] = free[machine];
  return alone;
}

std::size_t tier_of_spots(const Cluster& cluster, const Spots& spots) {
  std::set<std::size_t> racks;
  for (std::size_t m = 0; m < spots.size(); ++m)
    if (spots[m] > 0) racks.insert(index(cluster.machines[m].rack));
  return machines_used(spots) == 1 ? 0 : racks.size() == 1 ? 1 : 2;
}

std::optional<Spots> closest(const Gang& gang, const Free& free, const Free& rack_free,
                             const Cluster& cluster, std::size_t tier) {
  std::optional<std::size_t> fullest;
  const auto room = slots(gang, free);
  for (std::size_t m = 0; m < free.size(); ++m)
    if (room[m] == gang.workers && (!fullest || free_gpus(free, m) < free_gpus(free, *fullest)))
      fullest = m;
  if (fullest) return first_fit(gang, only_machine(free, *fullest));
  for (const std::size_t rack : fullest_racks(gang, rack_free, cluster)) {
    if (tier == 0) break;
    if (const auto spots = most_slots_first(gang, only_rack(free, cluster, rack), gang.workers))
      return spots;
  }
  if (tier < 2) return {};
  std::vector<std::size_t> order = machines_of(free);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t m) {
      const std::size_t rack = index(cluster.machines[m].rack);
      return std::tuple(-free_gpus_in_rack(rack_free, cluster, rack), rack, -room[m]);
    };
    return key(a) < key(b);
  });
  return fill_in_order(gang, free, order);
}

std::int32_t fewest_machines_ever(const Gang& gang, const Free& empty_cluster) {
  return machines_used(*fewest_machines(gang, empty_cluster));
}

std::optional<Spots> most_slots_first(const Gang& gang, const Free& free,
                                      std::int32_t max_machines) {
  const auto room = slots(gang, free);
  auto order = machines_of(free);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return room[a] > room[b]; });
  if (order.size() > static_cast<std::size_t>(max_machines))
    order.resize(static_cast<std::size_t>(max_machines));
  return fill_in_order(gang, free, order);
}

}  // namespace trainyard::reference
