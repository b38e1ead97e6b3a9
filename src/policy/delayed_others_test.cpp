#include "policy/delayed_others.h"

#include <gtest/gtest.h>

#include "yard/testing.h"

namespace trainyard {
namespace {

TEST(DelayedOthers, AllThatComeUntilTheQueueIsWorkedOffAreDelayedToo) {
  EXPECT_EQ(delayed_by_a_loss(3, 0), 3);
  EXPECT_EQ(delayed_by_a_loss(3, 0.5), 6);
  EXPECT_EQ(delayed_by_a_loss(3, 0.875), 24);
  EXPECT_EQ(delayed_by_a_loss(3, 1), 24) << "no load counts for more";
}

TEST(DelayedOthers, AGpuSecondCostsAllThatWaitButOne) {
  HandYard h("1x8xV100");
  DelayedOthers others;
  EXPECT_EQ(others.per_gpu(h.yard), 0);
  for (int i = 0; i < 5; ++i) others.on_phase(h.yard, Phase::absent, Phase::queued);
  EXPECT_EQ(others.per_gpu(h.yard), 4.0 / 8) << "of eight GPUs, none of which was held";
  others.on_phase(h.yard, Phase::queued, Phase::starting);
  EXPECT_EQ(others.waiting(), 4);
}

}  // namespace
}  // namespace trainyard
