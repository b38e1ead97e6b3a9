// Leases and sensitivity to the network, on yards made by hand.
#include <gtest/gtest.h>

#include "policy/sensitivity.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

/// Halves the speed of every gang on more than one machine.
struct HalfSpeed final : PlacementSpeed {
  [[nodiscard]] Rate rate(const Job&, const Placement& placement) const override {
    return Rate::taking(placement.size() > 1 ? 2 : 1);
  }
  [[nodiscard]] Rate rate_at(const Job&, std::size_t tier) const override {
    return Rate::taking(tier == kMachineTier ? 1 : 2);
  }
};

/// A yard where being spread out costs half of the speed, and the sensitivity that it shows.
class Slow : public testing::Test, public YardListener {
 protected:
  Slow()
      : cluster_(*parse_cluster_shorthand("2x4xV100")),
        yard_(cluster_, workload_, {.min_run = {}}, &speed_) {
    yard_.listen(*this);
    at(Duration{});
  }
  void on_phase(JobId job, Phase from, Phase to) override {
    sensitivity_.on_phase(yard_, job, from, to);
  }
  void at(Duration since) { HandYard::must(yard_.apply({Time{} + since, EventKind::clock})); }
  void tell(EventKind kind, JobId job) {
    HandYard::must(yard_.apply(Event::of(yard_.now(), kind, job)));
  }
  JobId submit(Job job) {
    workload_.jobs.push_back(job);
    const JobId id{static_cast<std::uint32_t>(workload_.jobs.size() - 1)};
    tell(EventKind::submitted, id);
    return id;
  }
  JobId running(Job job, const Placement& placement) {
    const JobId id = submit(job);
    HandYard::must(Plan(yard_).start(id, placement));
    tell(EventKind::loaded, id);
    return id;
  }

  HalfSpeed speed_;
  Cluster cluster_;
  Workload workload_;
  Yard yard_;
  NetworkSensitivity sensitivity_;
};

TEST_F(Slow, WorkTakesTwiceAsLongAndTheBooksSaySo) {
  const JobId job = running(gang(4, 1, hours(1)), {{MachineId{0}, 2}, {MachineId{1}, 2}});
  EXPECT_EQ(yard_.rate(job), Rate::taking(2));
  EXPECT_EQ(yard_.expected_end(job), Time{} + hours(2));
  at(hours(1));
  EXPECT_EQ(yard_.expected_remaining(job), minutes(30));
  EXPECT_EQ(sensitivity_.of(yard_, job), NetworkSensitivity::kScale / 2);
  at(hours(2));
  tell(EventKind::finished, job);
  EXPECT_EQ(yard_.state(job).done, hours(1));
  EXPECT_EQ(yard_.state(job).slowed, hours(1));
  EXPECT_EQ(yard_.state(job).lost, Duration{});
}

TEST_F(Slow, APauseKeepsTheWorkThatWasDone) {
  const JobId job = running(gang(4, 1, hours(1)), {{MachineId{0}, 2}, {MachineId{1}, 2}});
  at(hours(1));
  const JobId waiter = submit(trial(gang(4)));
  HandYard::must(Plan(yard_).make_room(waiter, on(0, 4), std::vector{job}));
  tell(EventKind::drained, job);
  EXPECT_EQ(yard_.state(job).done, minutes(30));
  EXPECT_EQ(yard_.state(job).slowed, minutes(30));
  EXPECT_EQ(sensitivity_.of(yard_, job), NetworkSensitivity::kScale / 2);
}

TEST_F(Slow, NewJobsCountAsMostSensitiveAndSingleGpusThatRanAsLeast) {
  EXPECT_EQ(sensitivity_.of(yard_, submit(gang(2))), 0);
  EXPECT_EQ(sensitivity_.of(yard_, submit(gang(1))), 0);
  const JobId job = running(gang(1), on(0, 1));
  at(minutes(1));
  EXPECT_EQ(sensitivity_.of(yard_, job), NetworkSensitivity::kScale);
}

/// The author's: all bid again.
const std::vector<std::string> kRebid{"yard.min_run=0"};
const std::vector<std::string> kUntilWanted{"yard.min_run=0", "preempt.rebid=wanted"};
const std::string kBySensitivity = "order=network-sensitivity backfill=greedy preempt=lease";
/// Jobs of this order wait longest for their turn that were submitted first.
const std::string kByService = "order=attained-service backfill=greedy preempt=lease";

TEST(Lease, WhoeverRunsStaysWhenItsLeaseIsOverAndNobodyWaits) {
  HandPolicy h("2x4xV100", kByService, kRebid);
  const JobId job = h.submit(gang(4, 1, hours(9)));
  h.decide();
  h.decide();  // it has loaded
  EXPECT_EQ(h.wake, Time{} + minutes(20));
  h.at(minutes(20));
  h.decide();
  EXPECT_EQ(h.phase(job), Phase::running);
  EXPECT_EQ(h.yard.state(job).pauses, 0u);
  EXPECT_EQ(h.wake, Time{} + minutes(40));
}

TEST(Lease, ItsGpusGoToTheFirstInTheOrder) {
  HandPolicy h("1x4xV100", kByService, kRebid);
  const JobId first = h.submit(gang(4, 1, hours(9)));
  h.decide();
  h.at(minutes(5));
  const JobId second = h.submit(gang(4, 1, hours(9)));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued") << "before its lease is over it gives way to nobody";
  h.at(minutes(20));
  h.decide();
  EXPECT_EQ(h.phases(), "draining reserved");
  h.tell(EventKind::drained, first);
  h.tell(EventKind::loaded, second);
  h.at(minutes(40));
  h.decide();
  EXPECT_EQ(h.phases(), "reserved draining") << "20 minutes each: the first by number has its turn";
  EXPECT_EQ(h.refused, 0u);
}

/// a and b have 6 GPUs each of a machine; c takes the 4 that are left, of both machines. When b is
/// done, c wins a machine of its own as soon as its lease is over.
TEST(Lease, AJobThatHadToSpreadMovesTogetherWhenItsLeaseIsOver) {
  HandPolicy h("2x8xV100", "backfill=greedy place=consolidate place.wait_for=none preempt=lease",
               kRebid);
  h.submit(gang(6, 1, hours(9)));
  const JobId b = h.submit(gang(6, 1, hours(9))), c = h.submit(gang(4, 1, hours(9)));
  h.decide();
  ASSERT_EQ(h.yard.placement(c).size(), 2u);
  h.at(minutes(10));
  h.tell(EventKind::finished, b);
  h.decide();
  EXPECT_EQ(h.phase(c), Phase::running);
  h.at(minutes(20));
  h.decide();
  EXPECT_EQ(h.phases(), "running done draining") << "a stays, c moves";
  h.tell(EventKind::drained, c);
  EXPECT_EQ(h.phase(c), Phase::starting);
  EXPECT_EQ(h.yard.placement(c), on(1, 4));
  EXPECT_EQ(h.refused, 0u);
}

/// The same where no lease is ever over: whoever is spread moves when there is room.
TEST(Closer, AJobThatIsSpreadMovesBeforeOthersHaveTheRoom) {
  HandPolicy h("2x8xV100", "backfill=greedy place=consolidate place.wait_for=none preempt=closer",
               kRebid);
  h.submit(gang(6, 1, hours(9)));
  const JobId b = h.submit(gang(6, 1, hours(9))), c = h.submit(gang(4, 1, hours(9)));
  const JobId d = h.submit(gang(6, 1, hours(9)));
  h.decide();
  ASSERT_EQ(h.yard.placement(c).size(), 2u);
  h.at(minutes(10));
  h.tell(EventKind::finished, b);
  h.decide();
  EXPECT_EQ(h.phases(), "running done draining queued");
  h.tell(EventKind::drained, c);
  EXPECT_EQ(h.yard.placement(c), on(1, 4));
  EXPECT_EQ(h.phase(d), Phase::queued);
  EXPECT_EQ(h.refused, 0u);
}

/// At 20 min only the first's lease is over: with the GPU that is free it leaves 4 of 8.
TEST(Lease, OneWhoseGpusAreTooFewForTheHeadStaysIfItMayPass) {
  for (const auto& [backfill, phases] : {std::pair{"greedy", "running running queued"},
                                         std::pair{"none", "draining running queued"}}) {
    HandPolicy h("2x4xV100",
                 fmt::format("order=attained-service backfill={} preempt=lease", backfill), kRebid);
    h.submit(gang(3, 1, hours(9)));
    h.decide();
    h.at(minutes(10));
    h.submit(gang(4, 1, hours(9)));
    h.decide();
    h.submit(gang(8));
    h.decide();
    h.at(minutes(20));
    h.decide();
    EXPECT_EQ(h.phases(), phases) << backfill;
    EXPECT_EQ(h.refused, 0u);
  }
}

TEST(Lease, OneThatPaysAlwaysLeavesEvenIfNobodyWaits) {
  HandPolicy h("2x4xV100", kByService, {"yard.min_run=0", "preempt.pays=always"});
  const JobId job = h.submit(gang(4, 1, hours(9)));
  h.decide();
  h.at(minutes(20));
  h.decide();
  EXPECT_EQ(h.phase(job), Phase::draining);
  h.tell(EventKind::drained, job);
  h.decide();
  EXPECT_EQ(h.phase(job), Phase::running);
  EXPECT_EQ(h.yard.state(job).pauses, 1u);
}

TEST(Lease, LastsAtLeastAsLongAsNothingMayBePaused) {
  HandPolicy h("1x4xV100", kByService, {"yard.min_run=30m", "preempt.lease=20m"});
  h.submit(gang(4, 1, hours(9)));
  h.decide();
  h.at(minutes(20));
  h.submit(gang(4));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued");
  EXPECT_EQ(h.wake, Time{} + minutes(30));
}

TEST(Lease, HeldUntilItIsOverThenGivenToTheMoreSensitive) {
  HandPolicy h("1x4xV100", kBySensitivity, kUntilWanted);
  const JobId first = h.submit(gang(4, 1, hours(9)));
  h.decide();
  h.at(minutes(5));
  const JobId fresh = h.submit(gang(4));
  h.decide();
  EXPECT_EQ(h.phase(first), Phase::running);
  EXPECT_EQ(h.wake, Time{} + minutes(20));
  h.at(minutes(20));
  h.decide();
  EXPECT_EQ(h.phase(first), Phase::draining);
  EXPECT_EQ(h.phase(fresh), Phase::reserved);
  EXPECT_EQ(h.refused, 0U);
}

TEST(Lease, EqualsDoNotTakeTurns) {
  HandPolicy h("1x4xV100", kBySensitivity, kUntilWanted);
  const JobId first = h.submit(gang(4, 1, hours(9)));
  h.decide();
  h.at(minutes(20));
  const JobId second = h.submit(gang(4, 1, hours(9)));
  h.decide();
  h.tell(EventKind::drained, first);
  h.tell(EventKind::loaded, second);
  h.at(minutes(45));
  h.decide();
  EXPECT_EQ(h.phase(second), Phase::running) << "neither lost anything to the network";
  EXPECT_EQ(h.phase(first), Phase::queued);
}

}  // namespace
}  // namespace trainyard
