#include "sim/pause_gains.h"

#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace trainyard {
namespace {

Job job(Duration submit, Duration duration, Duration save, Duration load) {
  Job made;
  made.submit = Time{} + submit;
  made.duration = made.estimate = duration;
  made.save = save;
  made.load = load;
  return made;
}

struct Ran {
  explicit Ran(const std::vector<Job>& jobs, const char* policy = "xion")
      : cluster(*parse_cluster_shorthand("1x1xV100")),
        workload{jobs, {}, {}, {}, {}, {}, {}},
        simulation(cluster, workload, *PolicySpec::parse(policy), {}) {
    simulation.run();
  }
  Cluster cluster;
  Workload workload;
  Simulation simulation;
};

TEST(PauseGains, AreAsExpectedWhenAllGoesAsExpected) {
  // At 12 min the first has 50 min left; the second starts at 13, ends at 24; the first is back
  // at 26.
  const Ran ran(
      {job({}, hours(1), minutes(1), minutes(2)), job(minutes(12), minutes(10), {}, minutes(1))});
  const auto& pauses = ran.simulation.pause_gains().pauses();
  ASSERT_EQ(pauses.size(), 1U);
  EXPECT_EQ(pauses[0].waiter, JobId{1});
  EXPECT_EQ(pauses[0].at, Time{} + minutes(12));
  EXPECT_EQ(pauses[0].pending, 0U);
  EXPECT_EQ(pauses[0].expected_s, 60 * (50 - 10 - 1 - 2 - 2));
  EXPECT_EQ(pauses[0].actual_s, 60 * (50 - 1 - 14));
  EXPECT_EQ(ran.simulation.result().pause_gain_s.expected, 35 * 60);
  EXPECT_EQ(ran.simulation.result().pause_gain_s.actual, 35 * 60);
}

TEST(PauseGains, AWaiterThatTakesLongerGainsLess) {
  Job wrong = job(minutes(12), minutes(40), {}, minutes(1));
  wrong.estimate = minutes(10);
  const Ran ran({job({}, hours(1), minutes(1), minutes(2)), wrong});
  EXPECT_EQ(ran.simulation.result().pause_gain_s.expected, 35 * 60);
  EXPECT_EQ(ran.simulation.result().pause_gain_s.actual, 5 * 60);
}

TEST(PauseGains, WhoDoesNotReckonExpectsNothing) {
  const Ran ran(
      {job({}, hours(1), minutes(1), minutes(2)), job(minutes(12), minutes(10), {}, minutes(1))},
      "srtf");
  EXPECT_EQ(ran.simulation.result().preemptions, 1U);
  EXPECT_TRUE(ran.simulation.pause_gains().pauses().empty());
}

}  // namespace
}  // namespace trainyard
