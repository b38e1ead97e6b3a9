#include "yard/share_order.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace trainyard {
namespace {

constexpr std::size_t kFew = 16;

}  // namespace

std::vector<std::uint32_t> share_order(const Placement& placement) {
  if (placement.size() <= kFew) return {};
  std::vector<std::uint32_t> order(placement.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return placement[i].machine; });
  return order;
}

std::size_t find_share(const Placement& placement, const std::vector<std::uint32_t>& order,
                       MachineId machine) {
  if (order.empty()) {
    const auto found = std::ranges::find(placement, machine, &Share::machine);
    return static_cast<std::size_t>(found - placement.begin());
  }
  const auto of = [&](std::uint32_t i) { return placement[i].machine; };
  const auto found = std::ranges::lower_bound(order, machine, {}, of);
  return found != order.end() && of(*found) == machine ? *found : placement.size();
}

bool names_machines_once(const Placement& placement) {
  if (placement.size() <= kFew) {
    for (auto share = placement.begin(); share != placement.end(); ++share)
      if (std::find_if(placement.begin(), share, [&](const Share& other) {
            return other.machine == share->machine;
          }) != share)
        return false;
    return true;
  }
  // Most placements are in the order of the machines already.
  const auto in_order = [](const Share& a, const Share& b) { return a.machine < b.machine; };
  const auto ascends = [&](const Placement& shares) {
    return std::ranges::adjacent_find(shares, std::not_fn(in_order)) == shares.end();
  };
  if (ascends(placement)) return true;
  Placement sorted = placement;
  std::ranges::sort(sorted, in_order);
  return ascends(sorted);
}

}  // namespace trainyard
