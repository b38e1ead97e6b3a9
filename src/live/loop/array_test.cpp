// Arrays, from their submission to the end of their last task.
#include <gmock/gmock.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include "live/journal/verify.h"
#include "live/loop/yardmaster_fixture.h"

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JobSpec array_of(const std::string& tasks) {
  JobSpec made = spec();
  made.array = tasks;
  made.name = "sweep";
  made.script = "#!/bin/sh\n";
  made.environment = {{"LR", "0.1"}};
  return made;
}

class ArrayTest : public YardmasterTest {
 protected:
  /// The numbers of all jobs in this state.
  std::vector<JobNumber> in(const std::string& wanted) {
    JobFilter filter;
    filter.limit = 1000;
    filter.states = {*parse_state(wanted)};
    std::vector<JobNumber> numbers;
    const JobPage page = *master->jobs(kOperator, filter);
    for (const JobRecord& job : page.jobs) numbers.insert(numbers.begin(), job.number);
    return numbers;
  }
  void finish(JobNumber job, int status = 0, std::uint32_t number = 1) {
    engine->report(Kind::exited, {job, number}, status);
    ASSERT_TRUE(becomes(job, status == 0 ? "done" : "failed"));
  }
};

TEST_F(ArrayTest, OneSubmissionMakesJobsWithNumbersOfTheirOwn) {
  const auto submitted = master->submit(kAda, array_of("1,4-6:2"));
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_EQ(submitted->number, 1);
  EXPECT_EQ(submitted->tasks, 3U);
  for (const JobNumber job : {2, 3, 4}) run(job);
  EXPECT_EQ(engine->launch({3, 1}).task, (ArrayTask{1, 4, 3, 1, 6, 1, 0}));
  EXPECT_EQ(name_of(record(3)), "1_4");
  EXPECT_EQ(record(4).spec.script, "#!/bin/sh\n") << "kept once, and all have it";
  EXPECT_EQ(journal->payload(1)->environment.at("LR"), "0.1");
  EXPECT_TRUE(journal->payload(3)->environment.empty());
  EXPECT_THAT(*master->find(kAda, {1, {}}), ElementsAre(2, 3, 4));
  EXPECT_THAT(*master->find(kAda, {1, {4, 6}}), ElementsAre(3, 4));
  EXPECT_THAT(*master->find(kAda, {3, {}}), ElementsAre(3));
  EXPECT_EQ(master->find(kAda, {1, {5}}).error().message, "there is no job 1_5");
  EXPECT_FALSE(master->find(kAda, {9, {}}));
  EXPECT_EQ(*master->find(kBob, {1, {4}}), *master->find(kAda, {1, {4}})) << "in the queue";
  EXPECT_EQ(submit(spec()), 5);
}

TEST_F(ArrayTest, NoMoreRunAtOnceThanItSaysWhateverHappens) {
  ASSERT_TRUE(master->submit(kAda, array_of("0-5%2")));
  run(2), run(3);
  EXPECT_THAT(in("held"), ElementsAre(4, 5, 6, 7));
  const auto why = master->why(kAda, 4);
  EXPECT_EQ(why->reason.token, "array-limit");
  EXPECT_EQ(why->reason.sentence, "at most 2 tasks of array 1 run at once");
  finish(2);
  run(4);
  // One is paused by a trial job and keeps its slot.
  const JobNumber trial = submit(spec(3, JobClass::trial), kBob);
  ASSERT_TRUE(eventually([&] { return in("draining").size() == 1; }));
  const JobNumber paused = in("draining").front();
  engine->report(Kind::exited, {paused, 1}, 143);
  run(trial);
  EXPECT_EQ(state(paused), "queued");
  EXPECT_THAT(in("held"), ElementsAre(5, 6, 7));

  begin();  // the daemon ends, and another begins
  const JobNumber other = paused == 3 ? 4 : 3;
  for (const JobNumber job : {other, trial}) {
    ASSERT_TRUE(told(fmt::format("adopt {}.1", job)));
    engine->report(Kind::started, {job, 1});
  }
  EXPECT_THAT(in("held"), ElementsAre(5, 6, 7));
  finish(trial);
  run(paused, 2);
  finish(other, 3);
  run(5);
  EXPECT_THAT(in("held"), ElementsAre(6, 7));
  EXPECT_THAT(in("running"), ElementsAre(paused, 5));
}

TEST_F(ArrayTest, AWholeArrayAndSomeOfItsTasksCanBeCancelled) {
  ASSERT_TRUE(master->submit(kAda, array_of("0-9%2")));
  run(2), run(3);
  EXPECT_EQ(master->cancel(kBob, *master->find(kAda, {1, {}})).error().kind,
            Refusal::Kind::forbidden);
  ASSERT_TRUE(master->cancel(kAda, *master->find(kAda, {1, {0, 4, 5}})));
  EXPECT_EQ(state(6), "cancelled");
  ASSERT_TRUE(told("stop 2.1"));
  engine->report(Kind::exited, {2, 1}, 0);
  run(4);
  ASSERT_TRUE(master->cancel(kAda, *master->find(kAda, {1, {}})));
  for (const JobNumber job : {3, 4}) {
    ASSERT_TRUE(told(fmt::format("stop {}.1", job)));
    engine->report(Kind::exited, {job, 1}, 143);
  }
  for (JobNumber job = 2; job <= 11; ++job) EXPECT_TRUE(becomes(job, "cancelled")) << job;
  EXPECT_FALSE(engine->was_told("start 5.1")) << "none takes the slot of one that is cancelled too";
}

TEST_F(ArrayTest, AJobAfterAnArrayWaitsForAllOfIt) {
  ASSERT_TRUE(master->submit(kAda, array_of("0-2")));
  JobSpec later = spec();
  later.after = {1};
  const JobNumber after = submit(later);
  for (const JobNumber job : {2, 3, 4}) run(job);
  EXPECT_EQ(master->why(kAda, after)->reason.sentence, "starts after array 1 is done");
  finish(2), finish(3);
  EXPECT_EQ(state(after), "held");
  begin();
  ASSERT_TRUE(told("adopt 4.1"));
  EXPECT_EQ(state(after), "held");
  engine->report(Kind::started, {4, 1});
  finish(4);
  run(after);
  EXPECT_EQ(submit(later), 6) << "all of it is done";
  EXPECT_FALSE(master->submit(kBob, later)) << "another's array";
}

TEST_F(ArrayTest, AnArrayOfWhichOneTaskFailsIsNotDone) {
  ASSERT_TRUE(master->submit(kAda, array_of("0-1")));
  JobSpec later = spec();
  later.after = {1};
  const JobNumber after = submit(later);
  run(2), run(3);
  finish(2, 1);
  EXPECT_TRUE(becomes(after, "cancelled"));
  begin();
  EXPECT_THAT(master->submit(kAda, later).error().message, HasSubstr("would never start"));
  engine->report(Kind::started, {3, 1});
  finish(3);
  EXPECT_THAT(master->submit(kAda, later).error().message, HasSubstr("would never start"));
}

TEST_F(ArrayTest, AnArrayMayItselfWait) {
  const JobNumber first = submit(spec());
  run(first);
  JobSpec later = array_of("0-3%1");
  later.after = {first};
  ASSERT_TRUE(master->submit(kAda, later));
  EXPECT_EQ(master->why(kAda, 3)->reason.token, "dependency");
  finish(first);
  run(3);
  EXPECT_EQ(master->why(kAda, 4)->reason.token, "array-limit");
}

TEST_F(ArrayTest, WaitingTasksOfAnArrayCountAsOneInAFoldedList) {
  ASSERT_TRUE(master->submit(kAda, array_of("0-9%2")));
  run(2), run(3);
  submit(spec(4));
  JobFilter filter;
  filter.fold = true;
  auto page = *master->jobs(kAda, filter);
  ASSERT_EQ(page.jobs.size(), 4U);
  EXPECT_EQ(page.jobs[0].number, 12);
  EXPECT_EQ(page.jobs[1].number, 11);
  EXPECT_THAT(page.folded.at(11), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_FALSE(page.folded.contains(3));
  EXPECT_FALSE(page.more);
  filter.limit = 2;
  page = *master->jobs(kAda, filter);
  EXPECT_EQ(page.jobs.size(), 2U);
  EXPECT_EQ(page.folded.at(11).size(), 8U);
  EXPECT_TRUE(page.more);
  filter = {};
  filter.array = 1;
  filter.limit = 1000;
  EXPECT_EQ(master->jobs(kAda, filter)->jobs.size(), 10U);
}

/// The journal of a daemon that was killed when it had written an array and the row of its first
/// task alone, as array 1 of kAda's.
class FoldedArrayTest : public ArrayTest {
 protected:
  FoldedArrayTest() {
    master.reset();
    first_.owner = kAda;
    first_.owner.via = "token laptop";
    first_.spec = array_of("1,4-6:2");
    first_.number = 2;
    first_.task = tasks_of(1, *parse_job_array(first_.spec.array))[0];
    JournalChange change;
    change.submitted = {&first_};
    change.events = {{1, {}, "submitted", 2, "ada", "{}"}};
    EXPECT_TRUE(journal->commit(change));
  }
  /// As a foreign program does it.
  void damage(const char* sql) {
    SQLite::Database(directory.path() + "/journal.db", SQLite::OPEN_READWRITE).exec(sql);
  }

  JobRecord first_;
};

TEST_F(FoldedArrayTest, AllItsTasksRunAfterTheNextStart) {
  begin();
  for (const JobNumber job : {2, 3, 4}) run(job);
  EXPECT_EQ(name_of(record(4)), "1_6");
  EXPECT_EQ(record(4).spec.script, "#!/bin/sh\n");
  EXPECT_EQ(record(4).owner.uid, kAda.uid);
  EXPECT_THAT(*master->find(kAda, {1, {}}), ElementsAre(2, 3, 4));
  EXPECT_EQ(submit(spec()), 5);
  EXPECT_TRUE(journal->folded()->empty());
  std::vector<JobNumber> told;
  const auto events = journal->events(1, 100);
  ASSERT_TRUE(events);
  for (const LiveEvent& event : *events) {
    if (event.kind != "submitted") continue;
    told.push_back(event.job);
    const char* via = event.job < 5 ? "token laptop" : "socket";
    EXPECT_THAT(event.details, HasSubstr(via));
  }
  EXPECT_THAT(told, ElementsAre(3, 4, 5)) << "each once";
}

TEST_F(FoldedArrayTest, ItsScriptStaysAlthoughAllThatHasARowHasEnded) {
  first_.life.state.phase = Phase::cancelled;
  JournalChange change;
  change.changed = {&first_};
  ASSERT_TRUE(journal->commit(change));
  EXPECT_EQ(journal->payload(1)->script, "#!/bin/sh\n");
  begin();
  EXPECT_EQ(state(2), "cancelled");
  for (const JobNumber job : {3, 4}) run(job);
  for (const JobNumber job : {3, 4}) finish(job);
  EXPECT_EQ(journal->payload(1)->script, "") << "it goes with the last task";
}

TEST_F(FoldedArrayTest, ADamagedSpecificationCostsAllItsTasksAndNoOther) {
  damage("UPDATE spec SET spec = replace(spec, 'sweep', 'sweeq')");
  begin();
  for (const JobNumber job : {2, 3, 4}) {
    EXPECT_EQ(state(job), "failed");
    EXPECT_THAT(record(job).reason, HasSubstr("table spec, row 1"));
  }
  EXPECT_EQ(submit(spec()), 5);
}

/// A bit of '4' makes two tasks of "1,4-6:2" twice as many; job 5 is another's.
TEST_F(FoldedArrayTest, ADamagedSpecificationTakesNoNumbersOfOthers) {
  JobRecord other = first_;
  other.number = 5;
  other.task = {};
  other.spec = spec();
  JournalChange change;
  change.submitted = {&other};
  change.events = {{2, {}, "submitted", 5, "ada", "{}"}};
  ASSERT_TRUE(journal->commit(change));
  damage("UPDATE spec SET spec = replace(spec, '1,4-6:2', '1,0-6:2') WHERE number = 1");
  begin();
  for (const JobNumber job : {2, 3, 4}) EXPECT_EQ(state(job), "failed");
  run(5);
}

TEST_F(FoldedArrayTest, IsWholeToVerifyWhileItIsMarked) {
  const std::string path = directory.path() + "/journal.db";
  EXPECT_TRUE(verify_journal(path)->is_right());
  damage("DELETE FROM setting WHERE key = 'array/1'");
  EXPECT_THAT(verify_journal(path)->problems,
              ElementsAre("job 1: 2 of its 3 tasks have no row, and nothing says that they "
                          "follow"));
}

TEST_F(FoldedArrayTest, ADamagedMarkCostsNothing) {
  damage("UPDATE setting SET value = 'token lapdog' WHERE key = 'array/1'");
  begin();
  for (const JobNumber job : {2, 3, 4}) run(job);
}

TEST_F(ArrayTest, CancellingAnArrayReachesTasksThatHaveNoRowYet) {
  const std::size_t many = 2000;
  const auto submitted = master->submit(kAda, array_of("1-2000"));
  ASSERT_TRUE(submitted) << submitted.error().message;
  const auto numbers = master->find(kAda, {1, {}});
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->size(), many);
  EXPECT_TRUE(master->cancel(kAda, {numbers->begin() + 1, numbers->end()}));
  EXPECT_TRUE(becomes(2001, "cancelled"));
  EXPECT_TRUE(eventually([&] { return in("cancelled").size() >= 999; }));
  EXPECT_TRUE(eventually([&] { return journal->folded()->empty(); }));
}

}  // namespace
}  // namespace trainyard
