// What the engine still has of jobs that the journal has lost, or knows an earlier state of.
#include <gmock/gmock.h>

#include <filesystem>

#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

class EngineWithTraces : public HandEngine {
 public:
  EngineWithTraces(const std::string& cluster, std::map<JobNumber, Trace> traces)
      : HandEngine(cluster), traces_(std::move(traces)) {}
  [[nodiscard]] std::map<JobNumber, Trace> traces() const override { return traces_; }

 private:
  std::map<JobNumber, Trace> traces_;
};

class LostJournal : public YardmasterTest {
 protected:
  void begin_with(std::map<JobNumber, Engine::Trace> traces) {
    master.reset();
    engine = std::make_unique<EngineWithTraces>("1x4xV100", std::move(traces));
    begin_on(*engine);
  }
  void lose_journal() {
    master.reset();
    journal.reset();
    for (const char* end : {"", "-wal", "-shm", ".head"})
      std::filesystem::remove(directory.path() + "/journal.db" + end);
  }
};

/// Also where nothing but a directory is left of a job: its checkpoints are no other's.
TEST_F(LostJournal, NumbersOfWhichTheEngineHasTracesAreNotGivenAgain) {
  for (int i = 0; i < 3; ++i) submit(spec());
  lose_journal();
  begin_with({{2, {1, {}}}, {7, {}}});
  EXPECT_EQ(submit(spec()), 8);
}

/// The journal is an older copy: it has the job in its queue, which runs already.
TEST_F(LostJournal, ARunThatTheJournalHasForgottenEndsBeforeTheNextBegins) {
  ASSERT_TRUE(master->close_machine(kOperator, "r0m0"));
  const JobNumber job = submit(spec(4));
  ASSERT_TRUE(becomes(job, "queued"));
  begin_with({{job, {3, {{MachineId{0}, {0, 1, 2, 3}}}}}});
  ASSERT_TRUE(master->open_machine(kOperator, "r0m0"));
  submit(spec(4));
  ASSERT_TRUE(told(fmt::format("stop {}.3", job)));
  nudge();
  for (const std::string& line : engine->log()) EXPECT_FALSE(line.starts_with("start")) << line;
  EXPECT_EQ(master->cluster(kOperator)->machines[0].state, "closed") << "its GPUs are not free";
  engine->report(Kind::exited, {job, 3}, 143);
  EXPECT_TRUE(told(fmt::format("start {}.4", job)));
}

/// The journal is an older copy in which an earlier run of the job loads. What it says of that run
/// is not of the next: that one has not begun before the engine says so.
TEST_F(LostJournal, ARunThatIsStartedAfterTheForgottenOneHasNotBegunYet) {
  const JobNumber job = submit(spec(4));
  run(job);
  begin_with({{job, {3, {{MachineId{0}, {0, 1, 2, 3}}}}}});
  ASSERT_TRUE(told(fmt::format("stop {}.3", job)));
  engine->report(Kind::exited, {job, 3}, 143);
  ASSERT_TRUE(told(fmt::format("start {}.4", job)));
  EXPECT_EQ(state(job), "starting");
  system.pass(hours(2));
  nudge();
  EXPECT_EQ(state(job), "starting");
  engine->report(Kind::started, {job, 4});
  EXPECT_TRUE(becomes(job, "running"));
  EXPECT_TRUE(record(job).has_started);
}

}  // namespace
}  // namespace trainyard
