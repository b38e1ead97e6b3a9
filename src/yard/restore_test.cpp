// A yard that was saved and taken up by another: nothing is lost, and nothing is given twice.
#include <gtest/gtest.h>

#include "yard/testing.h"

namespace trainyard {
namespace {

std::vector<SavedJob> save_all(const Yard& yard) {
  std::vector<SavedJob> jobs;
  for (std::size_t j = 0; j < yard.jobs(); ++j)
    jobs.push_back(yard.save(JobId{static_cast<std::uint32_t>(j)}));
  return jobs;
}

/// As policies are told.
struct Heard : YardListener {
  std::string text;
  void on_phase(JobId job, Phase from, Phase to) override {
    text += fmt::format("{}: {}-{}; ", index(job), name(from), name(to));
  }
};

TEST(Restore, TheRoomThatIsBeingMadeStaysPromised) {
  HandYard first("1x8xV100");
  const JobId victim = first.running(gang(1, 8), 0);
  first.at(minutes(5));
  const JobId waiter = first.submit(gang(1, 4));
  ASSERT_EQ(first.make_room(waiter, on(0, 1), {victim}), Verdict::ok);

  Yard second(first.cluster, first.workload, first.yard.rules());
  Heard heard;
  second.listen(heard);
  ASSERT_EQ(second.restore(save_all(first.yard)), Verdict::ok);
  EXPECT_EQ(heard.text,
            "1: absent-queued; 1: queued-reserved; 0: absent-queued; 0: queued-starting; "
            "0: starting-running; 0: running-draining; ");
  EXPECT_TRUE(second.orders().empty());
  ASSERT_EQ(second.apply(Event::of(second.now(), EventKind::drained, victim)), Verdict::ok);
  EXPECT_EQ(second.state(waiter).phase, Phase::starting);
  ASSERT_EQ(second.orders().size(), 1U);
  EXPECT_EQ(second.orders()[0].job, waiter);
}

TEST(Restore, AJobThatGaveWayWaitsForItsTurn) {
  HandYard first("1x8xV100");
  const JobId victim = first.running(gang(1, 8), 0);
  const JobId waiter = first.submit(gang(1, 8));
  ASSERT_EQ(first.make_room(waiter, on(0, 1), {victim}), Verdict::ok);
  first.tell(EventKind::drained, victim);
  first.tell(EventKind::loaded, waiter);

  Yard second(first.cluster, first.workload, first.yard.rules());
  ASSERT_EQ(second.restore(save_all(first.yard)), Verdict::ok);
  EXPECT_EQ(second.pausable_from(waiter, victim), second.now() + first.yard.rules().turn);
}

TEST(TakeUp, AJobComesBackWithItsPastOrOnGpusOfItsOwn) {
  HandYard scene("2x8xV100");
  const JobId there = scene.running(gang(2, 2), 0);
  const SavedJob past = scene.yard.save(there);
  scene.workload.jobs.push_back(gang(2, 2));
  SavedJob queued;
  queued.state = past.state;
  queued.state.phase = Phase::queued;
  queued.state.done = minutes(5), queued.state.pauses = 3;
  scene.at(hours(1));
  ASSERT_EQ(scene.yard.take_up(JobId{1}, queued), Verdict::ok);
  EXPECT_EQ(scene.yard.state(JobId{1}).done, minutes(5));
  EXPECT_EQ(scene.yard.state(JobId{1}).pauses, 3U);
  EXPECT_EQ(scene.yard.state(JobId{1}).since, scene.yard.now());

  scene.workload.jobs.push_back(gang(2, 2));
  EXPECT_EQ(scene.yard.take_up(JobId{2}, past), Verdict::no_room) << "these are held";
  SavedJob outside = past;
  outside.room.gpus = {{4, 5, 6, 7}};
  scene.tell(EventKind::machine_closed, MachineId{0});
  ASSERT_EQ(scene.yard.take_up(JobId{2}, outside), Verdict::ok) << "it runs there, closed or not";
  EXPECT_EQ(scene.phase(JobId{2}), Phase::running);
  EXPECT_EQ(scene.yard.gpus(JobId{2}, 0), (std::vector<std::int32_t>{4, 5, 6, 7}));
  EXPECT_EQ(scene.free_gpus(0), 0);
  EXPECT_EQ(scene.orders(), "start 0") << "nobody ordered it";
  scene.tell(EventKind::finished, JobId{2});
  EXPECT_EQ(scene.free_gpus(0), 4);
}

TEST(TakeUp, RefusesWhatCannotBe) {
  HandYard scene("1x8xV100");
  const JobId first = scene.running(gang(1, 4), 0);
  SavedJob saved = scene.yard.save(first);
  EXPECT_EQ(scene.yard.take_up(JobId{1}, saved), Verdict::no_such_subject);
  scene.workload.jobs.push_back(gang(1, 4));
  EXPECT_EQ(scene.yard.take_up(first, saved), Verdict::wrong_phase) << "it is there";
  saved.room.gpus = {{4, 5, 6}};
  EXPECT_EQ(scene.yard.take_up(JobId{1}, saved), Verdict::no_room);
  saved.room.gpus = {{4, 5, 6, 8}};
  EXPECT_EQ(scene.yard.take_up(JobId{1}, saved), Verdict::no_room);
  saved.room.placement[0].machine = MachineId{7};
  EXPECT_EQ(scene.yard.take_up(JobId{1}, saved), Verdict::no_such_subject);
  saved.state.phase = Phase::reserved;
  EXPECT_EQ(scene.yard.take_up(JobId{1}, saved), Verdict::wrong_phase);
  EXPECT_EQ(scene.yard.jobs(), 1U);
  EXPECT_EQ(scene.free_gpus(0), 4);
}

TEST(Restore, RefusesWhatDoesNotFitTogether) {
  HandYard first("1x8xV100");
  first.running(gang(1, 4), 0);
  first.running(gang(1, 4), 0);
  const std::vector<SavedJob> good = save_all(first.yard);
  const auto verdict_of = [&](auto spoil) {
    std::vector<SavedJob> jobs = good;
    spoil(jobs);
    Yard second(first.cluster, first.workload, first.yard.rules());
    const Verdict verdict = second.restore(jobs);
    EXPECT_EQ(second.jobs(), verdict == Verdict::ok ? jobs.size() : 0);
    return verdict;
  };
  EXPECT_EQ(verdict_of([](auto&) {}), Verdict::ok);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].room.gpus = jobs[0].room.gpus; }),
            Verdict::no_room);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].room.gpus = {{8, 9, 10, 11}}; }), Verdict::no_room);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].room.gpus = {{-1, 5, 6, 7}}; }), Verdict::no_room);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].room.gpus = {}; }), Verdict::wrong_gang);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].room.placement[0].workers = 2; }),
            Verdict::wrong_gang);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].room.placement[0].machine = MachineId{9}; }),
            Verdict::no_such_subject);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].state.phase = Phase::absent; }),
            Verdict::wrong_phase);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].progress.rate = Rate::taking(-1); }),
            Verdict::wrong_value);
  EXPECT_EQ(verdict_of([](auto& jobs) { jobs[1].progress.saved = hours(9); }),
            Verdict::wrong_value);
  EXPECT_EQ(verdict_of([](auto& jobs) {
              jobs[1].state.phase = Phase::draining;
              jobs[1].room_for = JobId{0};
            }),
            Verdict::no_such_subject);
}

TEST(Restore, TheRateAndTheEstimateAreThoseOfTheMoment) {
  HandYard first("1x8xV100");
  Job saving = gang(1, 8, hours(2));
  saving.checkpoint_interval = minutes(30);
  const JobId job = first.running(saving, 0);
  first.at(minutes(40));
  HandYard::must(first.yard.apply(Event::rate_of(first.yard.now(), job, Rate::taking(2))));
  HandYard::must(first.yard.apply(Event::estimate_of(first.yard.now(), job, {.work = hours(3)})));
  first.at(minutes(50));
  Yard second(first.cluster, first.workload, first.yard.rules());
  ASSERT_EQ(second.restore(save_all(first.yard)), Verdict::ok);
  ASSERT_EQ(second.apply({first.yard.now(), EventKind::clock}), Verdict::ok);
  for (const Yard* yard : std::initializer_list<const Yard*>{&first.yard, &second}) {
    EXPECT_EQ(yard->work_done(job), minutes(45));
    EXPECT_EQ(yard->attained(job), minutes(50));
    EXPECT_EQ(yard->expected_end(job), Time{} + minutes(40 + 2 * 140));
  }
  ASSERT_EQ(second.apply(Event::of(second.now(), EventKind::lost, job)), Verdict::ok);
  EXPECT_EQ(second.state(job).done, minutes(30)) << "the last checkpoint";
}

TEST(Closing, WhoIsThereStaysAndNobodyComes) {
  HandYard scene("1x8xV100");
  const JobId there = scene.running(gang(1, 4), 0);
  scene.tell(EventKind::machine_closed, MachineId{0});
  const JobId late = scene.submit(gang(1, 4));
  EXPECT_EQ(scene.start(late, on(0, 1)), Verdict::machine_is_down);
  EXPECT_EQ(scene.phase(there), Phase::running);
  EXPECT_EQ(scene.hear(EventKind::machine_closed, MachineId{0}), Verdict::machine_is_down);
  scene.tell(EventKind::finished, there);
  scene.tell(EventKind::machine_up, MachineId{0});
  EXPECT_EQ(scene.start(late, on(0, 1)), Verdict::ok);
}

TEST(Closing, AClosedMachineCanStillFail) {
  HandYard scene("1x8xV100");
  const JobId there = scene.running(gang(1, 4), 0);
  scene.tell(EventKind::machine_closed, MachineId{0});
  scene.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(scene.phase(there), Phase::queued);
  EXPECT_EQ(scene.hear(EventKind::machine_down, MachineId{0}), Verdict::machine_is_down);
}

}  // namespace
}  // namespace trainyard
