#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

TEST(AlloxPolicy, TheShortestGoesFirstAndNoneIsPaused) {
  HandPolicy h("1x1xV100", "joint=allox");
  h.submit(gang(1, 1, hours(3))), h.submit(gang(1, 1, hours(2)));
  h.decide();
  EXPECT_EQ(h.phases(), "queued running");
  h.at(minutes(30));
  h.submit(gang(1, 1, minutes(1)));
  h.decide();
  EXPECT_EQ(h.phases(), "queued running queued");
  EXPECT_EQ(h.policy->explain(JobId{2}).sentence,
            "needs 1 GPU; 0 free; it is matched with GPUs when other jobs leave");
  EXPECT_EQ(h.policy->explain(JobId{0}).sentence,
            "needs 1 GPU; 0 free; it is to run on V100, where no others go first");
  h.tell(EventKind::finished, JobId{1});
  h.decide();
  EXPECT_EQ(h.phases(), "queued done running");
  EXPECT_EQ(h.wake, Time::never());
  EXPECT_EQ(h.refused, 0U);
}

TEST(AlloxPolicy, AGangThatFindsNoRoomIsPassedUntilItIsOutOfPatience) {
  HandPolicy h("1x4xV100", "joint=allox", {"queue.patience=1h"});
  h.submit(gang(1, 1, hours(2)));
  h.decide();
  const JobId large = h.submit(gang(4, 1, minutes(10)));
  const JobId small = h.submit(gang(1, 1, minutes(50)));
  h.decide();
  EXPECT_EQ(h.phase(small), Phase::running);
  h.at(minutes(61));
  const JobId later = h.submit(gang(1, 1, minutes(1)));
  h.decide();
  EXPECT_EQ(h.phase(later), Phase::queued);
  EXPECT_EQ(h.policy->explain(large).sentence,
            "needs 4 GPUs; 2 free; it is out of patience, so no job passes it");
  h.tell(EventKind::finished, small);
  h.tell(EventKind::finished, JobId{0});
  h.decide();
  EXPECT_EQ(h.phase(large), Phase::running);
  EXPECT_EQ(h.phase(later), Phase::queued);
}

TEST(AlloxPolicy, JobsWithoutGpusAndGangsOverSeveralKinds) {
  HandPolicy h(two_kinds(2), "joint=allox");
  h.submit(gang(4)), h.submit(gang(1, 0));
  h.decide();
  EXPECT_EQ(h.phases(), "running running");
}

TEST(AlloxPolicy, AJobIsOnlyWhereItMayBe) {
  HandPolicy h(two_kinds(1), "joint=allox");
  Job picky = gang(1, 1, hours(9));
  picky.kind = KindId{static_cast<std::uint16_t>(h.workload.kinds.add("V100"))};
  const JobId first = h.submit(picky);
  h.submit(gang(1)), h.submit(picky);
  h.decide();
  EXPECT_EQ(h.yard.placement(first), on(0, 1));
  EXPECT_EQ(h.phases(), "running running queued");
}

}  // namespace
}  // namespace trainyard
