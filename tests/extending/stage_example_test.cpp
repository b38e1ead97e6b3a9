// The stage of docs/extending.md, at work in a policy. In src/ the first part would be
// policy/order/smallest_first.cpp, and the second smallest_first_test.cpp beside it.
#include <gtest/gtest.h>

#include "policy/members.h"
#include "policy/staged_policy.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

/// The job with the fewest GPUs goes first.
class SmallestFirst final : public OrderStage {
 public:
  using OrderStage::OrderStage;

  [[nodiscard]] std::int64_t key(JobId job) const override { return yard_.job(job).gpus(); }
};

Member<OrderStage> order_smallest_first() {
  return {{"smallest-first", "the job with the fewest GPUs goes first", "ours"},
          make_member<OrderStage, SmallestFirst>};
}

// --- Its test ------------------------------------------------------------------------------------

/// What the registry does with a line of text.
Stages smallest_first_stages(PolicyContext& context) {
  Stages stages;
  stages.order = order_smallest_first().make({}, context);
  context.set_order(*stages.order);
  stages.backfill = backfill_none().make({}, context);
  stages.place = place_first_fit().make({}, context);
  return stages;
}

TEST(StageExample, SmallJobsStartFirst) {
  HandYard h("1x4xV100");
  PolicyContext context(h.yard);
  StagedPolicy policy(context, smallest_first_stages(context));
  h.yard.listen(policy);
  const JobId large = h.submit(gang(4)), small = h.submit(gang(1)), middle = h.submit(gang(2));
  Plan plan(h.yard);
  policy.decide(plan);
  EXPECT_EQ(h.orders(), "start 1, start 2");
  EXPECT_EQ(h.phase(large), Phase::queued);
  EXPECT_EQ(h.phase(small), Phase::starting);
  EXPECT_EQ(h.phase(middle), Phase::starting);
  EXPECT_EQ(policy.explain(large).sentence, "needs 4 GPUs; 1 free");
}

}  // namespace
}  // namespace trainyard
