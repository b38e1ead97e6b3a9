// The life of jobs: every transition, every refusal, the books. Rooms that are made by pausing
// others are in yard_room_test.cpp.
#include "yard/yard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "yard/testing.h"

namespace trainyard {
namespace {

using testing::ElementsAre;

TEST(YardLife, FromSubmissionToTheEnd) {
  HandYard h("1x8xV100");
  const JobId job = h.submit(costly(gang(4), {}, {}, minutes(2)));
  EXPECT_EQ(h.phase(job), Phase::queued);
  h.at(minutes(5));
  ASSERT_EQ(h.start(job, on(0, 4)), Verdict::ok);
  EXPECT_EQ(h.phase(job), Phase::starting);
  EXPECT_EQ(h.orders(), "start 0");
  EXPECT_EQ(h.yard.held_gpus(), 4);
  h.at(minutes(7));
  h.tell(EventKind::loaded, job);
  EXPECT_EQ(h.phase(job), Phase::running);
  h.at(minutes(67));
  h.tell(EventKind::finished, job);

  const JobState& state = h.yard.state(job);
  EXPECT_EQ(state.phase, Phase::done);
  EXPECT_EQ(state.first_start, Time{} + minutes(5));
  EXPECT_EQ(state.end(), Time{} + minutes(67));
  EXPECT_EQ(state.waited, minutes(5));
  EXPECT_EQ(state.lost, minutes(2));
  EXPECT_EQ(state.done, hours(1));
  EXPECT_EQ(h.yard.held_gpus(), 0);
  EXPECT_EQ(h.free_gpus(0), 8);
  EXPECT_EQ(h.yard.unfinished(), 0U);
  EXPECT_EQ(h.orders(), "") << "nothing is left to do for one that finished";
}

// --- Load that the engine cannot see
// ---------------------------------------------------------------

class YardLoad : public testing::Test {
 protected:
  YardLoad() {
    h.at(minutes(5));
    HandYard::must(h.start(job, on(0, 4)));
    h.at(minutes(7));
  }
  Verdict loaded_with(Duration work) {
    return h.yard.apply(Event::loaded_with(h.yard.now(), job, work));
  }
  [[nodiscard]] const JobState& state() const { return h.yard.state(job); }

  HandYard h{*parse_cluster_shorthand("1x8xV100"), {.min_run = minutes(1), .max_pauses = 64}};
  JobId job = h.submit(gang(4));
};

TEST_F(YardLoad, WhatWasDoneBeforeItWasHeardOfCounts) {
  ASSERT_EQ(loaded_with(seconds(90)), Verdict::ok);
  EXPECT_EQ(state().done, seconds(90));
  EXPECT_EQ(state().lost, seconds(30));
  h.at(minutes(8));
  EXPECT_EQ(h.yard.work_done(job), seconds(150));
  h.tell(EventKind::lost, job);
  EXPECT_EQ(state().done, Duration{}) << "it had saved nothing";
  EXPECT_EQ(state().lost, minutes(3));
}

TEST_F(YardLoad, OneThatHadNotLoadedHasDoneNothingAndIsProtectedFromNowOn) {
  h.tell(EventKind::loaded, job);
  h.at(minutes(10));
  EXPECT_EQ(h.yard.pausable_from(job, kNoJob), Time{} + minutes(8));
  ASSERT_EQ(loaded_with({}), Verdict::ok);
  EXPECT_EQ(h.phase(job), Phase::running);
  EXPECT_EQ(state().done, Duration{});
  EXPECT_EQ(state().lost, minutes(5));
  EXPECT_EQ(h.yard.pausable_from(job, kNoJob), Time{} + minutes(11));
  EXPECT_EQ(h.yard.attained(job), Duration{});
  h.at(minutes(12));
  h.tell(EventKind::finished, job);
  EXPECT_EQ(state().lost, minutes(5));
}

TEST_F(YardLoad, WhatCannotBeIsRefused) {
  EXPECT_EQ(loaded_with(minutes(3)), Verdict::wrong_value) << "it was there for two minutes";
  h.tell(EventKind::loaded, job);
  h.at(minutes(8));
  EXPECT_EQ(loaded_with(minutes(2)), Verdict::wrong_value) << "it has done one minute";
  EXPECT_EQ(h.hear(EventKind::loaded, job), Verdict::wrong_phase);
  EXPECT_EQ(h.yard.work_done(job), minutes(1));
}

TEST(YardLife, CheckpointsOfItsOwnAreLostTime) {
  HandYard h("1x8xV100");
  Job job = gang(1, 1, minutes(25));
  job.checkpoint_interval = minutes(10), job.checkpoint_cost = minutes(1);
  const JobId id = h.running(job, 0);
  h.at(minutes(27));
  h.tell(EventKind::finished, id);
  EXPECT_EQ(h.yard.state(id).lost, minutes(2));
  EXPECT_EQ(h.yard.state(id).done, minutes(25));
}

TEST(YardLife, ACrashEndsAJobThatHoldsGpusOnly) {
  HandYard h("1x8xV100");
  const JobId queued = h.submit(gang(1)), running = h.running(gang(1), 0);
  EXPECT_EQ(h.hear(EventKind::crashed, queued), Verdict::wrong_phase);
  h.orders();
  h.at(minutes(20));
  h.tell(EventKind::crashed, running);
  EXPECT_EQ(h.phase(running), Phase::failed);
  EXPECT_EQ(h.yard.state(running).done, minutes(20));
  EXPECT_EQ(h.yard.state(running).lost, Duration{});
  EXPECT_EQ(h.free_gpus(0), 8);
  EXPECT_EQ(h.orders(), "stop 1");
  EXPECT_EQ(h.hear(EventKind::crashed, running), Verdict::wrong_phase);
}

TEST(YardLife, OneThatReturnsByItselfKeepsItsWork) {
  HandYard scene("1x8xV100");
  const JobId job = scene.running(gang(1, 4), 0);
  scene.at(minutes(10));
  scene.tell(EventKind::returned, job);
  EXPECT_EQ(scene.phase(job), Phase::queued);
  EXPECT_EQ(scene.yard.state(job).done, minutes(10));
  EXPECT_EQ(scene.free_gpus(0), 8);
  EXPECT_EQ(scene.hear(EventKind::returned, job), Verdict::wrong_phase);
}

TEST(YardLife, OneThatIsLostGoesBackToItsCheckpoint) {
  HandYard scene("1x8xV100");
  Job saves = gang(1, 4);
  saves.checkpoint_interval = minutes(4);
  const JobId job = scene.running(saves, 0);
  scene.at(minutes(10));
  scene.tell(EventKind::lost, job);
  EXPECT_EQ(scene.phase(job), Phase::queued);
  EXPECT_EQ(scene.yard.state(job).done, minutes(8));
  EXPECT_EQ(scene.yard.state(job).lost, minutes(2));
  EXPECT_EQ(scene.orders(), "start 0") << "there is nothing to stop";
  EXPECT_EQ(scene.hear(EventKind::lost, job), Verdict::wrong_phase);
}

TEST(YardLife, OneThatIsLostWhileItLeavesIsKnownToKeepNothing) {
  HandYard scene("1x8xV100");
  const JobId job = scene.running(gang(1, 8), 0);
  const auto leave = [&](EventKind how) {
    const JobId waiter = scene.submit(gang(1, 8));
    HandYard::must(scene.make_room(waiter, on(0, 1), {job}));
    scene.tell(how, job);
    scene.tell(EventKind::loaded, waiter);
    scene.tell(EventKind::finished, waiter);
    HandYard::must(scene.start(job, on(0, 1)));
    scene.tell(EventKind::loaded, job);
  };
  scene.at(minutes(3));
  EXPECT_EQ(scene.yard.work_at_stake(job), Duration{}) << "it is trusted";
  leave(EventKind::lost);
  scene.at(minutes(5));
  EXPECT_EQ(scene.yard.work_at_stake(job), minutes(2));
  leave(EventKind::drained);
  scene.at(minutes(9));
  EXPECT_EQ(scene.yard.work_at_stake(job), Duration{});
}

TEST(YardLife, WhoLeavesByItselfWhileMakingRoomHasMadeIt) {
  HandYard scene("1x8xV100");
  const JobId victim = scene.running(gang(1, 8), 0);
  const JobId waiter = scene.submit(gang(1, 4));
  ASSERT_EQ(scene.make_room(waiter, on(0, 1), {victim}), Verdict::ok);
  scene.tell(EventKind::returned, victim);
  EXPECT_EQ(scene.phase(waiter), Phase::starting);
}

TEST(YardLife, ACrashWhileLoadingLosesTheLoad) {
  HandYard h("1x8xV100");
  const JobId job = h.submit(costly(gang(1), {}, {}, minutes(9)));
  HandYard::must(h.start(job, on(0, 1)));
  h.at(minutes(3));
  h.tell(EventKind::crashed, job);
  EXPECT_EQ(h.yard.state(job).lost, minutes(3));
  EXPECT_EQ(h.yard.state(job).done, Duration{});
}

TEST(YardLife, CancelledFromAnyPhaseBeforeTheEnd) {
  HandYard h("1x8xV100");
  const JobId queued = h.submit(gang(1)), starting = h.submit(gang(1));
  HandYard::must(h.start(starting, on(0, 1)));
  const JobId running = h.running(gang(1), 0);
  h.orders();
  for (const JobId job : {queued, starting, running}) {
    h.tell(EventKind::cancelled, job);
    EXPECT_EQ(h.phase(job), Phase::cancelled);
    EXPECT_EQ(h.yard.state(job).end(), h.yard.now());
    EXPECT_EQ(h.hear(EventKind::cancelled, job), Verdict::wrong_phase);
  }
  EXPECT_EQ(h.orders(), "stop 1, stop 2") << "nobody need stop one that waits";
  EXPECT_EQ(h.free_gpus(0), 8);
  EXPECT_EQ(h.yard.unfinished(), 0U);
}

TEST(YardLife, EventsInTheWrongPhaseAreRefused) {
  HandYard h("1x8xV100");
  const JobId queued = h.submit(gang(1)), running = h.running(gang(1), 0);
  for (const EventKind kind : {EventKind::loaded, EventKind::finished, EventKind::drained})
    EXPECT_EQ(h.hear(kind, queued), Verdict::wrong_phase);
  for (const EventKind kind : {EventKind::loaded, EventKind::drained, EventKind::submitted})
    EXPECT_EQ(h.hear(kind, running), Verdict::wrong_phase);
  h.tell(EventKind::finished, running);
  for (const EventKind kind : {EventKind::loaded, EventKind::finished, EventKind::drained,
                               EventKind::crashed, EventKind::cancelled})
    EXPECT_EQ(h.hear(kind, running), Verdict::wrong_phase);
  EXPECT_EQ(h.phase(queued), Phase::queued);
}

TEST(YardLife, EventsOfNobodyAreRefused) {
  HandYard h("1x8xV100");
  EXPECT_EQ(h.hear(EventKind::finished, JobId{0}), Verdict::no_such_subject);
  EXPECT_EQ(h.hear(EventKind::submitted, JobId{0}), Verdict::no_such_subject);
  EXPECT_EQ(h.hear(EventKind::machine_down, MachineId{1}), Verdict::no_such_subject);
  h.workload.jobs.assign(2, gang(1));
  EXPECT_EQ(h.hear(EventKind::submitted, JobId{1}), Verdict::wrong_phase) << "0 comes first";
  EXPECT_EQ(h.hear(EventKind::cancelled, JobId{0}), Verdict::no_such_subject) << "not submitted";
}

TEST(YardLife, TimeDoesNotGoBackAndARefusedEventDoesNotMoveIt) {
  HandYard h("1x8xV100");
  h.at(minutes(5));
  EXPECT_EQ(h.yard.apply({Time{} + minutes(4), EventKind::clock}), Verdict::time_went_back);
  EXPECT_EQ(h.yard.now(), Time{} + minutes(5));
  const auto at = Time{} + minutes(6);
  EXPECT_EQ(h.yard.apply(Event::of(at, EventKind::finished, JobId{9})), Verdict::no_such_subject);
  EXPECT_EQ(h.yard.now(), Time{} + minutes(5));
}

// --- Machines --------------------------------------------------------------------------------

TEST(YardMachines, GoDownOnceAndComeUpOnce) {
  HandYard h("2x8xV100");
  EXPECT_EQ(h.hear(EventKind::machine_up, MachineId{0}), Verdict::machine_is_up);
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.hear(EventKind::machine_down, MachineId{0}), Verdict::machine_is_down);
  EXPECT_EQ(h.yard.free().of(kAnyKind).free_gpus, 8);
  h.tell(EventKind::machine_up, MachineId{0});
  EXPECT_EQ(h.yard.free().of(kAnyKind).free_gpus, 16);
}

TEST(YardMachines, ARunningJobFallsBackToItsCheckpoint) {
  HandYard h("2x8xV100");
  Job job = gang(12, 1, hours(1));
  job.checkpoint_interval = minutes(10), job.checkpoint_cost = minutes(1);
  const JobId id = h.running(job, Placement{{MachineId{0}, 8}, {MachineId{1}, 4}});
  const JobId bystander = h.running(gang(4), 1);
  h.orders();
  h.at(minutes(25));
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.phase(id), Phase::queued);
  EXPECT_EQ(h.yard.state(id).done, minutes(20));
  EXPECT_EQ(h.yard.state(id).lost, minutes(5));
  EXPECT_EQ(h.yard.state(id).pauses, 0U) << "no pause: nobody asked it to leave";
  EXPECT_EQ(h.phase(bystander), Phase::running);
  EXPECT_EQ(h.free_gpus(1), 4);
  EXPECT_EQ(h.orders(), "stop 0");
  EXPECT_TRUE(h.yard.jobs_on(MachineId{0}).empty());
}

TEST(YardMachines, ALoadingJobLosesTheLoad) {
  HandYard h("1x8xV100");
  const JobId job = h.submit(costly(gang(1), {}, {}, minutes(9)));
  HandYard::must(h.start(job, on(0, 1)));
  h.at(minutes(4));
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.phase(job), Phase::queued);
  EXPECT_EQ(h.yard.state(job).lost, minutes(4));
}

TEST(YardMachines, ADrainingJobLosesWhatItHasNotSaved) {
  HandYard h("1x8xV100");
  Job job = costly(gang(8), minutes(1), minutes(4), {});
  job.checkpoint_interval = minutes(10), job.checkpoint_cost = minutes(1);
  const JobId victim = h.running(job, 0);
  h.at(minutes(17));  // 10 saved, 1 writing, 6 more done
  const JobId waiter = h.submit(gang(8));
  HandYard::must(h.make_room(waiter, on(0, 8), {victim}));
  EXPECT_EQ(h.yard.state(victim).done, minutes(16));
  EXPECT_EQ(h.yard.state(victim).lost, minutes(1));
  h.at(minutes(19));
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.yard.state(victim).done, minutes(10));
  EXPECT_EQ(h.yard.state(victim).lost, minutes(1 + 2 + 6));
  EXPECT_EQ(h.phase(waiter), Phase::queued);
}

// --- Plans -----------------------------------------------------------------------------------

TEST(YardStart, RefusesWhatIsNotTheWholeGang) {
  HandYard h("2x8xV100");
  const JobId job = h.submit(gang(4));
  EXPECT_EQ(h.start(job, {}), Verdict::wrong_gang);
  EXPECT_EQ(h.start(job, on(0, 3)), Verdict::wrong_gang);
  EXPECT_EQ(h.start(job, on(0, 5)), Verdict::wrong_gang);
  EXPECT_EQ(h.start(job, {{MachineId{0}, 2}, {MachineId{0}, 2}}), Verdict::wrong_gang);
  EXPECT_EQ(h.start(job, {{MachineId{0}, 4}, {MachineId{1}, 0}}), Verdict::wrong_gang);
  EXPECT_EQ(h.start(job, {{MachineId{0}, 5}, {MachineId{1}, -1}}), Verdict::wrong_gang);
  EXPECT_EQ(h.phase(job), Phase::queued);
  EXPECT_EQ(h.orders(), "");
}

TEST(YardStart, RefusesWhatIsNotThere) {
  HandYard h("2x8xV100");
  const JobId job = h.submit(gang(4));
  EXPECT_EQ(h.start(JobId{7}, on(0, 4)), Verdict::no_such_subject);
  EXPECT_EQ(h.start(job, on(2, 4)), Verdict::no_such_subject);
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.start(job, on(0, 4)), Verdict::machine_is_down);
  HandYard::must(h.start(job, on(1, 4)));
  EXPECT_EQ(h.start(job, on(1, 4)), Verdict::wrong_phase) << "it has started";
}

TEST(YardStart, RefusesGpusOfAnotherKind) {
  HandYard h(*parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\nkind = \"V100\"\n[[rack.machine]]\nkind = \"T4\"\n", "test"));
  h.workload.kinds.add("T4");
  Job job = gang(4);
  job.kind = KindId{0};
  const JobId id = h.submit(job);
  EXPECT_EQ(h.start(id, on(0, 4)), Verdict::wrong_kind);
  EXPECT_EQ(h.start(id, on(1, 4)), Verdict::ok);
}

TEST(YardStart, RefusesWithoutRoomForGpusCpusOrMemory) {
  HandYard h("1x8xV100");  // 96 CPUs, 768 GiB
  Job many_cpus = gang(2), much_memory = gang(2), huge = gang(3);
  many_cpus.per_worker.milli_cpus = 49'000;
  much_memory.per_worker.memory_mib = 385 * 1024;
  huge.per_worker.memory_mib = 1'000'000'000;  // three times that is more than 2^31
  for (const Job& job : {gang(9), many_cpus, much_memory, huge})
    EXPECT_EQ(h.start(h.submit(job), on(0, job.workers)), Verdict::no_room);
  EXPECT_EQ(h.free_gpus(0), 8);
}

TEST(YardStart, GivesEachJobGpusOfItsOwn) {
  HandYard h("1x8xV100");
  const JobId a = h.running(gang(3), 0), b = h.running(gang(2, 2), 0);
  EXPECT_THAT(h.yard.gpus(a, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(h.yard.gpus(b, 0), ElementsAre(3, 4, 5, 6));
  h.tell(EventKind::finished, a);
  const JobId c = h.running(gang(4), 0);
  EXPECT_THAT(h.yard.gpus(c, 0), ElementsAre(0, 1, 2, 7));
}

TEST(YardStart, AllGpusOfALargeMachineAreGiven) {
  for (const std::int32_t gpus : {63, 64, 65, 72, 128, 1024}) {
    HandYard h("2x" + std::to_string(gpus) + "xB200");
    h.running(gang(5), 0);
    const JobId job = h.running(gang(gpus - 5), 0);
    std::vector<std::int32_t> expected(static_cast<std::size_t>(gpus - 5));
    std::iota(expected.begin(), expected.end(), 5);
    EXPECT_EQ(h.yard.gpus(job, 0), expected);
    EXPECT_EQ(h.free_gpus(0), 0);
    EXPECT_EQ(h.start(h.submit(gang(1)), on(0, 1)), Verdict::no_room);
    h.tell(EventKind::finished, job);
    EXPECT_EQ(h.yard.gpus(h.running(gang(gpus - 5), 0), 0), expected);
  }
}

TEST(YardListeners, HearEveryChangeAfterItWasMade) {
  struct Listener : YardListener {
    explicit Listener(const Yard& y) : yard(y) {}
    void on_phase(JobId job, Phase from, Phase to) override {
      EXPECT_EQ(yard.state(job).phase, to);
      heard += fmt::format("{} {}>{}, ", index(job), name(from), name(to));
    }
    void on_machine(MachineId machine, bool up) override {
      heard += fmt::format("m{} {}, ", index(machine), up ? "up" : "down");
    }
    const Yard& yard;
    std::string heard;
  };
  HandYard h("1x8xV100");
  Listener listener(h.yard);
  h.yard.listen(listener);
  h.running(gang(1), 0);
  h.tell(EventKind::machine_down, MachineId{0});
  h.tell(EventKind::machine_up, MachineId{0});
  EXPECT_EQ(listener.heard,
            "0 absent>queued, 0 queued>starting, 0 starting>running, 0 running>queued, m0 down, "
            "m0 up, ");
}

// --- Rates and estimates that change -------------------------------------------------------------

TEST(YardRates, WhatWasDoneStaysDoneAndTheRestTakesLonger) {
  HandYard h("1x8xV100");
  const JobId job = h.running(gang(8, 1, hours(1)), 0);
  h.at(minutes(20));
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate::taking(2))));
  EXPECT_EQ(h.yard.work_done(job), minutes(20));
  EXPECT_EQ(h.yard.expected_end(job), Time{} + minutes(20 + 80));
  h.at(minutes(60));
  EXPECT_EQ(h.yard.work_done(job), minutes(40));
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate::taking(0.5))));
  EXPECT_EQ(h.yard.expected_end(job), Time{} + minutes(70));
  EXPECT_EQ(h.yard.attained_service(job), (minutes(60) * 8).us) << "service is time";
  h.at(minutes(70));
  h.tell(EventKind::finished, job);
  EXPECT_EQ(h.yard.state(job).done, hours(1));
  EXPECT_EQ(h.yard.state(job).slowed, minutes(20 - 10));
  EXPECT_EQ(h.yard.state(job).lost, Duration{});
}

TEST(YardRates, TimeInWhichNothingIsLeftForAJobSlowsItDownAndIsNotLost) {
  HandYard h("1x8xV100");
  const JobId job = h.running(gang(1, 1, minutes(10)), 0);
  h.at(minutes(4));
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate::stopped())));
  h.at(minutes(9));
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate())));
  EXPECT_EQ(h.yard.state(job).slowed, minutes(5));
  EXPECT_EQ(h.yard.state(job).lost, Duration{});
}

TEST(YardRates, ACheckpointOfAJobThatNothingIsLeftForIsLostAllTheSame) {
  HandYard h("1x8xV100");
  Job saving = gang(1, 1, minutes(30));
  saving.checkpoint_interval = minutes(10), saving.checkpoint_cost = minutes(3);
  const JobId job = h.running(saving, 0);
  h.at(minutes(11));  // it has written for a minute
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate::stopped())));
  h.at(minutes(20));
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate())));
  EXPECT_EQ(h.yard.state(job).lost, minutes(3));
  EXPECT_EQ(h.yard.state(job).slowed, minutes(7));
}

TEST(YardRates, AJobThatStandsStillEndsWhenItGoesOn) {
  HandYard h("1x8xV100");
  const JobId job = h.running(gang(8, 1, hours(1)), 0);
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate::stopped())));
  EXPECT_EQ(h.yard.expected_end(job), Time::never());
  h.at(hours(1));
  EXPECT_EQ(h.yard.work_done(job), Duration{});
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate{})));
  EXPECT_EQ(h.yard.expected_end(job), Time{} + hours(2));
}

TEST(YardRates, AFailureLeavesTheLastCheckpointWhateverTheRatesWere) {
  HandYard h("1x8xV100");
  Job saving = gang(8, 1, hours(1));
  saving.checkpoint_interval = minutes(10);
  const JobId job = h.running(saving, 0);
  h.at(minutes(15));
  HandYard::must(h.yard.apply(Event::rate_of(h.yard.now(), job, Rate::taking(2))));
  h.at(minutes(21));  // 18 minutes of work, 10 of them saved
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.yard.state(job).done, minutes(10));
  EXPECT_EQ(h.yard.state(job).slowed, minutes(3));
  EXPECT_EQ(h.yard.state(job).lost, minutes(8));
}

TEST(YardRates, TheEngineMayKnowBetterHowMuchWorkItWas) {
  HandYard h("1x8xV100");
  const JobId job = h.running(gang(8, 1, hours(5)), 0);
  h.at(hours(1));
  HandYard::must(h.yard.apply(Event::finished_after(h.yard.now(), job, minutes(50))));
  EXPECT_EQ(h.yard.state(job).done, minutes(50));
  EXPECT_EQ(h.yard.state(job).lost, minutes(10)) << "it had ended before that was known";
}

TEST(YardRates, ListenersHearOfChangesAndOfNothingElse) {
  struct Listener : YardListener {
    void on_phase(JobId, Phase, Phase) override {}
    void on_rate(JobId job) override { heard += fmt::format("rate {}, ", index(job)); }
    void on_estimate(JobId job) override { heard += fmt::format("estimate {}, ", index(job)); }
    std::string heard;
  };
  HandYard h("1x8xV100");
  Listener listener;
  h.yard.listen(listener);
  const JobId job = h.running(gang(4), 0);
  const JobId waits = h.submit(gang(8));
  const auto rate = [&](JobId of, double pace) {
    return h.yard.apply(Event::rate_of(h.yard.now(), of, Rate::taking(pace)));
  };
  const auto estimate = [&](JobId of, const Estimate& value) {
    return h.yard.apply(Event::estimate_of(h.yard.now(), of, value));
  };
  EXPECT_EQ(rate(job, 1), Verdict::ok);
  EXPECT_EQ(rate(job, 3), Verdict::ok);
  EXPECT_EQ(rate(waits, 3), Verdict::wrong_phase);
  EXPECT_EQ(rate(job, 0), Verdict::wrong_value);
  EXPECT_EQ(rate(job, std::nan("")), Verdict::wrong_value);
  EXPECT_EQ(estimate(waits, {.work = minutes(7)}), Verdict::ok);
  EXPECT_EQ(estimate(waits, {.work = minutes(7)}), Verdict::ok);
  EXPECT_EQ(estimate(waits, {.work = Duration{}}), Verdict::wrong_value);
  EXPECT_EQ(estimate(waits, {.load = Duration::max()}), Verdict::wrong_value);
  EXPECT_EQ(estimate(job, {.pause = minutes(2), .load = minutes(3)}), Verdict::ok);
  h.tell(EventKind::finished, job);
  EXPECT_EQ(estimate(job, {.work = minutes(7)}), Verdict::wrong_phase);
  EXPECT_EQ(listener.heard, "rate 0, estimate 1, estimate 0, ");
  EXPECT_EQ(h.yard.expected_remaining(waits), minutes(7));
  EXPECT_EQ(h.yard.expected_pause(job), minutes(2));
  EXPECT_EQ(h.yard.reload_time(job), minutes(3));
}

TEST(YardLearning, ListenersHearOfPointsThatCanBeFromJobsThatRun) {
  struct Listener : YardListener {
    void on_phase(JobId, Phase, Phase) override {}
    void on_learnt(JobId job, const LearningPoint& point) override {
      heard += fmt::format("{}: {} at {}, ", index(job), point.accuracy, point.step);
    }
    std::string heard;
  };
  HandYard h("1x8xV100");
  Listener listener;
  h.yard.listen(listener);
  const JobId job = h.running(gang(4), 0), waits = h.submit(gang(8));
  const auto tell = [&](JobId of, double step, double accuracy) {
    return h.yard.apply(Event::learnt_by(h.yard.now(), of, {step, accuracy}));
  };
  EXPECT_EQ(tell(job, 10, 0.5), Verdict::ok);
  EXPECT_EQ(tell(waits, 10, 0.5), Verdict::wrong_phase);
  EXPECT_EQ(tell(JobId{7}, 10, 0.5), Verdict::no_such_subject);
  EXPECT_EQ(tell(job, std::nan(""), 0.5), Verdict::wrong_value);
  EXPECT_EQ(tell(job, 20, std::numeric_limits<double>::infinity()), Verdict::wrong_value);
  EXPECT_EQ(tell(job, -1, 0.5), Verdict::wrong_value);
  h.tell(EventKind::finished, job);
  EXPECT_EQ(tell(job, 30, 0.5), Verdict::wrong_phase);
  EXPECT_EQ(listener.heard, "0: 0.5 at 10, ");
}

// --- What policies may know --------------------------------------------------------------------

TEST(YardForesight, GoesByTheEstimateNotTheDuration) {
  HandYard h("1x8xV100");
  Job job = costly(gang(2, 1, hours(9)), {}, {}, minutes(3));
  job.estimate = hours(1);
  const JobId id = h.submit(job);
  EXPECT_EQ(h.yard.expected_remaining(id), hours(1));
  HandYard::must(h.start(id, on(0, 2)));
  EXPECT_EQ(h.yard.expected_end(id), Time{} + minutes(63));
  h.at(minutes(3));
  h.tell(EventKind::loaded, id);
  EXPECT_EQ(h.yard.expected_end(id), Time{} + minutes(63));
  h.at(minutes(33));
  EXPECT_EQ(h.yard.expected_remaining(id), minutes(30));
  EXPECT_EQ(h.yard.attained_service(id), (minutes(30) * 2).us);
  h.at(hours(5));
  EXPECT_EQ(h.yard.expected_remaining(id), microseconds(1)) << "it outlived its estimate";
  EXPECT_EQ(h.yard.expected_end(id), Time{} + minutes(63)) << "does not change while it runs";
}

TEST(YardForesight, ADrainingJobEndsWhenItHasSaved) {
  HandYard h("1x8xV100");
  const JobId victim = h.running(costly(gang(8), minutes(1), minutes(4), {}), 0);
  h.at(minutes(10));
  HandYard::must(h.make_room(h.submit(gang(8)), on(0, 8), {victim}));
  EXPECT_EQ(h.yard.expected_end(victim), Time{} + minutes(15));
}

TEST(YardForesight, AttainedServiceDoesNotOverflow) {
  HandYard h("1x64xV100");
  const JobId job = h.running(gang(64, 1, kLongestDuration), 0);
  h.at(kLongestDuration);
  EXPECT_EQ(h.yard.attained_service(job), Duration::max().us);
}

// --- Flow ----------------------------------------------------------------------------------------

constexpr FlowClass kSecond{1}, kThird{2};

TEST(YardFlow, AStartCarriesItsClassAndAChangeIsAnOrder) {
  HandYard h("1x8xV100");
  const JobId fair = h.submit(gang(2)), later = h.submit(gang(2));
  ASSERT_EQ(Plan(h.yard).start(fair, on(0, 2)), Verdict::ok);
  ASSERT_EQ(Plan(h.yard).start(later, on(0, 2), kThird), Verdict::ok);
  EXPECT_EQ(h.orders(), "start 0, start 1 in class 2");
  EXPECT_EQ(h.yard.flow(fair), kFirstFlow);
  EXPECT_EQ(h.yard.flow(later), kThird);
  ASSERT_EQ(Plan(h.yard).set_flow(later, kFirstFlow), Verdict::ok);
  ASSERT_EQ(Plan(h.yard).set_flow(fair, kFirstFlow), Verdict::ok);
  EXPECT_EQ(h.orders(), "flow 1 in class 0") << "what stays is not told again";
  EXPECT_EQ(h.yard.flow(later), kFirstFlow);
}

TEST(YardFlow, AJobThatHoldsNothingHasNone) {
  HandYard h("1x8xV100");
  const JobId waits = h.submit(gang(1));
  EXPECT_EQ(Plan(h.yard).set_flow(waits, kSecond), Verdict::wrong_phase);
  EXPECT_EQ(Plan(h.yard).set_flow(JobId{7}, kSecond), Verdict::no_such_subject);
  const JobId done = h.running(gang(1), 0);
  h.orders();
  h.tell(EventKind::finished, done);
  EXPECT_EQ(Plan(h.yard).set_flow(done, kSecond), Verdict::wrong_phase);
  EXPECT_EQ(h.orders(), "");
}

TEST(YardFlow, AJobWhoseRoomIsBeingMadeIsToldWhenItStarts) {
  HandYard h("1x8xV100");
  const JobId victim = h.running(gang(8), 0);
  const JobId waiter = h.submit(gang(8));
  Plan plan(h.yard);
  ASSERT_EQ(plan.make_room(waiter, on(0, 8), {{victim}}, kSecond), Verdict::ok);
  ASSERT_EQ(plan.set_flow(waiter, kThird), Verdict::ok);
  h.orders();
  h.tell(EventKind::drained, victim);
  EXPECT_EQ(h.orders(), "start 1 in class 2");
}

TEST(YardFlow, EveryRunBeginsAnew) {
  HandYard h("1x8xV100");
  const JobId job = h.submit(gang(8));
  ASSERT_EQ(Plan(h.yard).start(job, on(0, 8), kThird), Verdict::ok);
  h.tell(EventKind::lost, job);
  ASSERT_EQ(Plan(h.yard).start(job, on(0, 8)), Verdict::ok);
  EXPECT_EQ(h.yard.flow(job), kFirstFlow);
}

}  // namespace
}  // namespace trainyard
