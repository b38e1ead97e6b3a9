#include <gtest/gtest.h>

#include "policy/members.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

class Las : public testing::Test, public YardListener {
 protected:
  Las() : h("2x8xV100") {
    Params params;
    params.set("thresholds", "1h/10h");
    las = order_las().make(params, context);
    h.yard.listen(*this);
  }
  void on_phase(JobId job, Phase from, Phase to) override { las->on_phase(job, from, to); }

  /// At this time, who changed.
  std::vector<JobId> refresh(Duration at) {
    h.at(at);
    std::vector<JobId> changed;
    las->refresh(changed);
    return changed;
  }

  void pause(JobId job) {
    HandYard::must(h.make_room(h.submit(gang(8)), on(0, 8), {job}));
    h.tell(EventKind::drained, job);
  }

  HandYard h;
  PolicyContext context{h.yard};
  std::unique_ptr<OrderStage> las;
};

TEST_F(Las, TheExampleOfTheHeader) {
  const JobId job = h.running(gang(8, 1, hours(9)), 0);
  EXPECT_EQ(las->level(job), 0);
  EXPECT_EQ(las->next_change(), Time{} + seconds(450));
  EXPECT_TRUE(refresh(seconds(449)).empty());
  EXPECT_EQ(refresh(seconds(450)), std::vector{job});
  EXPECT_EQ(las->level(job), 1);
  EXPECT_EQ(las->next_change(), Time{} + minutes(75));
  EXPECT_EQ(refresh(minutes(75)), std::vector{job});
  EXPECT_EQ(las->level(job), 2);
  EXPECT_EQ(las->next_change(), Time::never()) << "there is no level below";
}

TEST_F(Las, SeveralThresholdsMayBeCrossedAtOnce) {
  const JobId job = h.running(gang(8, 1, hours(9)), 0);
  EXPECT_EQ(refresh(hours(5)), (std::vector{job, job}));
  EXPECT_EQ(las->level(job), 2);
}

TEST_F(Las, LevelsGoBeforeSubmission) {
  const JobId old = h.running(gang(8, 1, hours(9)), 0);
  refresh(minutes(8));
  const JobId young = h.submit(gang(1)), younger = h.submit(gang(1));
  EXPECT_GT(las->key(old), las->key(young));
  EXPECT_EQ(las->key(young), las->key(younger)) << "the queue breaks the tie";
}

TEST_F(Las, APausedJobKeepsItsLevelAndItsService) {
  const JobId job = h.running(gang(8, 1, hours(9)), 0);
  h.at(minutes(30));  // nobody asked since; it sank on the way
  pause(job);
  EXPECT_EQ(las->level(job), 1);
  HandYard::must(h.start(job, on(1, 8)));
  h.tell(EventKind::loaded, job);
  EXPECT_EQ(las->next_change(), Time{} + minutes(30 + 45)) << "75 minutes in all";
}

TEST_F(Las, AJobThatWaitsDoesNotSink) {
  const JobId job = h.running(gang(8, 1, hours(9)), 0);
  h.at(minutes(5));
  pause(job);
  EXPECT_EQ(las->level(job), 0);
  EXPECT_EQ(las->next_change(), Time::never());
}

}  // namespace
}  // namespace trainyard
