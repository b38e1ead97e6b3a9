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
  void on_estimate(JobId job) override { estimator->on_estimate(job); }
  void on_rate(JobId job) override { estimator->on_rate(job); }
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

/// Runs a job that declares so much to its end.
void finish_declared(Believing& h, UserId user, Duration declared, Duration duration) {
  Job job = gang(1, 1, duration);
  job.estimate = declared;
  job.user = user;
  const JobId id = h.running(job, 0);
  h.at(h.yard.now() - Time{} + duration);
  h.tell(EventKind::finished, id);
}

JobId runs_declared(Believing& h, UserId user, Duration declared) {
  Job job = gang(1, 1, declared);
  job.user = user;
  return h.running(job, 0);
}

std::vector<JobId> refreshed(Believing& h) {
  std::vector<JobId> changed;
  h.estimator->refresh(changed);
  return changed;
}

TEST(Estimator, ResidualIsWhatJobsDeclareWhereThatIsRight) {
  Believing h("residual");
  for (int i = 1; i <= 50; ++i) finish_declared(h, UserId{0}, minutes(i), minutes(i));
  const JobId job = runs_declared(h, UserId{0}, hours(7));
  EXPECT_EQ(h.left(job), hours(7)) << "to the microsecond";
  h.at(h.yard.now() - Time{} + hours(3));
  EXPECT_EQ(h.left(job), hours(4));
  EXPECT_EQ(h.left_by_rank(job), hours(4));
}

TEST(Estimator, ResidualIsLearntFromTheUsersJobsThatDeclaredAsMuch) {
  Believing h("residual");
  constexpr UserId kAda{0}, kBob{1};
  for (const char* user : {"ada", "bob"}) h.workload.users.add(user);
  const Duration day = hours(24);
  EXPECT_EQ(h.left(runs_declared(h, kAda, day)), day) << "nothing is known";
  for (int i = 0; i < 98; ++i) finish_declared(h, kAda, day, hours(6));
  // 98 jobs of a quarter; in turn mixed with the same 98 as anybody's, which count as two.
  EXPECT_NEAR(h.left(runs_declared(h, kAda, day)).seconds(), hours(6).seconds(), 60);
  EXPECT_NEAR(h.left(runs_declared(h, kBob, day)).seconds(), hours(6).seconds(), 600)
      << "of anybody that declares as much";
  EXPECT_NEAR(h.left(runs_declared(h, kBob, hours(1))).seconds(), minutes(15).seconds(), 60)
      << "of all";
  for (int i = 0; i < 98; ++i) finish_declared(h, kBob, day, hours(12));
  EXPECT_NEAR(h.left(runs_declared(h, kBob, day)).seconds(), hours(12).seconds(), 1000);
  EXPECT_NEAR(h.left(runs_declared(h, kAda, day)).seconds(), hours(6).seconds(), 1000);
}

TEST(Estimator, ResidualIsThatOfThoseThatRanAtLeastAsLong) {
  Believing h("residual");
  for (int i = 0; i < 60; ++i)
    finish_declared(h, UserId{0}, hours(10), i % 2 ? hours(1) : hours(9));
  (void)refreshed(h);
  const Time start = h.yard.now();
  const JobId job = runs_declared(h, UserId{0}, hours(10));
  EXPECT_NEAR(h.left(job).seconds(), hours(5).seconds(), 600) << "the mean of 1 and 9 h";
  EXPECT_NEAR((h.estimator->next_change() - start).seconds(), 1.01 * 3600, 60);
  EXPECT_EQ(h.estimator->next_change().us % minutes(1).us, 0);
  h.at(h.estimator->next_change() - Time{});
  EXPECT_EQ(refreshed(h), std::vector{job});
  EXPECT_NEAR(h.left(job).seconds(), (9 - 1.01) * 3600, 300) << "it is one of the long ones";
  EXPECT_EQ(h.estimator->rank(job), h.yard.now() + h.left(job));
  h.at(h.yard.now() - Time{} + hours(50));
  EXPECT_EQ(refreshed(h), std::vector{job});
  EXPECT_NEAR(h.left(job).seconds(), (h.yard.now() - start).seconds(), 1)
      << "beyond all: as long again";
}

/// Other jobs may leave one nothing of the links for a while.
TEST(Estimator, ResidualIsLookedAtAgainOfAJobThatStoodStill) {
  Believing h("residual");
  for (int i = 0; i < 60; ++i)
    finish_declared(h, UserId{0}, hours(10), i % 2 ? hours(1) : hours(9));
  (void)refreshed(h);
  const JobId job = runs_declared(h, UserId{0}, hours(10));
  const Time due = h.estimator->next_change();
  h.must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate::stopped())));
  EXPECT_EQ(h.estimator->next_change(), Time::never());
  h.at(h.yard.now() - Time{} + hours(1));
  h.must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate{})));
  EXPECT_EQ(h.estimator->next_change(), due + hours(1));
}

TEST(Estimator, ResidualOfAJobThatTellsIsWhatItTells) {
  Believing h("residual");
  Job tells = gang(1, 1, hours(3));
  tells.estimate = hours(10);
  const JobId job = h.running(tells, 0);
  h.at(hours(1));
  h.must(h.yard.apply(Event::estimate_of(h.yard.now(), job, {.work = hours(3)})));
  EXPECT_EQ(h.left(job), hours(2));
  EXPECT_EQ(h.estimator->next_change(), Time::never());
  // What is learnt from it is what it took of what it had declared: 0.3.
  h.at(hours(3));
  h.tell(EventKind::finished, job);
  (void)refreshed(h);
  EXPECT_NEAR(h.left(runs_declared(h, UserId{0}, hours(10))).seconds(), 0.507 * 36000, 36)
      << "0.3, and in two steps what all know: (0.3 + 2 (0.3 + 2 (0.3 + 2) / 3) / 3) / 3";
}

TEST(Estimator, ResidualGoesOnFromWhatAnotherHasLearnt) {
  constexpr UserId kAda{0}, kBob{1};
  Learnt learnt;
  {
    Believing h("residual");
    for (const char* user : {"ada", "bob"}) h.workload.users.add(user);
    for (int i = 0; i < 30; ++i) finish_declared(h, kAda, hours(12), hours(3));
    for (int i = 0; i < 30; ++i) finish_declared(h, kBob, hours(12), hours(6));
    (void)refreshed(h);
    h.estimator->save_learnt(learnt);
  }
  Believing h("residual");
  for (const char* user : {"bob", "ada"}) h.workload.users.add(user);  // other numbers
  learnt["lengths/1/=eve"] = {1, 5};                                   // damaged
  learnt["lengths/1/=mallory"] = {3, -1, 2, 2};
  learnt["lengths/x"] = {0};
  learnt["lengths/2/=nobody"] = {0};  // of no jobs
  h.estimator->recall(learnt);
  EXPECT_NEAR(h.left(runs_declared(h, kBob, hours(12))).seconds(), hours(3).seconds(), 600)
      << "ada";
  EXPECT_NEAR(h.left(runs_declared(h, kAda, hours(12))).seconds(), hours(6).seconds(), 600)
      << "bob";
  Learnt again;
  h.estimator->save_learnt(again);
  std::size_t tables = 0;
  for (const auto& [name, numbers] : again) {
    if (!name.starts_with("lengths")) continue;
    ++tables;
    EXPECT_EQ(learnt.at(name), numbers) << name;
  }
  EXPECT_EQ(tables, 8U) << "two users', anybody's and all, each as learnt and as told";
}

TEST(Estimator, ResidualSaysWhyItBelieves) {
  HandPolicy h("1x8xV100", "srtf", {"queue.estimates=residual"});
  h.workload.users.add("ada");
  const auto declares = [](Duration declared, Duration duration) {
    Job job = gang(8, 1, duration);
    job.estimate = declared;
    return job;
  };
  h.running(declares(hours(99), hours(99)), 0);
  const JobId first = h.submit(declares(hours(12), hours(3)));
  h.decide();
  EXPECT_EQ(h.policy->explain(first).sentence,
            "needs 8 GPUs; 0 free; is believed to take another 12h (it declares 12h)");
  h.at(hours(99));
  h.tell(EventKind::finished, JobId{0});
  h.decide();
  h.at(hours(102));
  h.tell(EventKind::finished, first);
  h.decide();
  h.running(declares(hours(99), hours(99)), 0);
  const JobId second = h.submit(declares(hours(12), hours(3)));
  h.decide();
  EXPECT_NE(h.policy->explain(second).sentence.find(
                "it declares 12h; its user's jobs that declare about as much took 25% of that"),
            std::string::npos)
      << h.policy->explain(second).sentence;
}

/// Of two alike that wait, the one that came first is first whatever was learnt in between.
TEST(Estimator, ResidualTellsAllAlikeTheSame) {
  Believing h("residual");
  const auto waits = [&] {
    Job job = gang(1, 1, hours(1));
    job.estimate = hours(10);
    return h.submit(job);
  };
  const JobId first = waits();
  EXPECT_EQ(h.left(first), hours(10));
  for (int i = 0; i < 40; ++i) {
    finish_declared(h, UserId{0}, hours(10), minutes(i + 1));
    (void)refreshed(h);
    EXPECT_EQ(h.left(waits()), h.left(first)) << i;
  }
  EXPECT_LT(h.left(first), hours(1));
}

TEST(Estimator, ResidualSaysThatStagesAreToLookAgain) {
  // The first declares a minute, and runs on. The second has an hour ahead of it, and is let in
  // when the first is believed to need more than that.
  HandPolicy h("1x8xV100", "order=srtf preempt=srtf-blind", {"queue.estimates=residual"});
  Job wrong = gang(8, 1, hours(99));
  wrong.estimate = minutes(1);
  const JobId first = h.running(wrong, 0);
  const JobId second = h.submit(gang(8, 1, hours(1)));
  h.decide();
  int looks = 0;
  for (; h.phase(first) == Phase::running && looks < 100; ++looks) {
    h.at(h.wake - Time{});
    h.decide();
  }
  EXPECT_EQ(h.phase(second), Phase::reserved);
  EXPECT_GT(h.yard.now(), Time{} + minutes(60));
  EXPECT_LT(h.yard.now(), Time{} + minutes(70));
  EXPECT_LT(looks, 60);
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
