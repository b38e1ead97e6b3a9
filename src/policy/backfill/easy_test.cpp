#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

Job lasting(std::int32_t workers, Duration duration) {
  return gang(workers, 1, duration);
}

/// Two machines of 8. Job 0 holds machine 0 for two hours; job 1, the head, wants all 16 and can
/// have them in two hours.
class EasyBackfill : public testing::Test {
 protected:
  EasyBackfill() : h("2x8xV100", "fifo-easy") {
    h.submit(lasting(8, hours(2)));
    h.submit(lasting(16, hours(1)));
    h.decide();
  }

  /// Submits it, decides, and says whether it runs.
  bool starts(const Job& job) {
    const JobId id = h.submit(job);
    h.decide();
    return h.phase(id) == Phase::running;
  }
  [[nodiscard]] std::optional<Time> reserved() const {
    return h.policy->explain(JobId{1}).expected_start;
  }

  HandPolicy h;
};

TEST_F(EasyBackfill, TheHeadIsToStartWhenItsGangFits) {
  EXPECT_EQ(h.phases(), "running queued");
  EXPECT_EQ(reserved(), Time{} + hours(2));
}

TEST_F(EasyBackfill, WhoEndsBeforeMayGo) {
  EXPECT_TRUE(starts(lasting(4, hours(2))));
  EXPECT_FALSE(starts(lasting(4, hours(2) + microseconds(1))));
  EXPECT_TRUE(starts(lasting(2, hours(1)))) << "also behind one that may not";
}

TEST_F(EasyBackfill, LoadingAndCheckpointsCountTowardsTheEnd) {
  EXPECT_FALSE(starts(costly(lasting(1, hours(2)), {}, {}, minutes(1))));
  Job saving = lasting(1, hours(2));
  saving.checkpoint_interval = minutes(30), saving.checkpoint_cost = minutes(1);
  EXPECT_FALSE(starts(saving));
  saving.duration = saving.estimate = minutes(116);  // and three checkpoints of a minute
  EXPECT_TRUE(starts(saving));
}

TEST_F(EasyBackfill, AnEarlyEndBringsTheReservationForward) {
  EXPECT_TRUE(starts(lasting(4, hours(1))));
  h.at(minutes(30));
  h.tell(EventKind::finished, JobId{0});
  h.decide();
  EXPECT_EQ(reserved(), Time{} + hours(1)) << "when the backfilled one ends";
  EXPECT_FALSE(starts(lasting(4, minutes(31))));
  EXPECT_TRUE(starts(lasting(4, minutes(30))));
}

TEST_F(EasyBackfill, OthersMayGoForAnyTimeBesideTheReservation) {
  HandPolicy wide("3x8xV100", "fifo-easy");
  wide.submit(lasting(8, hours(2)));
  wide.submit(lasting(8, hours(3)));
  wide.submit(lasting(4, hours(9)));  // on machine 2
  wide.submit(gang(1, 8));            // the head: a whole machine, 0 in two hours
  wide.decide();
  const JobId longer = wide.submit(lasting(4, hours(99)));
  wide.decide();
  EXPECT_EQ(wide.phase(longer), Phase::running);
  EXPECT_EQ(wide.yard.placement(longer), on(2, 4));
  EXPECT_EQ(wide.policy->explain(JobId{3}).expected_start, Time{} + hours(2));
}

TEST_F(EasyBackfill, AnEmptyMachineThatFailsVoidsTheReservation) {
  HandPolicy wide("3x8xV100", "fifo-easy");
  wide.submit(lasting(8, hours(2)));   // machine 0
  wide.submit(lasting(8, hours(5)));   // machine 1
  wide.submit(lasting(16, hours(1)));  // the head: machines 0 and 2 in two hours
  wide.decide();
  EXPECT_EQ(wide.policy->explain(JobId{2}).expected_start, Time{} + hours(2));
  wide.tell(EventKind::machine_down, MachineId{2});
  wide.decide();
  EXPECT_EQ(wide.policy->explain(JobId{2}).expected_start, Time{} + hours(5));
  wide.tell(EventKind::machine_up, MachineId{2});
  wide.decide();
  EXPECT_EQ(wide.policy->explain(JobId{2}).expected_start, Time{} + hours(2));
}

TEST_F(EasyBackfill, RoomTakenByOneAheadOfTheHeadVoidsTheReservation) {
  HandPolicy short_first("2x8xV100", "order=sjf backfill=easy");
  short_first.submit(lasting(8, hours(2)));
  short_first.decide();
  const JobId head = short_first.submit(lasting(16, hours(20)));
  short_first.decide();
  EXPECT_EQ(short_first.policy->explain(head).expected_start, Time{} + hours(2));
  short_first.submit(lasting(8, hours(10)));  // shorter, so ahead: takes machine 1
  short_first.decide();
  EXPECT_EQ(short_first.phases(), "running queued running");
  EXPECT_EQ(short_first.policy->explain(head).expected_start, Time{} + hours(10));
}

TEST_F(EasyBackfill, AnOutlivedEstimateMovesTheReservation) {
  h.at(hours(3));  // job 0 was to end an hour ago
  h.decide();
  EXPECT_EQ(reserved(), Time{} + hours(3)) << "any moment now";
  EXPECT_FALSE(starts(lasting(1, minutes(1))));
}

TEST_F(EasyBackfill, DepthLimitsHowFarItLooks) {
  HandPolicy shallow("2x8xV100", "fifo-easy", {"backfill.depth=1"});
  shallow.submit(lasting(8, hours(2)));
  shallow.submit(lasting(16, hours(1)));
  shallow.submit(lasting(1, hours(9)));
  const JobId third = shallow.submit(lasting(2, hours(1)));
  shallow.decide();
  EXPECT_EQ(shallow.phase(third), Phase::queued);
  shallow.tell(EventKind::cancelled, JobId{2});
  shallow.decide();
  EXPECT_EQ(shallow.phase(third), Phase::running);
}

TEST(NoBackfill, NobodyPasses) {
  HandPolicy h("1x8xV100", "fifo");
  h.submit(gang(6)), h.submit(gang(4)), h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued queued");
}

TEST(GreedyBackfill, WhoeverFitsGoes) {
  HandPolicy h("1x8xV100", "backfill=greedy");
  h.submit(gang(6)), h.submit(gang(4)), h.submit(gang(1)), h.submit(gang(4)), h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued running queued running");
}

}  // namespace
}  // namespace trainyard
