// Flow classes while there are agents to carry them out, and only then.
#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

class FlowsOfMachines : public YardmasterTest {
 protected:
  FlowsOfMachines() {
    given = {"order=fifo flow=fifo", {"yard.min_run=0"}};
    begin("2x4xV100");
  }
  JobNumber run_gang() {
    JobSpec gang = spec(1);
    gang.workers = 2;
    gang.exclusive = false;
    gang.per_worker.gpus = 3;  // two of them on a machine have no room
    const JobNumber job = submit(gang);
    run(job);
    return job;
  }
  static Identity agent(const std::string& machine) {
    Identity made{"flow", 999, 999, Role::agent};
    made.machine = machine;
    return made;
  }
  /// "1:0 2:1": jobs and their classes; what kept it from telling otherwise.
  std::string flows(const std::string& machine, bool vouched, const Identity& who) {
    const auto told = master->flows(who, machine, vouched);
    if (!told) return told.error().message;
    std::string text;
    for (const MachineFlows::Job& job : told->jobs)
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", job.flow.run.job,
                          static_cast<int>(job.flow.flow));
    return text;
  }
};

TEST_F(FlowsOfMachines, ThereAreClassesFromTheFirstAgentOnUntilTheLastHasBeenAwayForLong) {
  const JobNumber gang = run_gang();
  const JobNumber small = submit(spec(1));
  run(small);
  EXPECT_EQ(flows("r0m0", false, agent("r0m0")), "") << "who only looks is no agent";
  EXPECT_FALSE(master->flows(kOperator, "r0m0", false)->terms.carried_out);
  EXPECT_EQ(flows("r0m0", true, agent("r0m0")), fmt::format("{}:0", gang))
      << "the job on one machine does not send";
  const auto told = master->flows(kOperator, "r0m1", false);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->terms, (FlowTerms{true, 4, 0.2, "fifo"})) << "as flow stages are live";
  EXPECT_EQ(told->valid_for, seconds(30));
  EXPECT_TRUE(master->cluster(kOperator)->machines[0].has_flow_agent);
  EXPECT_EQ(master->cluster(kOperator)->machines[0].flows.size(), 1U);
  EXPECT_FALSE(master->cluster(kOperator)->machines[1].has_flow_agent);
  EXPECT_TRUE(master->cluster(kOperator)->machines[1].flows.empty()) << "nothing orders it there";
  EXPECT_EQ(master->why(kAda, gang)->flow.substr(0, 37), "number 1 of the 1 jobs that send: it ");
  EXPECT_EQ(master->why(kAda, small)->flow, "");
  system.pass(FlowAgents::kThereFor - seconds(1));
  nudge();
  EXPECT_EQ(flows("r0m0", false, agent("r0m0")), fmt::format("{}:0", gang));
  system.pass(seconds(1));
  nudge();
  EXPECT_TRUE(eventually([&] { return flows("r0m0", false, agent("r0m0")).empty(); }));
  EXPECT_EQ(master->why(kAda, gang)->flow, "");
}

TEST_F(FlowsOfMachines, NameAUserWhoHasNoOtherJobThere) {
  run_gang();
  const auto user = [&](const char* machine) -> std::optional<uid_t> {
    const auto told = master->flows(kOperator, machine, true);
    return told && told->jobs.size() == 1 ? told->jobs[0].flow.sole_user : std::nullopt;
  };
  EXPECT_EQ(user("r0m0"), kAda.uid);
  const JobNumber second = submit(spec(1));
  run(second);
  const JobNumber others = submit(spec(1), kBob);
  run(others);
  EXPECT_EQ(user("r0m0"), std::nullopt) << "ada has two jobs there";
  EXPECT_EQ(user("r0m1"), kAda.uid) << "the other one there is bob's";
}

TEST_F(FlowsOfMachines, AreForTheMachinesAgentAndOperators) {
  run_gang();
  for (const Identity& who : {kAda, agent("r0m1"), person("v", 5, Role::viewer)})
    EXPECT_EQ(flows("r0m0", true, who),
              "only the agent of machine r0m0, by its token, and operators may see this");
  EXPECT_EQ(flows("r9m9", true, kOperator), "there is no machine r9m9");
  EXPECT_FALSE(master->cluster(kOperator)->machines[0].has_flow_agent) << "and are none";
}

TEST_F(FlowsOfMachines, AClassOutlivesTheDaemonAndFollowsThePolicy) {
  JobSpec gang = spec(2);
  gang.workers = 3;  // on both machines, and there is room for one more on each
  const JobNumber job = submit(gang);
  run(job);
  ASSERT_EQ(flows("r0m0", true, kOperator), fmt::format("{}:0", job));
  ASSERT_TRUE(master->set_policy(kOperator,
                                 {"order=fifo flow=fifo", {"flow.classes=2", "flow.floor=0.4"}}));
  EXPECT_EQ(master->flows(kOperator, "r0m0", false)->terms, (FlowTerms{true, 2, 0.4, "fifo"}));
  ASSERT_TRUE(master->set_policy(kOperator, {"order=fifo flow=fair", {}}));
  EXPECT_EQ(flows("r0m0", false, kOperator), "") << "its flow stage orders nothing";
}

}  // namespace
}  // namespace trainyard
