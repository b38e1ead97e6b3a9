// The joint policy of docs/extending.md, at work on a yard. In src/ the first part would be
// policy/joint/shunt.cpp, and the second shunt_test.cpp beside it.
#include <gtest/gtest.h>

#include "base/sorted_list.h"
#include "policy/members.h"
#include "policy/wait_reasons.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

/// First come, first served. Where the first in the queue finds no room, but would on one machine
/// if a single running job were elsewhere, that job moves there and the first takes its place.
class Shunt final : public Policy {
 public:
  Shunt(const Params& /*params*/, PolicyContext& context)
      : yard_(context.yard()), place_(place_first_fit().make({}, context)) {}

  void decide(Plan& plan) override {
    while (!waiting_.empty() && begin(waiting_.front(), plan)) continue;
  }

  [[nodiscard]] bool preempts() const override { return true; }

  [[nodiscard]] WaitReason explain(JobId job) const override {
    if (yard_.state(job).phase == Phase::reserved) return room_being_made(yard_, job);
    const std::size_t place = waiting_.rank(job) + 1;
    return {"priority", fmt::format("is number {} in the queue", place), place, {}};
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::queued) waiting_.erase(job);
    if (to == Phase::queued) waiting_.insert(job);
    if (from == Phase::running) running_.erase(job);
    if (to == Phase::running) running_.insert(job);
  }

 private:
  bool begin(JobId first, Plan& plan) {
    Placement room;
    if (place_->find(first, nullptr, room)) return plan.start(first, room) == Verdict::ok;
    std::vector<JobChange> group;
    running_.each([&](JobId job) {
      group = trade(job, first, plan);
      return group.empty();
    });
    return !group.empty() && plan.change(group) == Verdict::ok;
  }

  /// The job goes elsewhere, and the waiting one to its machine; empty if that cannot be now.
  std::vector<JobChange> trade(JobId job, JobId waiter, Plan& plan) {
    const Share& share = yard_.placement(job).front();
    const Shape& needs = yard_.shape(waiter);
    const KindId kind = yard_.cluster().machine(share.machine).kind;
    if (!yard_.free().is_up(share.machine)) return {};
    if (needs.kind != kAnyKind && needs.kind != kind) return {};
    const Resources room =
        yard_.free().on(share.machine) + yard_.shape(job).per_worker * share.workers;
    if (workers_that_fit(needs.per_worker, room, needs.workers) < needs.workers) return {};
    Avoid here(yard_.cluster().machines.size());
    here[index(share.machine)] = true;
    Placement elsewhere;
    if (!place_->find(job, &here, elsewhere)) return {};
    if (const Time from = yard_.pausable_from(job, waiter); from > yard_.now()) {
      plan.wake_at(from);
      return {};
    }
    return {{.job = job, .to = elsewhere, .in_favour_of = waiter},
            {.job = waiter, .to = {{share.machine, needs.workers}}}};
  }

  const Yard& yard_;
  std::unique_ptr<PlaceStage> place_;
  SortedList<JobId> waiting_, running_;  // by number, which is the order of submission
};

Member<Policy> joint_shunt() {
  return {{"shunt", "first come, first served; a job in the way of the first moves", "ours"},
          make_member<Policy, Shunt>};
}

// --- Its test ------------------------------------------------------------------------------------

/// Two machines of 4 GPUs; a job holds 2 on each, and one that needs 4 on one machine waits.
class PolicyExample : public testing::Test {
 protected:
  explicit PolicyExample(Duration min_run = {})
      : h(*parse_cluster_shorthand("2x4xV100"), {.min_run = min_run}) {
    h.yard.listen(*policy);
    left = h.running(gang(1, 2), 0), right = h.running(gang(1, 2), 1);
    waiter = h.submit(gang(1, 4));
    h.orders();
  }
  /// When it wants to decide again.
  Time decide() {
    Plan plan(h.yard);
    policy->decide(plan);
    EXPECT_EQ(plan.refused(), 0U);
    return plan.wake();
  }

  HandYard h;
  PolicyContext context{h.yard};
  std::unique_ptr<Policy> policy = joint_shunt().make({}, context);
  JobId left{}, right{}, waiter{};
};

TEST_F(PolicyExample, TheJobInTheWayMovesAndTheFirstTakesItsPlace) {
  EXPECT_EQ(decide(), Time::never());
  EXPECT_EQ(h.orders(), "pause 0");
  EXPECT_EQ(policy->explain(waiter).token, "room-being-made");
  h.tell(EventKind::drained, left);
  EXPECT_EQ(h.phase(left), Phase::starting);
  EXPECT_EQ(h.yard.placement(left), on(1, 1));
  EXPECT_EQ(h.phase(waiter), Phase::starting);
  EXPECT_EQ(h.yard.placement(waiter), on(0, 1));
}

TEST_F(PolicyExample, NothingMovesWhereThatWouldNotDo) {
  h.tell(EventKind::machine_down, MachineId{1});
  decide();
  EXPECT_EQ(h.phase(left), Phase::running);
  EXPECT_EQ(policy->explain(waiter).sentence, "is number 1 in the queue");
}

class PolicyExampleWithMinRun : public PolicyExample {
 protected:
  PolicyExampleWithMinRun() : PolicyExample(minutes(5)) {}
};

TEST_F(PolicyExampleWithMinRun, AJobThatMayNotMoveYetIsWaitedFor) {
  EXPECT_EQ(decide(), Time{} + minutes(5));
  EXPECT_EQ(h.orders(), "");
  h.at(minutes(5));
  decide();
  EXPECT_EQ(h.orders(), "pause 0");
}

}  // namespace
}  // namespace trainyard
