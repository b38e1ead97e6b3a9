#include "policy/economy/overdue.h"

#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

/// On 16 GPUs; a job that has waited for more than an hour is overdue.
class Queued : public HandYard, public YardListener {
 public:
  explicit Queued(double share, Duration limit = hours(1))
      : HandYard("1x16xV100"),
        patience(yard, {.limit = limit}, backlog),
        overdue(yard, patience, share) {
    yard.listen(*this);
  }
  void on_phase(JobId job, Phase from, Phase to) override { overdue.on_phase(job, from, to); }

  /// It goes first.
  void start_and_load(JobId job) {
    overdue.name(job);
    must(start(job, on(0, workload.jobs[index(job)].workers)));
    tell(EventKind::loaded, job);
  }
  bool has_quantum_at(JobId job, Duration since_start) {
    at(since_start);
    overdue.refresh();
    return overdue.has_quantum(job);
  }

  std::unique_ptr<Estimator> estimates = make_estimator(yard, "declared", 0, 1);
  Backlog backlog{yard, *estimates};
  Patience patience;
  Overdue overdue;
};

TEST(Overdue, AJobIsOverdueOnceItHasWaitedLongerThanTheLimit) {
  Queued h(0.5);
  const JobId job = h.submit(gang(1));
  h.at(hours(1));
  EXPECT_FALSE(h.overdue.is_overdue(job));
  h.at(hours(1) + microseconds(1));
  EXPECT_TRUE(h.overdue.is_overdue(job));
  EXPECT_TRUE(h.overdue.is_due(job));
}

TEST(Overdue, WithoutALimitNoJobIs) {
  Queued h(0.5, Duration::max());
  const JobId job = h.submit(gang(1));
  h.at(days(1000));
  EXPECT_FALSE(h.overdue.any());
  EXPECT_FALSE(h.overdue.is_due(job));
  h.start_and_load(job);
  EXPECT_FALSE(h.overdue.has_quantum(job));
}

/// share / (1 - share) is a third: two hours of six, and three of nine.
TEST(Overdue, AQuantumIsAPartOfTheWaitAndBeginsWhenTheJobRuns) {
  Queued h(0.25);
  const JobId job = h.submit(gang(1, 1, hours(99)));
  h.at(hours(6));
  h.overdue.name(job);
  h.must(h.start(job, on(0, 1)));
  EXPECT_TRUE(h.overdue.has_quantum(job));
  EXPECT_EQ(h.overdue.next_change(), Time::never()) << "it loads";
  h.at(hours(7));
  h.tell(EventKind::loaded, job);
  EXPECT_EQ(h.overdue.next_change(), Time{} + hours(9));
  EXPECT_TRUE(h.has_quantum_at(job, hours(9) - microseconds(1)));
  EXPECT_FALSE(h.has_quantum_at(job, hours(9)));
  EXPECT_EQ(h.overdue.next_change(), Time::never());
}

TEST(Overdue, TheNextGoesFirstWhenTheLastIsPaidFor) {
  Queued h(0.25);
  const JobId first = h.submit(gang(4, 1, hours(99))), second = h.submit(gang(1));
  h.at(hours(8));
  EXPECT_TRUE(h.overdue.is_due(second));
  h.start_and_load(first);
  EXPECT_EQ(h.overdue.next(), Time{} + hours(10)) << "8 h x 4 / 16 later";
  EXPECT_TRUE(h.overdue.is_overdue(second));
  EXPECT_FALSE(h.overdue.is_due(second));
  h.at(hours(9));
  h.must(h.start(second, on(0, 1)));
  EXPECT_FALSE(h.overdue.has_quantum(second)) << "it started in its place of the queue";
  EXPECT_EQ(h.overdue.next(), Time{} + hours(10));
}

TEST(Overdue, AJobThatStartsBesideTheOneThatGoesFirstTakesNoTurn) {
  Queued h(0.25);
  const JobId first = h.submit(gang(16, 1, hours(99))), second = h.submit(gang(1));
  h.at(hours(8));
  h.overdue.name(first);
  EXPECT_TRUE(h.overdue.goes_first(first));
  EXPECT_FALSE(h.overdue.goes_first(second));
  h.must(h.start(second, on(0, 1)));
  EXPECT_FALSE(h.overdue.has_quantum(second));
  EXPECT_TRUE(h.overdue.is_due(first));
}

TEST(Overdue, AShareOfOneHasNeitherEndNorSpacing) {
  Queued h(1);
  const JobId first = h.submit(gang(4, 1, hours(9999))), second = h.submit(gang(1));
  h.at(hours(8));
  h.start_and_load(first);
  EXPECT_TRUE(h.overdue.is_due(second));
  EXPECT_EQ(h.overdue.next_change(), Time::never());
  EXPECT_TRUE(h.has_quantum_at(first, days(400)));
  h.tell(EventKind::finished, first);
  EXPECT_FALSE(h.overdue.has_quantum(first));
}

TEST(Overdue, APauseEndsTheQuantumAndBeginsAnotherWait) {
  Queued h(0.5);
  const JobId job = h.submit(gang(16, 1, hours(99)));
  h.at(hours(8));
  h.start_and_load(job);
  h.at(hours(10));
  const JobId other = h.submit(gang(1));
  h.must(h.make_room(other, on(0, 1), {job}));
  EXPECT_TRUE(h.overdue.has_quantum(job)) << "it drains";
  h.tell(EventKind::drained, job);
  EXPECT_FALSE(h.overdue.has_quantum(job));
  EXPECT_EQ(h.overdue.since(job), Time{} + hours(10));
  EXPECT_FALSE(h.overdue.is_overdue(job)) << "8 h of an earlier wait do not count";
}

TEST(Overdue, AJobThatIsAdoptedWhileItRunsHasNoQuantum) {
  Queued h(0.5);
  const JobId job = h.submit(gang(1, 1, hours(99)));
  h.at(hours(8));
  h.start_and_load(job);
  Overdue next(h.yard, h.patience, 0.5);  // of the policy after a restart
  next.on_phase(job, Phase::absent, Phase::running);
  EXPECT_FALSE(next.has_quantum(job));
  EXPECT_EQ(next.next(), Time{});
}

}  // namespace
}  // namespace trainyard
