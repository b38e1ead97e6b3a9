#include "policy/estimator.h"

#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

/// A yard with an estimator that follows it.
class Believing final : public HandYard, private YardListener {
 public:
  Believing(std::string_view name, double error = 0, std::uint64_t seed = 1)
      : HandYard("1x8xV100"), estimator(make_estimator(yard, name, error, seed)) {
    yard.listen(*this);
  }

  [[nodiscard]] Duration left(JobId job) const { return estimator->remaining(job); }
  /// As the index of running jobs knows it.
  [[nodiscard]] Duration left_by_rank(JobId job) const {
    return estimator->left_at(ranks_.at(index(job)));
  }

  std::unique_ptr<Estimator> estimator;

 private:
  void on_phase(JobId job, Phase from, Phase to) override {
    estimator->on_phase(job, from, to);
    ranks_.resize(yard.jobs());
    if (to == Phase::running) ranks_[index(job)] = estimator->rank(job);
  }
  std::vector<Time> ranks_;
};

TEST(Estimator, DeclaredIsWhatTheJobSays) {
  Believing h("declared");
  const JobId job = h.running(gang(1, 1, hours(3)), 0);
  EXPECT_EQ(h.left(job), hours(3));
  h.at(hours(1));
  EXPECT_EQ(h.left(job), hours(2));
  EXPECT_EQ(h.left_by_rank(job), hours(2));
  EXPECT_EQ(h.estimator->left_at(h.estimator->rank_of(minutes(7))), minutes(7));
}

TEST(Estimator, AnErrorIsDrawnOnceForEachJobAndFollowsFromTheSeed) {
  Believing one("declared", 0.2, 1), same("declared", 0.2, 1), other("declared", 0.2, 2);
  double sum = 0;
  int differ = 0;
  for (int i = 0; i < 400; ++i) {
    const JobId a = one.submit(gang(1, 1, hours(10)));
    const JobId b = same.submit(gang(1, 1, hours(10)));
    const JobId c = other.submit(gang(1, 1, hours(10)));
    ASSERT_GE(one.left(a), hours(8));
    ASSERT_LE(one.left(a), hours(12));
    ASSERT_EQ(one.left(a), same.left(b));
    differ += one.left(a) != other.left(c) ? 1 : 0;
    sum += one.left(a).seconds() / hours(10).seconds();
  }
  EXPECT_GT(differ, 390);
  EXPECT_NEAR(sum / 400, 1, 0.02);
}

TEST(Estimator, AttainedIsAsLongAgainAsItRan) {
  Believing h("attained");
  const JobId first = h.running(gang(1, 1, hours(90)), 0);
  EXPECT_EQ(h.left(first), microseconds(1));
  h.at(hours(2));
  const JobId second = h.running(gang(1, 1, hours(1)), 0);
  h.at(hours(3));
  EXPECT_EQ(h.left(first), hours(3));
  EXPECT_EQ(h.left_by_rank(first), hours(3));
  EXPECT_EQ(h.left_by_rank(second), hours(1));
  EXPECT_EQ(h.estimator->left_at(h.estimator->rank_of(minutes(7))), minutes(7));
}

/// Runs a job of this length to its end.
void finish(Believing& h, UserId user, int gpus, Duration duration) {
  Job job = gang(gpus, 1, duration);
  job.user = user;
  const JobId id = h.running(job, 0);
  h.at(h.yard.now() - Time{} + duration);
  h.tell(EventKind::finished, id);
}

Duration expected_of(Believing& h, UserId user, int gpus) {
  Job job = gang(gpus, 1, hours(99));
  job.user = user;
  return h.left(h.submit(job));
}

TEST(Estimator, HistoryIsTheMeanOfTheUsersJobsOfThatSize) {
  Believing h("history");
  constexpr UserId kAda{0}, kBob{1};
  EXPECT_EQ(expected_of(h, kAda, 1), hours(1)) << "nothing is known";
  finish(h, kAda, 1, minutes(10));
  finish(h, kAda, 1, minutes(40));
  EXPECT_EQ(expected_of(h, kAda, 1), minutes(25));
  EXPECT_EQ(expected_of(h, kAda, 4), minutes(25)) << "of any size";
  EXPECT_EQ(expected_of(h, kBob, 1), minutes(25)) << "of anybody";
  finish(h, kBob, 4, hours(2));
  EXPECT_EQ(expected_of(h, kBob, 1), hours(2));
  EXPECT_EQ(expected_of(h, kAda, 1), minutes(25));
}

TEST(Estimator, HistoryIsThatOfTheSubmission) {
  Believing h("history");
  const JobId job = h.submit(gang(1, 1, hours(99)));
  finish(h, UserId{0}, 1, minutes(10));
  EXPECT_EQ(h.left(job), hours(1));
}

TEST(Estimator, StagesGoByIt) {
  // Declared, the second is shorter; by its history it is the first's equal, and came later.
  for (const std::string estimates : {"declared", "history"}) {
    HandPolicy h("1x8xV100", "order=srtf", {"queue.estimates=" + estimates});
    h.submit(gang(8, 1, hours(1)));
    h.decide();
    const JobId first = h.submit(gang(8, 1, hours(9)));
    const JobId second = h.submit(gang(8, 1, hours(1)));
    h.at(hours(1));
    h.tell(EventKind::finished, JobId{0});
    h.decide();
    EXPECT_EQ(h.phase(estimates == "declared" ? second : first), Phase::running) << estimates;
  }
}

}  // namespace
}  // namespace trainyard
