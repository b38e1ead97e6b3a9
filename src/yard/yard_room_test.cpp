// Rooms made by pausing others: who may be paused, who gets what is freed, and what voids a room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

using testing::ElementsAre;

const Job kBatch = costly(gang(4), minutes(1), minutes(2), minutes(5));

TEST(YardRoom, ThePausedLeaveAndTheWaiterStartsInTheirPlace) {
  HandYard h("1x8xV100");
  const JobId a = h.running(kBatch, 0), b = h.running(kBatch, 0);
  h.orders();
  h.at(minutes(10));
  const JobId waiter = h.submit(gang(8));
  ASSERT_EQ(h.make_room(waiter, on(0, 8), {a, b}), Verdict::ok);
  EXPECT_EQ(h.phase(waiter), Phase::reserved);
  EXPECT_EQ(h.phase(a), Phase::draining);
  EXPECT_EQ(h.yard.making_room_for(a), waiter);
  EXPECT_EQ(h.yard.making_room_for(waiter), kNoJob);
  EXPECT_EQ(h.orders(), "pause 0, pause 1");
  h.at(minutes(13));
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.phase(a), Phase::queued);
  EXPECT_EQ(h.phase(waiter), Phase::reserved) << "b is still there";
  EXPECT_EQ(h.free_gpus(0), 0) << "what a left is held for the waiter";
  h.at(minutes(14));
  h.tell(EventKind::drained, b);
  EXPECT_EQ(h.phase(waiter), Phase::starting);
  EXPECT_THAT(h.yard.gpus(waiter, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(h.orders(), "start 2");
  const JobState& state = h.yard.state(a);
  EXPECT_EQ(state.done, minutes(10));
  EXPECT_EQ(state.lost, minutes(3));
  EXPECT_EQ(state.pauses, 1U);
  EXPECT_EQ(h.yard.state(waiter).waited, minutes(4)) << "waits until its room is made";
}

/// Which of the two it was, the engine is told by the job.
TEST(YardRoom, OneThatIsToldToLeaveMayHaveComeToItsEnd) {
  HandYard h("1x8xV100");
  const JobId a = h.running(kBatch, 0);
  h.at(minutes(10));
  const JobId waiter = h.submit(gang(8));
  HandYard::must(h.make_room(waiter, on(0, 8), {a}));
  h.at(minutes(12));
  h.tell(EventKind::finished, a);
  EXPECT_EQ(h.phase(a), Phase::done);
  EXPECT_EQ(h.yard.state(a).done, minutes(10));
  EXPECT_EQ(h.phase(waiter), Phase::starting) << "it has the room all the same";
}

TEST(YardRoom, WhatIsFreeOfItIsHeldAtOnceAndTheRestGoesFree) {
  HandYard h("1x8xV100");
  const JobId a = h.running(kBatch, 0);
  const JobId waiter = h.submit(gang(6));
  HandYard::must(h.make_room(waiter, on(0, 6), {a}));
  EXPECT_EQ(h.free_gpus(0), 0);
  EXPECT_EQ(h.start(h.submit(gang(1)), on(0, 1)), Verdict::no_room);
  EXPECT_EQ(h.yard.held_gpus(), 4) << "a reservation is not yet use";
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.free_gpus(0), 2);
  EXPECT_EQ(h.yard.held_gpus(), 6);
}

TEST(YardRoom, EachVictimsRoomGoesToItsOwnWaiter) {
  HandYard h("1x8xV100");
  const JobId a = h.running(kBatch, 0), b = h.running(kBatch, 0);
  const JobId first = h.submit(gang(4)), second = h.submit(gang(3));
  HandYard::must(h.make_room(first, on(0, 4), {a}));
  HandYard::must(h.make_room(second, on(0, 3), {b}));
  h.tell(EventKind::drained, b);
  EXPECT_EQ(h.phase(second), Phase::starting);
  EXPECT_EQ(h.phase(first), Phase::reserved);
  EXPECT_EQ(h.free_gpus(0), 1) << "what the second did not need";
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.phase(first), Phase::starting);
  EXPECT_EQ(h.free_gpus(0), 1);
}

TEST(YardRoom, OnlyTheWaitersMachinesAreHandedOver) {
  HandYard h("2x4xV100");
  const JobId wide = h.running(costly(gang(8), minutes(1), {}, {}),
                               Placement{{MachineId{0}, 4}, {MachineId{1}, 4}});
  const JobId waiter = h.submit(gang(2));
  HandYard::must(h.make_room(waiter, on(1, 2), {wide}));
  h.tell(EventKind::drained, wide);
  EXPECT_EQ(h.free_gpus(0), 4);
  EXPECT_EQ(h.free_gpus(1), 2);
  EXPECT_EQ(h.phase(waiter), Phase::starting);
}

TEST(YardRoom, CpusAndMemoryAreHandedOverToo) {
  HandYard h("1x8xV100");  // 96 CPUs
  Job hog = kBatch;
  hog.per_worker.milli_cpus = 20'000;  // all four: 80 of 96
  const JobId victim = h.running(hog, 0);
  Job needy = gang(2);
  needy.per_worker.milli_cpus = 30'000;
  const JobId waiter = h.submit(needy);
  HandYard::must(h.make_room(waiter, on(0, 2), {victim}));
  EXPECT_EQ(h.yard.free().on(MachineId{0}), (Resources{2, 0, 768 * 1024}));
  h.tell(EventKind::drained, victim);
  EXPECT_EQ(h.yard.free().on(MachineId{0}), (Resources{6, 36'000, 768 * 1024}));
}

TEST(YardRoom, WithoutVictimsItIsAStart) {
  HandYard h("1x8xV100");
  const JobId job = h.submit(gang(8));
  EXPECT_EQ(h.make_room(job, on(0, 8), {}), Verdict::ok);
  EXPECT_EQ(h.phase(job), Phase::starting);
}

// --- Refusals ----------------------------------------------------------------------------------

TEST(YardRoomRefusals, LeaveEverythingAsItWas) {
  HandYard h("2x8xV100");
  const JobId a = h.running(kBatch, 0), b = h.running(kBatch, 0), c = h.running(gang(8), 1);
  const JobId waiter = h.submit(gang(6)), queued = h.submit(gang(1));
  h.orders();
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {a}), Verdict::no_room);
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {a, c}), Verdict::no_room);
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {a, b, c}), Verdict::victim_unneeded);
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {a, a}), Verdict::victim_unneeded) << "named twice";
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {a, b, b}), Verdict::victim_unneeded);
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {a, queued}), Verdict::wrong_phase);
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {JobId{99}}), Verdict::no_such_subject);
  EXPECT_EQ(h.make_room(waiter, on(0, 5), {a, b}), Verdict::wrong_gang);
  EXPECT_EQ(h.make_room(a, on(0, 4), {b}), Verdict::wrong_phase) << "it runs already";
  EXPECT_EQ(h.orders(), "");
  EXPECT_EQ(h.phase(waiter), Phase::queued);
  EXPECT_EQ(h.yard.state(a).pauses, 0U);
  EXPECT_EQ(h.make_room(waiter, on(0, 6), {a, b}), Verdict::ok);
}

TEST(YardRoomRefusals, NobodyIsPausedBeforeItRanForMinRun) {
  HandYard h(*parse_cluster_shorthand("1x8xV100"), {.min_run = minutes(10), .max_pauses = 64});
  h.at(minutes(1));
  const JobId victim = h.running(gang(8), 0), waiter = h.submit(gang(8));
  EXPECT_EQ(h.yard.pausable_from(victim, waiter), Time{} + minutes(11));
  h.at(minutes(11) - microseconds(1));
  EXPECT_EQ(h.make_room(waiter, on(0, 8), {victim}), Verdict::victim_protected);
  h.at(minutes(11));
  EXPECT_EQ(h.make_room(waiter, on(0, 8), {victim}), Verdict::ok);
}

TEST(YardRoomRefusals, NeverWhereMinRunIsNever) {
  HandYard h(*parse_cluster_shorthand("1x8xV100"), {.min_run = Duration::max(), .max_pauses = 64});
  h.at(minutes(1));
  EXPECT_EQ(h.yard.pausable_from(h.running(gang(8), 0), h.submit(gang(8))), Time::never());
}

TEST(YardRoomRefusals, NobodyIsPausedMoreOftenThanMaxPauses) {
  HandYard h(*parse_cluster_shorthand("1x8xV100"), {.min_run = {}, .max_pauses = 2});
  const JobId victim = h.running(gang(8), 0);
  for (int pause = 0; pause < 2; ++pause) {
    const JobId waiter = h.submit(gang(8));
    ASSERT_EQ(h.make_room(waiter, on(0, 8), {victim}), Verdict::ok);
    h.tell(EventKind::drained, victim);
    h.tell(EventKind::loaded, waiter);
    h.tell(EventKind::finished, waiter);
    HandYard::must(h.start(victim, on(0, 8)));
    h.tell(EventKind::loaded, victim);
  }
  EXPECT_EQ(h.make_room(h.submit(gang(8)), on(0, 8), {victim}), Verdict::victim_protected);
  EXPECT_EQ(h.yard.state(victim).pauses, 2U);
}

Time next_turn(const Yard& yard, JobId waiter) {
  Time next = Time::never();
  yard.find_turn(waiter, next);
  return next;
}

TEST(YardRoomRefusals, TwoJobsTakeTurnsEverMoreRarely) {
  HandYard h("1x8xV100");
  const JobId a = h.running(gang(8, 1, days(9)), 0), b = h.submit(gang(8, 1, days(9)));
  const auto pass_on = [&](JobId from, JobId to) {
    const Time now = h.yard.now();
    HandYard::must(h.make_room(to, on(0, 8), {from}));
    h.tell(EventKind::drained, from);
    h.tell(EventKind::loaded, to);
    return now.seconds() / 3600;
  };
  const auto turn_of = [&](JobId waiter, JobId other) {
    h.at(h.yard.pausable_from(other, waiter) - Time{} - microseconds(1));
    EXPECT_EQ(h.make_room(waiter, on(0, 8), {other}), Verdict::victim_protected);
    EXPECT_EQ(next_turn(h.yard, waiter), h.yard.now() + microseconds(1));
    h.at(next_turn(h.yard, waiter) - Time{});
    return pass_on(other, waiter);
  };
  EXPECT_EQ(next_turn(h.yard, a), Time::never());
  EXPECT_EQ(pass_on(a, b), 0);
  EXPECT_EQ(h.yard.pausable_from(b, h.submit(gang(8))), h.yard.now()) << "for others";
  EXPECT_EQ(turn_of(a, b), 1);
  EXPECT_EQ(turn_of(b, a), 2);
  EXPECT_EQ(turn_of(a, b), 4);
  EXPECT_EQ(turn_of(b, a), 6);
  EXPECT_EQ(turn_of(a, b), 10);
}

TEST(YardRoomRefusals, TheNextTurnIsTheFirstOfAllThatItGaveWayTo) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    HandYard h(*parse_cluster_shorthand("3x8xV100"), {.min_run = minutes(1), .max_pauses = 400});
    for (std::uint32_t m = 0; m < 3; ++m) (void)h.running(gang(8), m);
    for (int waiter = 0; waiter < 3; ++waiter) (void)h.submit(gang(8));
    const auto draw = [&] { return JobId{static_cast<std::uint32_t>(random.below(6))}; };
    for (int step = 0; step < 400; ++step) {
      h.at(h.yard.now() - Time{} + minutes(static_cast<std::int64_t>(random.below(40))));
      const JobId waiter = draw(), victim = draw();
      if (h.phase(waiter) == Phase::starting) h.tell(EventKind::loaded, waiter);
      if (h.phase(waiter) == Phase::queued && h.phase(victim) == Phase::running &&
          h.make_room(waiter, h.yard.placement(victim), {victim}) == Verdict::ok)
        h.tell(EventKind::drained, victim);
      for (std::uint32_t j = 0; j < 6; ++j) {
        Time expected = Time::never();
        for (const JobId other : h.yard.save(JobId{j}).yielded_to)
          if (const Time from = h.yard.pausable_from(other, JobId{j}); from > h.yard.now())
            expected = std::min(expected, from);
        ASSERT_EQ(next_turn(h.yard, JobId{j}), expected) << "step " << step << ", job " << j;
      }
    }
  }
}

// --- What voids a room ---------------------------------------------------------------------------

class VoidedRoom : public testing::Test {
 protected:
  VoidedRoom() : h("2x8xV100") {
    victim = h.running(costly(gang(6), minutes(1), minutes(2), {}), 0);
    h.at(minutes(10));
    waiter = h.submit(gang(8));
    HandYard::must(h.make_room(waiter, on(0, 8), {victim}));
    h.orders();
  }

  HandYard h;
  JobId victim{}, waiter{};
};

TEST_F(VoidedRoom, ByItsMachine) {
  h.at(minutes(11));
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.phase(waiter), Phase::queued);
  EXPECT_EQ(h.phase(victim), Phase::queued);
  EXPECT_EQ(h.yard.state(victim).done, Duration{}) << "no checkpoint, and it had not saved";
  EXPECT_EQ(h.orders(), "stop 0");
  h.tell(EventKind::machine_up, MachineId{0});
  EXPECT_EQ(h.free_gpus(0), 8);
}

TEST_F(VoidedRoom, ByTheWaitersUser) {
  h.tell(EventKind::cancelled, waiter);
  EXPECT_EQ(h.phase(waiter), Phase::cancelled);
  EXPECT_EQ(h.free_gpus(0), 2) << "what was free is free again";
  EXPECT_EQ(h.yard.making_room_for(victim), kNoJob);
  EXPECT_EQ(h.phase(victim), Phase::draining) << "it leaves for nobody";
  h.tell(EventKind::drained, victim);
  EXPECT_EQ(h.free_gpus(0), 8);
  EXPECT_EQ(h.orders(), "") << "nobody starts there, and nobody need be stopped";
}

TEST_F(VoidedRoom, NotByACrashOfTheVictimWhichLeavesSooner) {
  h.tell(EventKind::crashed, victim);
  EXPECT_EQ(h.phase(victim), Phase::failed);
  EXPECT_EQ(h.phase(waiter), Phase::starting);
  EXPECT_EQ(h.free_gpus(0), 0);
}

TEST_F(VoidedRoom, NotByTheVictimsUser) {
  h.tell(EventKind::cancelled, victim);
  EXPECT_EQ(h.phase(waiter), Phase::starting);
}

TEST_F(VoidedRoom, NotByAnotherMachineOfTheVictim) {
  HandYard wide("2x4xV100");
  const JobId both = wide.running(costly(gang(8), minutes(1), {}, {}),
                                  Placement{{MachineId{0}, 4}, {MachineId{1}, 4}});
  const JobId next = wide.submit(gang(4));
  HandYard::must(wide.make_room(next, on(1, 4), {both}));
  wide.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(wide.phase(both), Phase::queued);
  EXPECT_EQ(wide.phase(next), Phase::starting) << "its own machine is up";
}

TEST_F(VoidedRoom, TheWaiterMayHaveAnotherRoomAfterwards) {
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.start(waiter, on(1, 8)), Verdict::ok);
  EXPECT_EQ(h.yard.state(waiter).waited, Duration{});
}

TEST(YardRoom, AGangOverManyMachinesGetsTheVeryRoomThatIsLeftForIt) {
  HandYard h("100x1xV100");
  std::vector<JobId> victims;
  Placement room;
  for (std::uint32_t m = 100; m-- > 0;) {
    victims.push_back(h.running(costly(gang(1), minutes(1), {}, {}), m));
    room.push_back({MachineId{m * 7 % 100}, 1});
  }
  h.at(minutes(10));
  const JobId waiter = h.submit(gang(100));
  Placement twice = room;
  twice[20].machine = twice[90].machine;
  EXPECT_EQ(h.make_room(waiter, twice, victims), Verdict::wrong_gang);
  std::vector<JobId> again = victims;
  again[20] = again[90];
  EXPECT_EQ(h.make_room(waiter, room, again), Verdict::victim_unneeded);
  ASSERT_EQ(h.make_room(waiter, room, victims), Verdict::ok);
  h.at(minutes(11));
  for (const JobId victim : victims) {
    EXPECT_EQ(h.phase(waiter), Phase::reserved);
    h.tell(EventKind::drained, victim);
  }
  EXPECT_EQ(h.phase(waiter), Phase::starting);
  EXPECT_EQ(h.yard.placement(waiter), room);
  for (std::size_t i = 0; i < room.size(); ++i) EXPECT_THAT(h.yard.gpus(waiter, i), ElementsAre(0));
}

}  // namespace
}  // namespace trainyard
