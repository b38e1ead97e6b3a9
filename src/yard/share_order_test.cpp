// Looked up in an order, or by a look at all: the same share.
#include "yard/share_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace trainyard {
namespace {

MachineId machine(std::size_t number) {
  return MachineId{static_cast<std::uint32_t>(number)};
}

TEST(ShareOrder, FindsWhatALookAtAllFinds) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed, 0);
    Placement placement;
    const std::size_t shares = random.below(60), machines = 1 + random.below(80);
    for (std::size_t i = 0; i < shares; ++i)
      placement.push_back({machine(random.below(machines)), 1});
    const auto count = [&](MachineId id) {
      return std::ranges::count(placement, id, &Share::machine);
    };
    const bool once = std::ranges::all_of(
        placement, [&](const Share& share) { return count(share.machine) == 1; });
    EXPECT_EQ(names_machines_once(placement), once) << "seed " << seed;
    if (!once) {
      std::ranges::sort(placement, {}, &Share::machine);
      const auto twice = std::ranges::unique(placement, {}, &Share::machine);
      placement.erase(twice.begin(), twice.end());
      for (std::size_t i = placement.size(); i > 1; --i)
        std::swap(placement[i - 1], placement[random.below(i)]);
      EXPECT_TRUE(names_machines_once(placement)) << "seed " << seed;
    }
    const std::vector<std::uint32_t> order = share_order(placement);
    for (std::size_t m = 0; m <= machines; ++m) {
      const auto found = std::ranges::find(placement, machine(m), &Share::machine);
      EXPECT_EQ(find_share(placement, order, machine(m)),
                static_cast<std::size_t>(found - placement.begin()))
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace trainyard
