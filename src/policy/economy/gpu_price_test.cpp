#include "policy/economy/gpu_price.h"

#include <gtest/gtest.h>

#include "yard/testing.h"

namespace trainyard {
namespace {

void come(GpuPrice& price, int jobs) {
  for (int i = 0; i < jobs; ++i) price.on_phase(Phase::absent, Phase::queued);
}

TEST(GpuPrice, AGpuSecondDelaysAllThatWaitButOne) {
  HandYard h("1x8xV100");
  GpuPrice price(h.yard);
  EXPECT_EQ(price.per_second(), 0);
  come(price, 1);
  EXPECT_EQ(price.per_second(), 0) << "the job that asks is not counted";
  come(price, 4);
  EXPECT_EQ(price.per_second(), 4.0 / 8) << "of eight GPUs, none of which was held";
  price.on_phase(Phase::queued, Phase::starting);
  EXPECT_EQ(price.waiting(), 4);
  EXPECT_EQ(price.per_second(), 3.0 / 8);
}

/// Eleven jobs wait after this many of eight GPUs were held for an hour.
double price_at(std::int32_t gpus) {
  HandYard h("1x8xV100");
  GpuPrice price(h.yard);
  h.running(gang(gpus), 0);
  price.on_phase(Phase::starting, Phase::running);
  h.at(hours(1));
  come(price, 11);
  return price.per_second();
}

TEST(GpuPrice, JobsThatComeUntilTheQueueIsWorkedOffAreDelayedToo) {
  EXPECT_DOUBLE_EQ(price_at(4), 10 / 0.5 / 8);
  EXPECT_DOUBLE_EQ(price_at(6), 10 / 0.25 / 8);
  EXPECT_DOUBLE_EQ(price_at(8), 10 / 0.125 / 8) << "no load counts for more than 7/8";
}

TEST(GpuPrice, TheLoadIsKnownToTheNext) {
  Learnt learnt;
  {
    HandYard h("1x8xV100");
    GpuPrice price(h.yard);
    h.running(gang(6), 0);
    price.on_phase(Phase::starting, Phase::running);
    h.at(hours(1));
    price.on_phase(Phase::running, Phase::done);
    price.save_learnt(learnt);
  }
  HandYard h("1x8xV100");
  GpuPrice price(h.yard);
  price.recall(learnt, h.yard.now());
  come(price, 11);
  EXPECT_NEAR(price.per_second(), 10 / 0.25 / 8, 0.01);
}

}  // namespace
}  // namespace trainyard
