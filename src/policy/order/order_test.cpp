// Orders that follow from a job's own figures: fifo, sjf, srtf, srsf, smith.
#include <gtest/gtest.h>

#include "policy/members.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

std::int64_t key(Member<OrderStage> (*member)(), const HandYard& h, JobId job) {
  PolicyContext context(h.yard);
  return member().make({}, context)->key(job);
}

/// Paused after a third of its hour.
class Orders : public testing::Test {
 protected:
  Orders() : h("1x8xV100") {
    h.at(minutes(7));
    paused = h.running(gang(4, 2), 0);
    h.at(minutes(27));
    const JobId other = h.submit(gang(8));
    HandYard::must(h.make_room(other, on(0, 8), {paused}));
    h.tell(EventKind::drained, paused);
  }
  HandYard h;
  JobId paused{};
};

TEST_F(Orders, FifoKeepsTheTimeOfSubmission) {
  EXPECT_EQ(key(order_fifo, h, paused), minutes(7).us);
  PolicyContext context(h.yard);
  EXPECT_FALSE(order_fifo().make({}, context)->can_starve());
}

TEST_F(Orders, SjfGoesByTheWholeEstimate) {
  EXPECT_EQ(key(order_sjf, h, paused), hours(1).us);
  PolicyContext context(h.yard);
  EXPECT_TRUE(order_sjf().make({}, context)->can_starve());
}

TEST_F(Orders, SrtfGoesByWhatIsLeft) {
  EXPECT_EQ(key(order_srtf, h, paused), minutes(40).us);
}

TEST_F(Orders, SrsfGoesByWhatIsLeftTimesGpus) {
  EXPECT_EQ(key(order_srsf, h, paused), minutes(40).us * 8);
}

TEST_F(Orders, SrsfDoesNotOverflow) {
  EXPECT_EQ(key(order_srsf, h, h.submit(gang(1000, 8, kLongestDuration))), Duration::max().us);
}

TEST_F(Orders, EstimatesNotDurationsCount) {
  Job job = gang(1);
  job.estimate = minutes(3);
  const JobId id = h.submit(job);
  for (const auto member : {order_sjf, order_srtf, order_srsf})
    EXPECT_EQ(key(member, h, id), minutes(3).us);
}

TEST_F(Orders, SmithGoesByWhatIsLeftTimesTheWidth) {
  EXPECT_EQ(key(order_smith, h, paused), minutes(40).us) << "no job is wider than a 32nd of 8 GPUs";
  HandYard large("8x8xV100");
  EXPECT_EQ(key(order_smith, large, large.submit(gang(1))), hours(1).us);
  EXPECT_EQ(key(order_smith, large, large.submit(gang(8))), hours(2).us);
}

TEST_F(Orders, SmithDoesNotOverflow) {
  HandYard large("9999x8xV100");
  const JobId job = large.submit(gang(4000, 8, kLongestDuration));
  EXPECT_EQ(key(order_smith, large, job), 9'000'000'000'000'000'000);
}

/// By 10 hours and 20 the jobs would go one after the other, by the trial job's 2 it is first.
TEST(Smith, ATrialJobsSecondsCountMore) {
  for (const std::string worth : {"1", "10"}) {
    HandPolicy h("1x1xV100", "order=smith", {"queue.trial_worth=" + worth});
    const JobId before = h.submit(gang(1));
    h.decide();
    const JobId batch = h.submit(gang(1, 1, hours(10)));
    const JobId tried = h.submit(trial(gang(1, 1, hours(20))));
    h.tell(EventKind::finished, before);
    h.decide();
    EXPECT_EQ(h.phase(tried), worth == "10" ? Phase::running : Phase::queued);
    EXPECT_EQ(h.phase(batch), worth == "10" ? Phase::queued : Phase::running);
  }
}

/// Ten users' trial jobs have the right by turns; a job that gains it is queued anew.
TEST(Smith, ATrialJobWithoutTheRightIsAsAnyOther) {
  HandPolicy h("1x4xV100", "order=smith", {"queue.trial_worth=10", "queue.trial_share=0.01"});
  h.workload.users.add("ada");
  Job tried = trial(gang(1, 1, hours(20)));
  tried.user = UserId{0};
  const JobId runs = h.submit(gang(4, 1, hours(1))), first = h.submit(tried);
  h.decide();
  h.tell(EventKind::finished, runs);
  h.decide();
  ASSERT_EQ(h.phase(first), Phase::running);
  h.submit(gang(3, 1, hours(9)));
  h.decide();
  const JobId second = h.submit(tried), batch = h.submit(gang(1, 1, hours(10)));
  h.at(hours(9));
  h.tell(EventKind::finished, first);
  h.decide();
  EXPECT_EQ(h.phase(batch), Phase::running) << "the first used up what its user may take";
  EXPECT_EQ(h.phase(second), Phase::queued);
}

/// Two hours of work for 4 GPUs wait beside a job of 8 h, which alone takes longer than all of it.
TEST(CriticalJobs, GoBeforeOthersWhenAllElseWouldBeDoneSooner) {
  for (const std::string critical : {"ordinary", "first"}) {
    HandPolicy h("1x4xV100", "order=smith backfill=greedy", {"queue.critical=" + critical});
    const JobId before = h.submit(gang(4, 1, hours(10)));
    h.decide();
    const JobId longest = h.submit(gang(1, 1, hours(8)));
    for (int i = 0; i < 4; ++i) h.submit(gang(1, 1, hours(2)));
    h.at(hours(7));
    h.decide();
    EXPECT_EQ(h.phase(longest), Phase::queued);
    h.at(hours(10));
    h.tell(EventKind::finished, before);
    h.decide();
    EXPECT_EQ(h.phase(longest) == Phase::running, critical == "first");
  }
}

/// The same, but jobs of a minute's declaration have taken 8 h, and so are believed to.
TEST(CriticalJobs, DeclareThatTheyTakeLong) {
  for (const bool is_declared : {true, false}) {
    HandPolicy h("1x4xV100", "order=smith backfill=greedy",
                 {"queue.critical=first", "queue.estimates=residual"});
    const auto eight_hours = [&] {
      Job job = gang(1, 1, hours(8));
      job.estimate = is_declared ? hours(8) : minutes(1);
      return job;
    };
    for (int i = 0; i < 4; ++i) h.submit(eight_hours());
    h.decide();
    h.at(hours(8));
    for (std::uint32_t i = 0; i < 4; ++i) h.tell(EventKind::finished, JobId{i});
    h.at(hours(100));
    h.submit(gang(4, 1, hours(2)));
    h.decide();
    for (int i = 0; i < 4; ++i) h.submit(gang(1, 1, hours(1)));
    const JobId longest = h.submit(eight_hours());
    h.at(hours(102));
    h.decide();
    const std::string why = h.policy->explain(longest).sentence;
    EXPECT_EQ(why.find("all other work could be done") != std::string::npos, is_declared) << why;
  }
}

}  // namespace
}  // namespace trainyard
