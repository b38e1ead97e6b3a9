// Machines that differ: the yard itself keeps a job from those that it may not have, and gives each
// worker the share of its own machine, whatever a plan says.
#include <gtest/gtest.h>

#include "yard/room.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

/// r0m0: 4 GPUs, 16 CPUs. r0m1: 4 GPUs, 64 CPUs, ib. r0m2: 2 GPUs, 16 CPUs, ib.
Cluster mixed_yard() {
  return *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ngpus = 4\ncpus = 16\nmemory = 64\nkind = \"V100\"\n"
      "[[rack.machine]]\ngpus = 4\ncpus = 64\nmemory = 64\nkind = \"V100\"\nfeatures = [\"ib\"]\n"
      "[[rack.machine]]\ngpus = 2\ncpus = 16\nmemory = 64\nkind = \"V100\"\nfeatures = [\"ib\"]\n",
      "");
}

class MixedYard : public testing::Test {
 protected:
  Job with(Job job, const MachineTerms& terms) {
    job.terms = hand.workload.terms.add(terms);
    return job;
  }
  Job asking_for(const std::string& constraint, Job job) {
    return with(job, {.constraint = *parse_constraint(constraint)});
  }
  Job sharing(Job job) { return with(job, {.shares_cpus = true}); }
  [[nodiscard]] std::int32_t free_cpus(std::uint32_t machine) const {
    return hand.yard.free().on(MachineId{machine}).milli_cpus / 1000;
  }

  HandYard hand{mixed_yard()};
};

TEST_F(MixedYard, StartsNothingWhereTheConstraintForbidsIt) {
  const JobId job = hand.submit(asking_for("ib", gang(2)));
  EXPECT_EQ(hand.start(job, on(0, 2)), Verdict::forbidden);
  EXPECT_EQ(hand.start(job, {{MachineId{1}, 1}, {MachineId{0}, 1}}), Verdict::forbidden);
  EXPECT_EQ(hand.start(job, {{MachineId{1}, 1}, {MachineId{2}, 1}}), Verdict::ok);
}

TEST_F(MixedYard, MakesNoRoomWhereTheConstraintForbidsIt) {
  const JobId one = hand.running(gang(4), 0), other = hand.running(gang(4), 1);
  const JobId job = hand.submit(asking_for("ib", gang(4)));
  EXPECT_EQ(hand.make_room(job, on(0, 4), {one}), Verdict::forbidden);
  const JobChange change{.job = job, .to = on(0, 4)};
  EXPECT_EQ(Plan(hand.yard).change(std::vector{JobChange{.job = one}, change}), Verdict::forbidden);
  EXPECT_EQ(hand.make_room(job, on(1, 4), {other}), Verdict::ok);
}

TEST_F(MixedYard, GivesEachWorkerTheShareOfItsMachine) {
  const JobId job = hand.submit(sharing(gang(3)));
  ASSERT_EQ(hand.start(job, {{MachineId{0}, 1}, {MachineId{1}, 2}}), Verdict::ok);
  EXPECT_EQ(hand.yard.each(job, 0).milli_cpus, 4'000);
  EXPECT_EQ(hand.yard.each(job, 1).milli_cpus, 16'000);
  EXPECT_EQ(free_cpus(0), 12);
  EXPECT_EQ(free_cpus(1), 32);
  hand.tell(EventKind::loaded, job);
  hand.tell(EventKind::finished, job);
  EXPECT_EQ(free_cpus(0), 16);
  EXPECT_EQ(free_cpus(1), 64);
}

TEST_F(MixedYard, FillsAMachineWithSharesToTheLastGpu) {
  for (int i = 0; i < 4; ++i) hand.running(sharing(gang(1)), 0);
  EXPECT_EQ(free_cpus(0), 0);
  EXPECT_EQ(hand.free_gpus(0), 0);
}

TEST_F(MixedYard, AWholeMachineIsAllOfWhicheverItIs) {
  const Job whole = with(gang(1, 2), {.whole_machine = true});
  const JobId small = hand.running(whole, 2), large = hand.running(whole, 1);
  EXPECT_EQ(hand.yard.gpus(small), 2);
  EXPECT_EQ(hand.yard.gpus(large), 4);
  EXPECT_EQ(hand.yard.held_gpus(), 6);
  EXPECT_EQ(free_cpus(1), 0);
  const JobId other = hand.running(gang(1), 0), last = hand.submit(whole);
  EXPECT_EQ(hand.yard.shape(last).per_worker.gpus, 2) << "the least";
  EXPECT_EQ(hand.start(last, on(0, 1)), Verdict::no_room);
  hand.tell(EventKind::finished, other);
  EXPECT_EQ(hand.start(last, on(0, 1)), Verdict::ok);
  EXPECT_EQ(hand.yard.held_gpus(), 10);
}

TEST_F(MixedYard, TheSearchForRoomLooksOnlyWhereTheJobMayRun) {
  const JobId longest = hand.running(gang(4), 0), other = hand.running(gang(4), 1);
  hand.running(gang(2), 2);
  const JobId job = hand.submit(asking_for("ib", gang(4)));
  RoomFinder finder(hand.yard);
  finder.begin(job, {.machines = 4});
  EXPECT_FALSE(finder.offer(longest));
  EXPECT_TRUE(finder.offer(other));
  EXPECT_EQ(finder.room(), on(1, 4));
  EXPECT_EQ(std::vector(finder.victims().begin(), finder.victims().end()), std::vector{other});
}

TEST_F(MixedYard, JobsOfOtherTermsHaveOtherShapes) {
  const JobId plain = hand.submit(gang(1)), ib = hand.submit(asking_for("ib", gang(1))),
              share = hand.submit(sharing(gang(1))), again = hand.submit(asking_for("ib", gang(1)));
  EXPECT_NE(hand.yard.state(plain).shape, hand.yard.state(ib).shape);
  EXPECT_NE(hand.yard.state(ib).shape, hand.yard.state(share).shape);
  EXPECT_EQ(hand.yard.state(ib).shape, hand.yard.state(again).shape);
}

/// The machine has lost its feature, and has other CPUs: the job stays and keeps what it has.
TEST_F(MixedYard, WhatRunsStaysWhereItsMachineChanges) {
  Job both = with(gang(1), {.constraint = *parse_constraint("ib"), .shares_cpus = true});
  const JobId job = hand.running(both, 1);
  const SavedJob saved = hand.yard.save(job);
  Cluster changed = hand.cluster;
  changed.machines[1].features.clear();
  changed.machines[1].capacity.milli_cpus = 128'000;
  Yard next(changed, hand.workload);
  ASSERT_EQ(next.restore(std::vector{saved}), Verdict::ok);
  EXPECT_EQ(next.each(job, 0).milli_cpus, 16'000);
  EXPECT_EQ(next.free().on(MachineId{1}).milli_cpus, 112'000);
  ASSERT_EQ(next.apply(Event::of(next.now(), EventKind::finished, job)), Verdict::ok);
  EXPECT_EQ(next.free().on(MachineId{1}), changed.machines[1].capacity);
}

TEST_F(MixedYard, ARoomThatIsBeingMadeIsRefusedWhereItsMachineChanges) {
  const JobId other = hand.running(gang(4), 1);
  const JobId job = hand.submit(asking_for("ib", gang(4)));
  ASSERT_EQ(hand.make_room(job, on(1, 4), {other}), Verdict::ok);
  Cluster changed = hand.cluster;
  changed.machines[1].features.clear();
  Yard next(changed, hand.workload);
  const std::vector saved{hand.yard.save(other), hand.yard.save(job)};
  EXPECT_EQ(next.restore(saved), Verdict::forbidden);
  Yard same(hand.cluster, hand.workload);
  EXPECT_EQ(same.restore(saved), Verdict::ok);
}

TEST_F(MixedYard, SavedAmountsThatCannotBeAreRefused) {
  const JobId job = hand.running(sharing(gang(1)), 1);
  const auto verdict_of = [&](const Resources& each) {
    SavedJob saved = hand.yard.save(job);
    saved.room.each = {each};
    return Yard(hand.cluster, hand.workload).restore(std::vector{saved});
  };
  EXPECT_EQ(verdict_of({1, 1000, 0}), Verdict::ok);
  EXPECT_EQ(verdict_of({1, -1, 0}), Verdict::wrong_value);
  EXPECT_EQ(verdict_of({1, 65'000, 0}), Verdict::no_room);
  EXPECT_EQ(verdict_of({2, 1000, 0}), Verdict::no_room) << "not as many as it has numbers of GPUs";
  EXPECT_EQ(verdict_of(kForbidden), Verdict::forbidden);
}

}  // namespace
}  // namespace trainyard
