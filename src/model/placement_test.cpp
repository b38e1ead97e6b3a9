#include "model/placement.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Placement, CountsItsWorkers) {
  EXPECT_EQ(workers(Placement{}), 0);
  EXPECT_EQ(workers(Placement{{MachineId{0}, 3}, {MachineId{7}, 1}}), 4);
}

}  // namespace
}  // namespace trainyard
