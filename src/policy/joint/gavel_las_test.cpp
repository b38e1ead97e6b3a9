#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

class GavelTurns : public testing::Test {
 protected:
  /// Decides, and again when all that were told to leave have left.
  void round(HandPolicy& h, Duration at) {
    h.at(at);
    h.decide();
    for (const std::uint32_t job : leaving(h)) h.tell(EventKind::drained, JobId{job});
    h.decide();
  }
};

TEST_F(GavelTurns, TheExampleOfTheHeader) {
  HandPolicy h("1x1xV100", "joint=gavel-las");
  h.submit(gang(1)), h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running queued");
  EXPECT_EQ(h.wake, Time{} + minutes(6));
  round(h, minutes(6));
  EXPECT_EQ(h.phases(), "queued running");
  round(h, minutes(12));
  EXPECT_EQ(h.phases(), "running queued");
  EXPECT_EQ(h.refused, 0U);
}

TEST_F(GavelTurns, WhereNobodyCanRunItDoesNotAskToBeWoken) {
  HandPolicy h("1x1xV100", "joint=gavel-las");
  h.tell(EventKind::machine_down, MachineId{0});
  h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "queued");
  EXPECT_EQ(h.wake, Time::never());
}

TEST_F(GavelTurns, AJobThatGetsTheSameKindAgainKeepsItsGpus) {
  HandPolicy h("1x2xV100", "joint=gavel-las");
  h.submit(gang(1)), h.submit(gang(1));
  h.decide();
  for (int i = 1; i < 5; ++i) round(h, minutes(6 * i));
  EXPECT_EQ(h.phases(), "running running");
  EXPECT_EQ(h.yard.state(JobId{0}).pauses + h.yard.state(JobId{1}).pauses, 0U);
}

TEST_F(GavelTurns, BetweenRoundsFreeGpusGoToThoseThatCanBePausedAtTheNext) {
  HandPolicy h("1x4xV100", "joint=gavel-las");
  h.submit(gang(1));
  h.decide();
  h.at(minutes(3));
  h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running running");
  h.at(minutes(5) + seconds(30));
  h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phases(), "running running queued") << "yard.min_run is a minute";
  EXPECT_EQ(h.policy->explain(JobId{2}).sentence,
            "it is due GPUs for 100% of the time and has had them for 0%; turns are given at the "
            "next round");
  round(h, minutes(6));
  EXPECT_EQ(h.phases(), "running running running");
}

TEST_F(GavelTurns, AGangIsNotKeptOutBySmallJobsThatCameLater) {
  HandPolicy h("2x2xV100", "joint=gavel-las");
  for (int i = 0; i < 4; ++i) h.submit(gang(1));
  h.decide();
  h.at(minutes(3));
  const JobId large = h.submit(gang(4));
  h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phase(large), Phase::queued);
  round(h, minutes(6));
  EXPECT_EQ(h.phase(large), Phase::running);
  EXPECT_EQ(h.policy->explain(JobId{5}).sentence.substr(0, 19), "needs 1 GPU; 0 free");
  EXPECT_EQ(h.refused, 0U);
}

/// A GPU on each of the machines is taken; the job that needs two of one machine comes first.
TEST_F(GavelTurns, OthersMoveForAJobThatFindsNoRoomOtherwise) {
  HandPolicy h("2x2xV100", "joint=gavel-las");
  const JobId first = h.running(gang(1), 0), second = h.running(gang(1), 1);
  h.at(minutes(2));
  const JobId wide = h.submit(gang(1, 2));
  round(h, minutes(2));
  EXPECT_EQ(h.phase(wide), Phase::running);
  EXPECT_EQ(h.phase(first), Phase::running);
  EXPECT_EQ(h.phase(second), Phase::running);
  EXPECT_EQ(h.yard.state(first).pauses + h.yard.state(second).pauses, 1U);
}

TEST_F(GavelTurns, ElasticJobsAreNotResized) {
  HandPolicy h("1x8xV100", "joint=gavel-las");
  Job job = gang(2);
  job.min_workers = 1, job.max_workers = 8;
  h.submit(job);
  h.decide();
  EXPECT_EQ(h.yard.workers(JobId{0}), 2);
}

TEST_F(GavelTurns, AGangThatFitsOnNoKindRunsOnSeveral) {
  HandPolicy h(two_kinds(2), "joint=gavel-las");
  h.submit(gang(1));
  h.decide();
  h.at(minutes(2));
  h.submit(gang(4));
  round(h, minutes(6));
  EXPECT_EQ(h.phases(), "queued running");
  round(h, minutes(12));
  round(h, minutes(18));
  EXPECT_EQ(h.yard.state(JobId{1}).pauses, 1U) << "it takes turns with the other";
}

}  // namespace
}  // namespace trainyard
