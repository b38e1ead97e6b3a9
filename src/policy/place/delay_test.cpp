// Delay scheduling: who waits for what, until when, on yards made by hand.
#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/place/delay_clocks.h"
#include "policy/place/wait_history.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

/// Racks of `machines` machines of 4 GPUs.
Cluster racks(int count, int machines) {
  return *parse_cluster_shorthand(fmt::format("{}x{}x4xV100", count, machines));
}

std::vector<std::string> fixed(const std::string& rack, const std::string& net) {
  return {"place.timers=fixed", "place.rack_wait=" + rack, "place.net_wait=" + net,
          "yard.min_run=0"};
}

constexpr const char* kDelay = "order=fifo backfill=greedy place=delay";

TEST(Delay, TheMachineWithTheFewestFreeThatSuffices) {
  HandPolicy h(racks(1, 3), kDelay, fixed("1h", "2h"));
  h.running(gang(2), 0), h.running(gang(1), 1);
  const JobId job = h.submit(gang(3));
  h.decide();
  EXPECT_EQ(h.yard.placement(job), on(1, 3));
}

TEST(Delay, FirstAMachineThenARackThenAnything) {
  HandPolicy h(racks(2, 2), kDelay, fixed("1h", "2h"));
  for (std::uint32_t m = 0; m < 4; ++m) h.running(gang(3, 1, hours(99)), m);  // one free on each
  const JobId two = h.submit(gang(2)), three = h.submit(gang(3));
  h.decide();
  EXPECT_EQ(h.phase(two), Phase::queued) << "declines two machines";
  EXPECT_EQ(h.wake, Time{} + hours(1));
  EXPECT_EQ(h.policy->explain(two).token, "placement");
  EXPECT_EQ(h.policy->explain(two).sentence,
            "waits for 2 GPUs on one machine for another 1h, then takes one rack");
  h.at(minutes(59));
  h.decide();
  EXPECT_EQ(h.phase(two), Phase::queued);
  h.at(hours(1));
  h.decide();
  ASSERT_EQ(h.phase(two), Phase::running);
  EXPECT_EQ(tier_of(h.cluster, h.yard.placement(two)), kRackTier);
  EXPECT_EQ(h.phase(three), Phase::queued);
  h.running(gang(1, 1, hours(99)), 2);
  h.tell(EventKind::finished, two);
  h.decide();
  EXPECT_EQ(h.phase(three), Phase::queued) << "two free in the first rack, one in the second";
  h.at(hours(2));
  h.decide();
  ASSERT_EQ(h.phase(three), Phase::running);
  EXPECT_EQ(h.yard.placement(three).size(), 3U);
}

TEST(Delay, OnlyJobsOfSkewedModelsWaitIfThatIsAskedFor) {
  HandPolicy h(racks(1, 2), std::string(kDelay) + " place.skew=0.3", fixed("never", "never"));
  for (std::uint32_t m = 0; m < 2; ++m) h.running(gang(3, 1, hours(99)), m);
  const auto of_model = [&](const char* model) {
    Job job = gang(2);
    job.model = ModelId{static_cast<std::uint16_t>(h.workload.models.add(model))};
    return job;
  };
  const JobId skewed = h.submit(of_model("MobileNetV3")), level = h.submit(of_model("ResNet-50"));
  h.decide();
  EXPECT_EQ(h.phase(skewed), Phase::queued);
  EXPECT_EQ(h.phase(level), Phase::running);
}

TEST(Delay, AJobTakesARackWhileSoManyGpusAreFreeAnywhere) {
  std::vector<std::string> settings = fixed("never", "never");
  settings.emplace_back("place.rack_free=5");
  HandPolicy h(racks(2, 2), kDelay, settings);
  h.running(gang(2, 1, hours(99)), 0), h.running(gang(1, 1, hours(99)), 1);
  const JobId ends = h.running(gang(1, 1, hours(99)), 1);
  for (std::uint32_t m = 2; m < 4; ++m) h.running(gang(4, 1, hours(99)), m);
  const JobId job = h.submit(gang(4));
  h.decide();
  EXPECT_EQ(h.phase(job), Phase::queued) << "four are free";
  h.tell(EventKind::finished, ends);
  h.decide();
  ASSERT_EQ(h.phase(job), Phase::running) << "five are";
  EXPECT_EQ(tier_of(h.cluster, h.yard.placement(job)), kRackTier);
}

TEST(Delay, WhatIsTooLargeForATierBeginsAtTheNext) {
  HandPolicy h(racks(2, 2), kDelay, fixed("never", "never"));
  const JobId rack = h.submit(gang(6));
  h.decide();
  ASSERT_EQ(h.phase(rack), Phase::running) << "no machine could ever hold it";
  EXPECT_EQ(tier_of(h.cluster, h.yard.placement(rack)), kRackTier);
  h.tell(EventKind::finished, rack);
  const JobId both = h.submit(gang(10));
  h.decide();
  EXPECT_EQ(h.phase(both), Phase::running);
}

TEST(Delay, ThoseBehindMayHaveWhatIsDeclined) {
  HandPolicy h(racks(1, 2), kDelay, fixed("1h", "2h"));
  h.running(gang(3), 0), h.running(gang(3), 1);
  const JobId picky = h.submit(gang(2)), small = h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phase(picky), Phase::queued);
  EXPECT_EQ(h.phase(small), Phase::running);
}

TEST(Delay, ThePublishedTunerKeepsItsFloors) {
  HandPolicy h(racks(2, 2), kDelay, {"place.lease=10m", "place.history=50", "yard.min_run=0"});
  for (std::uint32_t m = 0; m < 4; ++m) h.running(gang(3, 1, hours(99)), m);
  const JobId two = h.submit(gang(2));
  h.decide();
  EXPECT_EQ(h.wake, Time{} + minutes(60)) << "6 leases";
  h.at(minutes(60));
  h.decide();
  EXPECT_EQ(h.phase(two), Phase::running) << "in a rack";
  const JobId three = h.submit(gang(3));
  h.decide();
  EXPECT_EQ(h.wake, Time{} + minutes(120));
  h.at(minutes(120));
  h.decide();
  EXPECT_EQ(h.wake, Time{} + minutes(180)) << "12 leases after it came";
  EXPECT_EQ(h.phase(three), Phase::queued);
}

TEST(Delay, ATierMoreHasATimerMore) {
  const Cluster cluster = *parse_cluster_toml(
      "[[rack]]\ncount = 4\n[[rack.machine]]\ncount = 2\ngpus = 4\nkind = \"V100\"\n"
      "[[network.group]]\nname = \"pod\"\nracks = 2\n",
      "test");
  HandPolicy h(cluster, kDelay, fixed("1h", "3h"));
  for (std::uint32_t m = 0; m < 8; ++m)
    if (m % 2 == 0) h.running(gang(4, 1, hours(99)), m);
  for (std::uint32_t m = 1; m < 8; m += 2) h.running(gang(3, 1, hours(99)), m);
  const JobId two = h.submit(gang(2));
  h.decide();
  h.at(hours(1));
  h.decide();
  EXPECT_EQ(h.phase(two), Phase::queued) << "one free in each rack";
  EXPECT_EQ(h.wake, Time{} + hours(2));
  h.at(hours(2));
  h.decide();
  ASSERT_EQ(h.phase(two), Phase::running);
  EXPECT_EQ(tier_of(h.cluster, h.yard.placement(two)), 2U) << "a pod";
}

/// Whatever is free, it takes the closest tier that has room, and only what it is ready for.
TEST(Delay, TheClosestThereIs) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    HandPolicy h(racks(3, 3), kDelay, fixed("1h", "2h"));
    for (std::uint32_t m = 0; m < 9; ++m)
      if (const auto held = static_cast<std::int32_t>(random.below(5)); held > 0)
        h.running(gang(held, 1, hours(99)), m);
    const auto wanted = 1 + static_cast<std::int32_t>(random.below(8));
    std::array<bool, 3> has{};
    std::int32_t all = 0;
    for (std::uint32_t rack = 0; rack < 3; ++rack) {
      std::int32_t here = 0;
      for (std::uint32_t m = 3 * rack; m < 3 * rack + 3; ++m) {
        has[0] = has[0] || h.free_gpus(m) >= wanted;
        here += h.free_gpus(m);
      }
      has[1] = has[1] || here >= wanted;
      all += here;
    }
    has[2] = all >= wanted;
    const JobId job = h.submit(gang(wanted));
    for (std::size_t ready = wanted > 4 ? 1 : 0; ready < 3; ++ready) {
      h.at(hours(static_cast<std::int64_t>(ready)));
      h.decide();
      const bool expected = has[0] || (ready >= 1 && has[1]) || (ready >= 2 && has[2]);
      ASSERT_EQ(h.phase(job) == Phase::running, expected) << "seed " << seed;
      if (!expected) continue;
      const std::size_t tier = tier_of(h.cluster, h.yard.placement(job));
      ASSERT_EQ(tier, has[0] ? 0U : has[1] ? 1U : 2U) << "seed " << seed;
      break;
    }
    ASSERT_EQ(h.refused, 0U);
  }
}

/// Every tier takes a unit of time more for a unit of work.
struct SlowerByTier final : PlacementSpeed {
  [[nodiscard]] Rate rate(const Job&, const Placement&) const override { return {}; }
  [[nodiscard]] Rate rate_at(const Job&, std::size_t tier) const override {
    return Rate::taking(1 + static_cast<double>(tier));
  }
};

/// What there is to gain is the believed time left, a hundred hours or next to nothing, whatever
/// was declared; what a wait takes is not known yet, and counts as a lease.
TEST(Delay, LearntTimersGoByWhatIsBelieved) {
  const Cluster cluster = racks(2, 2);
  for (const std::string believed : {"declared", "attained"}) {
    Workload workload;
    const SlowerByTier speed;
    Yard yard(cluster, workload, {}, &speed);
    const auto estimates = make_estimator(yard, believed, 0, 1);
    DelaySettings learnt;
    learnt.timers = DelaySettings::Timers::learnt;
    learnt.lease = minutes(20);
    DelayClocks clocks(learnt, estimates.get());
    workload.jobs.push_back(gang(2, 1, hours(100)));
    HandYard::must(yard.apply(Event::of(Time{}, EventKind::submitted, JobId{0})));
    clocks.on_phase(yard, JobId{0}, Phase::absent, Phase::queued);
    EXPECT_EQ(clocks.tier(JobId{0}), believed == "declared" ? kMachineTier : 2U) << believed;
  }
}

TEST(WaitWindow, MeanAndTwoDeviationsWithinTheWindow) {
  WaitWindow window;
  EXPECT_EQ(window.estimate(Time{}, hours(1)), 1) << "nothing known";
  window.add(Time{}, 2);
  window.add(Time{} + minutes(30), 4);
  EXPECT_DOUBLE_EQ(window.estimate(Time{} + minutes(30), hours(1)), 3 + 2 * 1);
  EXPECT_DOUBLE_EQ(window.estimate(Time{} + minutes(61), hours(1)), 4) << "the first is too old";
}

TEST(LifeTable, ExpectsWhatItSaw) {
  LifeTable table(minutes(10));
  for (int i = 0; i < 400; ++i) table.add(minutes(5), true);
  EXPECT_NEAR(table.expected_s(0), 300, 60) << "all served after five minutes on the average";
  LifeTable never(minutes(10));
  for (int i = 0; i < 400; ++i) never.add(hours(8), false);
  EXPECT_GT(never.expected_s(0), 8 * 3600) << "nobody was served in eight hours";
}

TEST(LifeTable, IsKeptAsNumbers) {
  LifeTable table(minutes(10)), next(minutes(10)), other(minutes(20));
  for (int i = 0; i < 40; ++i) table.add(minutes(7 * i), i % 3 != 0);
  next.take(table.numbers());
  other.take(table.numbers());
  EXPECT_EQ(next.expected_s(2), table.expected_s(2));
  EXPECT_EQ(other.expected_s(2), LifeTable(minutes(20)).expected_s(2)) << "of other bins";
  WaitWindow window, window_next;
  for (int i = 0; i < 9; ++i) window.add(Time{} + minutes(i), i);
  window_next.take(window.numbers());
  EXPECT_EQ(window_next.estimate(Time{} + minutes(9), hours(1)),
            window.estimate(Time{} + minutes(9), hours(1)));
}

TEST(LifeTable, WhoHasWaitedLongExpectsToWaitLonger) {
  LifeTable table(minutes(10));
  for (int i = 0; i < 200; ++i) {
    table.add(minutes(2), true);  // most at once
    if (i % 4 == 0) table.add(hours(20), true);
  }
  EXPECT_LT(table.expected_s(0), table.expected_s(3));
}

}  // namespace
}  // namespace trainyard
