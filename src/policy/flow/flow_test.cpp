// How a policy writes flow classes, with a stage that is made up for it.
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/members.h"
#include "policy/staged_policy.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

constexpr Duration kPeriod = minutes(10);

/// Of the jobs that hold GPUs, the one that has run least sends first, each in a class of its own.
class LeastAttained final : public FlowStage {
 public:
  using FlowStage::FlowStage;

  [[nodiscard]] FlowClass flow(JobId job) const override {
    const auto goes_before = [&](JobId other) {
      const Duration mine = yard_.attained(job), its = yard_.attained(other);
      return its != mine ? its < mine : other < job;
    };
    return FlowClass{static_cast<std::uint8_t>(std::ranges::count_if(holding_, goes_before))};
  }

  void refresh(std::vector<JobId>& changed) override {
    changed.insert(changed.end(), holding_.begin(), holding_.end());
  }
  [[nodiscard]] Time next_change() const override {
    return holding_.size() < 2 ? Time::never() : yard_.now() + kPeriod;
  }

  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    std::erase(holding_, job);
    if (holds_gpus(to)) holding_.push_back(job);
  }

 private:
  std::vector<JobId> holding_;
};

/// One machine of 8 GPUs, where short jobs pause long ones.
class FlowClasses : public testing::Test {
 protected:
  explicit FlowClasses(bool is_fair = false) : h("1x8xV100"), context_(h.yard) {
    Stages stages;
    stages.order = order_srtf().make({}, context_);
    stages.backfill = backfill_greedy().make({}, context_);
    stages.place = place_first_fit().make({}, context_);
    stages.preempt = preempt_srtf_blind().make({}, context_);
    if (!is_fair) stages.flow = make_member<FlowStage, LeastAttained>({}, context_);
    policy_ = std::make_unique<StagedPolicy>(context_, std::move(stages));
    h.yard.listen(context_);
    h.yard.listen(*policy_);
  }

  /// What the engine is to do after a decision; jobs are loaded if that takes no time.
  std::string decide() {
    Plan plan(h.yard);
    policy_->decide(plan);
    EXPECT_EQ(plan.refused(), 0U);
    wake = plan.wake();
    const std::string orders = h.orders();
    for (std::uint32_t j = 0; j < h.yard.jobs(); ++j)
      if (h.phase(JobId{j}) == Phase::starting && h.yard.job(JobId{j}).load.us == 0)
        h.tell(EventKind::loaded, JobId{j});
    return orders;
  }

  HandYard h;
  Time wake;

 private:
  PolicyContext context_;
  std::unique_ptr<StagedPolicy> policy_;
};

TEST_F(FlowClasses, ArrivalsAndDeparturesReorderAtOnce) {
  h.submit(gang(2, 1, hours(5)));
  EXPECT_EQ(decide(), "start 0");
  EXPECT_EQ(wake, Time::never());
  h.at(minutes(3));
  h.submit(gang(2, 1, hours(5)));
  EXPECT_EQ(decide(), "start 1, flow 0 in class 1");
  EXPECT_EQ(wake, h.yard.now() + kPeriod);
  h.tell(EventKind::finished, JobId{1});
  EXPECT_EQ(decide(), "flow 0 in class 0");
}

TEST_F(FlowClasses, ClassesMayChangeAtATimeThatTheStageNames) {
  h.submit(gang(2, 1, hours(5)));
  h.submit(costly(gang(2, 1, hours(5)), {}, {}, hours(1)));
  EXPECT_EQ(decide(), "start 0, start 1 in class 1");
  EXPECT_EQ(wake, Time{} + kPeriod);
  h.at(kPeriod);
  EXPECT_EQ(decide(), "flow 1 in class 0, flow 0 in class 1") << "the second still loads";
}

TEST_F(FlowClasses, AJobThatComesBackStartsInTheClassThatItHasThen) {
  h.submit(gang(4, 1, hours(5)));
  decide();
  h.at(minutes(30));
  h.submit(gang(4, 1, hours(6)));
  decide();
  h.at(minutes(40));
  const JobId urgent = h.submit(gang(8, 1, minutes(5)));
  EXPECT_EQ(decide(), "pause 1, pause 0");
  h.tell(EventKind::drained, JobId{0});
  h.tell(EventKind::drained, JobId{1});
  EXPECT_EQ(decide(), "start 2");
  h.at(minutes(45));
  h.tell(EventKind::finished, urgent);
  EXPECT_EQ(decide(), "start 0, start 1, flow 0 in class 1") << "40 minutes against 10";
}

TEST_F(FlowClasses, ARoomThatIsBeingMadeIsTakenInTheClassOfThen) {
  h.submit(gang(8, 1, hours(5)));
  decide();
  h.at(minutes(10));
  const JobId waiter = h.submit(gang(4, 1, hours(1)));
  EXPECT_EQ(decide(), "pause 0");
  EXPECT_EQ(h.yard.flow(waiter), kFirstFlow) << "it has run less than the other";
  h.tell(EventKind::drained, JobId{0});
  EXPECT_EQ(decide(), "start 1");
}

struct Fair : FlowClasses {
  Fair() : FlowClasses(true) {}
};
TEST_F(Fair, OrdersNothing) {
  h.submit(gang(2, 1, hours(5)));
  EXPECT_EQ(decide(), "start 0");
  h.at(minutes(3));
  h.submit(gang(2, 1, hours(5)));
  EXPECT_EQ(decide(), "start 1");
  EXPECT_EQ(wake, Time::never());
}

TEST_F(Fair, TakesBackWhatAnotherPolicyOrdered) {
  const JobId job = h.submit(gang(2, 1, hours(5)));
  HandYard::must(Plan(h.yard).start(job, on(0, 2), FlowClass{3}));
  EXPECT_EQ(decide(), "start 0 in class 3, flow 0 in class 0");
}

}  // namespace
}  // namespace trainyard
