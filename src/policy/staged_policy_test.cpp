#include "policy/staged_policy.h"

#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

TEST(StagedPolicy, WhoWaitedTooLongIsPassedOnlyByWhoDoesNotDelayIt) {
  HandPolicy h("1x8xV100", "backfill=greedy", {"queue.patience=2h"});
  h.submit(gang(2, 1, hours(9))), h.submit(gang(8));
  h.decide();
  EXPECT_EQ(h.wake, Time{} + hours(2) + microseconds(1));
  h.at(hours(2));
  h.submit(gang(1, 1, hours(8)));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued running") << "not yet too long";
  h.at(hours(2) + microseconds(1));
  h.submit(gang(1, 1, hours(9))), h.submit(gang(1, 1, hours(7)));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued running queued running");
  EXPECT_EQ(h.policy->explain(JobId{1}).expected_start, Time{} + hours(10));
  EXPECT_EQ(h.policy->explain(JobId{3}).sentence,
            "would delay job 1, which is to start in 8h at the latest; goes before all others once "
            "it has waited for 2h");
}

TEST(StagedPolicy, ItsReservationIsLookedForAnewWhenAMachineFails) {
  HandPolicy h("3x8xV100", "backfill=greedy", {"queue.patience=1h"});
  h.submit(gang(8, 1, hours(3))), h.submit(gang(8, 1, hours(5)));
  const JobId late = h.submit(gang(24));
  h.decide();
  h.at(hours(2));
  h.decide();
  EXPECT_EQ(h.policy->explain(late).expected_start, Time{} + hours(5));
  h.tell(EventKind::machine_down, MachineId{2});
  const JobId other = h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.policy->explain(late).expected_start, std::nullopt) << "it needs all three";
  h.tell(EventKind::machine_up, MachineId{2});
  h.decide();
  EXPECT_EQ(h.policy->explain(late).expected_start, Time{} + hours(5));
  EXPECT_EQ(h.phase(other), Phase::running);
}

TEST(StagedPolicy, PatienceNeverIsNoBound) {
  HandPolicy h("1x8xV100", "backfill=greedy", {"queue.patience=never"});
  h.submit(gang(2, 1, hours(9))), h.submit(gang(8));
  h.decide();
  h.at(days(1000));
  h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued running");
}

TEST(StagedPolicy, FifoKeepsItsOrderWithoutPatience) {
  HandPolicy h("1x8xV100", "fifo", {"queue.patience=0"});
  h.submit(gang(2)), h.submit(gang(8)), h.submit(gang(1));
  h.at(hours(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued queued");
}

/// A shape that found no room is tried again as soon as anything was freed, whatever freed it.
class ClosedLane : public testing::Test {
 protected:
  ClosedLane() : h("2x8xV100", "backfill=greedy preempt=none") {
    h.submit(gang(8)), h.submit(gang(8));
    h.decide();
    h.submit(gang(8));
    h.decide();
    EXPECT_EQ(h.phase(waiter), Phase::queued);
  }
  void expect_starts() {
    h.decide();
    EXPECT_EQ(h.phase(waiter), Phase::running);
  }

  HandPolicy h;
  const JobId waiter{2};
};

TEST_F(ClosedLane, OpensWhenAJobFinishes) {
  h.tell(EventKind::finished, JobId{0});
  expect_starts();
}

TEST_F(ClosedLane, OpensWhenAJobCrashes) {
  h.tell(EventKind::crashed, JobId{0});
  expect_starts();
}

TEST_F(ClosedLane, OpensWhenAJobIsCancelled) {
  h.tell(EventKind::cancelled, JobId{1});
  expect_starts();
}

TEST_F(ClosedLane, OpensWhenAMachineComesBack) {
  h.tell(EventKind::machine_down, MachineId{0});
  h.decide();
  h.tell(EventKind::cancelled, JobId{0});  // which had gone back to the queue, ahead of the waiter
  h.decide();
  EXPECT_EQ(h.phase(waiter), Phase::queued);
  h.tell(EventKind::machine_up, MachineId{0});
  expect_starts();
}

TEST_F(ClosedLane, OpensWhenAWideJobLosesAMachine) {
  HandPolicy wide("2x8xV100", "backfill=greedy");
  wide.submit(gang(16));
  wide.decide();
  wide.submit(gang(8));
  wide.decide();
  wide.tell(EventKind::machine_down, MachineId{0});
  wide.decide();
  EXPECT_EQ(wide.phases(), "queued running") << "the other machine of the wide job is free now";
}

TEST_F(ClosedLane, OpensWhenAReservationIsVoided) {
  HandPolicy p("1x8xV100", "srtf", {"yard.min_run=0"});
  p.submit(costly(gang(6, 1, hours(9)), minutes(1), {}, {}));
  p.decide();
  const JobId first = p.submit(gang(8, 1, hours(1)));
  p.decide();
  const JobId small = p.submit(gang(2, 1, hours(10)));
  p.decide();
  EXPECT_EQ(p.phases(), "draining reserved queued");
  p.tell(EventKind::cancelled, first);
  p.decide();
  EXPECT_EQ(p.phase(small), Phase::running) << "the two free GPUs are free again";
}

TEST_F(ClosedLane, OpensForWhatAPausedJobLeavesOver) {
  HandPolicy p("1x8xV100", "srtf", {"yard.min_run=0"});
  const JobId victim = p.submit(costly(gang(8, 1, hours(9)), minutes(1), {}, {}));
  p.decide();
  p.submit(gang(4, 1, hours(1)));
  p.decide();
  const JobId other = p.submit(gang(4, 1, hours(10)));
  p.decide();
  EXPECT_EQ(p.phases(), "draining reserved queued");
  p.tell(EventKind::drained, victim);
  p.decide();
  EXPECT_EQ(p.phase(other), Phase::running);
  EXPECT_EQ(p.refused, 0U);
}

}  // namespace
}  // namespace trainyard
