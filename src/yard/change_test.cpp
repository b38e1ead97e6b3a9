#include "yard/change.h"

#include <gtest/gtest.h>

#include <set>

#include "yard/testing.h"

namespace trainyard {
namespace {

Job elastic(std::int32_t least, std::int32_t workers, std::int32_t most) {
  Job job = gang(workers);
  job.min_workers = least, job.max_workers = most;
  return job;
}

class ChangeTest : public testing::Test {
 protected:
  Verdict change(const std::vector<JobChange>& group) { return Plan(h.yard).change(group); }
  void must(const std::vector<JobChange>& group) { HandYard::must(change(group)); }

  HandYard h{"3x4xV100"};
};

TEST_F(ChangeTest, TwoRunningJobsSwapPlaces) {
  const JobId a = h.running(gang(4), 0), b = h.running(gang(4), 1);
  h.orders();
  must({{a, on(1, 4)}, {b, on(0, 4)}});
  EXPECT_EQ(h.orders(), "pause 0, pause 1");
  EXPECT_EQ(h.yard.moving().size(), 2u);
  h.tell(EventKind::drained, b);
  EXPECT_EQ(h.phase(b), Phase::reserved) << "its room is still being left";
  EXPECT_EQ(h.orders(), "");
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.orders(), "start 1, start 0");
  EXPECT_EQ(h.yard.placement(a), on(1, 4));
  EXPECT_EQ(h.yard.placement(b), on(0, 4));
  EXPECT_EQ(h.yard.state(a).pauses, 1u);
  EXPECT_TRUE(h.yard.moving().empty());
  EXPECT_EQ(h.free_gpus(2), 4);
}

TEST_F(ChangeTest, AJobMovesToWhatIsFreeAndNobodyElseGetsThatMeanwhile) {
  const JobId a = h.running(gang(2), 0);
  must({{a, on(1, 2)}});
  EXPECT_EQ(h.free_gpus(1), 2);
  EXPECT_EQ(h.start(h.submit(gang(4)), on(1, 4)), Verdict::no_room);
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.phase(a), Phase::starting);
  EXPECT_EQ(h.yard.placement(a), on(1, 2));
  EXPECT_EQ(h.free_gpus(0), 4);
}

TEST_F(ChangeTest, WhatAPolicySupposesIsFreeUntilItEndsSupposing) {
  const JobId a = h.running(gang(3), 0);
  const JobId b = h.submit(gang(4));
  Plan plan(h.yard);
  plan.suppose_left(a);
  EXPECT_TRUE(h.yard.is_supposed_gone(a));
  EXPECT_EQ(h.free_gpus(0), 4);
  plan.suppose_placed(b, on(0, 4));
  EXPECT_EQ(h.free_gpus(0), 0);
  plan.end_supposing();
  EXPECT_FALSE(h.yard.is_supposed_gone(a));
  EXPECT_EQ(h.free_gpus(0), 1);
  EXPECT_EQ(h.phase(a), Phase::running);
  EXPECT_EQ(h.phase(b), Phase::queued);
}

/// What a daemon keeps of a job is what it was told of.
struct Rooms : YardListener {
  std::set<JobId> changed;
  void on_phase(JobId /*job*/, Phase /*from*/, Phase /*to*/) override {}
  void on_room(JobId job) override { changed.insert(job); }
};

TEST_F(ChangeTest, AJobThatDoesNotGetItsNextRoomIsToldOf) {
  const JobId lead = h.running(gang(2), 0), a = h.running(gang(2), 0);
  must({{lead, on(1, 2)}, {a, on(2, 2)}});
  Rooms rooms;
  h.yard.listen(rooms);
  h.tell(EventKind::machine_closed, MachineId{2});
  ASSERT_TRUE(h.yard.save(a).next.placement.empty());
  EXPECT_TRUE(rooms.changed.contains(a));
}

TEST_F(ChangeTest, AJobThatMovesIsToldOfOtherGpusInItsNextRoom) {
  const JobId a = h.running(gang(2), 0);
  must({{a, on(1, 2)}});
  const JobId starts = h.submit(gang(1));
  ASSERT_EQ(h.start(starts, on(1, 1)), Verdict::ok);
  Rooms rooms;
  h.yard.listen(rooms);
  const std::vector<std::vector<std::int32_t>> wanted{{h.yard.next_gpus(a, 0).front()}};
  ASSERT_EQ(h.yard.renumber(starts, wanted), Verdict::ok);
  EXPECT_EQ(rooms.changed, (std::set{a, starts}));
}

TEST_F(ChangeTest, AnElasticJobGrowsOverItsOwnGpus) {
  const JobId a = h.running(elastic(1, 2, 8), on(0, 2));
  EXPECT_EQ(h.yard.workers(a), 2);
  must({{a, {{MachineId{0}, 4}, {MachineId{1}, 2}}}});
  EXPECT_EQ(h.free_gpus(0), 0) << "the two that are free are kept for it";
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.orders(), "start 0, pause 0, start 0");
  EXPECT_EQ(h.yard.workers(a), 6);
  EXPECT_EQ(h.yard.held_gpus(), 6);
  h.tell(EventKind::loaded, a);
  h.tell(EventKind::finished, a);
  EXPECT_EQ(h.yard.held_gpus(), 0);
  EXPECT_EQ(h.free_gpus(0), 4);
}

TEST_F(ChangeTest, AnElasticJobStartsInAnySizeThatItMayHave) {
  const JobId a = h.submit(elastic(2, 4, 8));
  EXPECT_EQ(h.start(a, on(0, 1)), Verdict::wrong_gang);
  EXPECT_EQ(h.start(a, {{MachineId{0}, 4}, {MachineId{1}, 4}, {MachineId{2}, 1}}),
            Verdict::wrong_gang);
  EXPECT_EQ(h.start(a, on(0, 3)), Verdict::ok);
  EXPECT_EQ(h.yard.gpus(a), 3);
}

TEST_F(ChangeTest, TheServiceOfAnElasticJobCountsTheGpusThatItHad) {
  const JobId a = h.running(elastic(1, 1, 4), on(0, 1));
  h.at(minutes(10));
  EXPECT_EQ(h.yard.attained_service(a), minutes(10).us);
  must({{a, on(1, 4)}});
  h.tell(EventKind::drained, a);
  h.tell(EventKind::loaded, a);
  h.at(minutes(15));
  EXPECT_EQ(h.yard.attained_service(a), minutes(30).us);
}

TEST_F(ChangeTest, SeveralStartInTheRoomOfSeveral) {
  const JobId a = h.running(gang(2), 0), b = h.running(gang(2), 0), c = h.running(gang(4), 1);
  const JobId first = h.submit(gang(3)), second = h.submit(gang(4));
  h.orders();
  // a and b leave machine 0 to `first`; b goes on where c was, which goes to machine 2.
  must({{first, on(0, 3)}, {a}, {b, on(1, 2)}, {c, on(2, 4)}});
  EXPECT_EQ(h.orders(), "pause 0, pause 1, pause 2");
  EXPECT_EQ(h.start(second, on(2, 4)), Verdict::no_room);
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.phase(a), Phase::queued);
  EXPECT_EQ(h.phase(first), Phase::reserved);
  h.tell(EventKind::drained, b);
  EXPECT_EQ(h.orders(), "start 3");
  h.tell(EventKind::drained, c);
  EXPECT_EQ(h.orders(), "start 1, start 2");
}

TEST_F(ChangeTest, IsRefusedAsAWholeIfOneOfItCannotBe) {
  const JobId a = h.running(gang(4), 0), b = h.running(gang(4), 1), c = h.running(gang(2), 2);
  EXPECT_EQ(change({{a, on(1, 4)}, {c, on(1, 2)}, {b}}), Verdict::no_room);
  EXPECT_EQ(change({{a, on(1, 4)}}), Verdict::no_room);
  EXPECT_EQ(change({{a, on(1, 4)}, {b, on(1, 4)}}), Verdict::no_change);
  EXPECT_EQ(change({{a}, {a}}), Verdict::victim_unneeded);
  EXPECT_EQ(change({}), Verdict::no_change);
  EXPECT_EQ(change({{a, on(1, 3)}, {b}}), Verdict::wrong_gang);
  EXPECT_EQ(change({{a}, {JobId{77}}}), Verdict::no_such_subject);
  for (const JobId job : {a, b, c}) EXPECT_EQ(h.phase(job), Phase::running);
  EXPECT_EQ(h.free_gpus(2), 2);
}

TEST_F(ChangeTest, KeepsTheRulesOnPauses) {
  HandYard strict(*parse_cluster_shorthand("2x4xV100"),
                  {.min_run = minutes(5), .max_pauses = 1, .min_stay = minutes(5)});
  const JobId a = strict.running(gang(4), 0);
  EXPECT_EQ(Plan(strict.yard).change(std::vector<JobChange>{{a, on(1, 4)}}),
            Verdict::victim_protected);
  strict.at(minutes(5));
  EXPECT_EQ(Plan(strict.yard).change(std::vector<JobChange>{{a, on(1, 4)}}), Verdict::ok);
  strict.tell(EventKind::drained, a);
  strict.tell(EventKind::loaded, a);
  strict.at(minutes(20));
  EXPECT_EQ(Plan(strict.yard).change(std::vector<JobChange>{{a}}), Verdict::victim_protected);
}

TEST_F(ChangeTest, WhatMovesMayLeaveSoonerThanWhatHasToWait) {
  const auto verdict = [](YardRules rules, Duration ran, const Placement& to) {
    HandYard yard(*parse_cluster_shorthand("2x4xV100"), rules);
    const JobId job = yard.running(gang(4), 0);
    yard.at(ran);
    return Plan(yard.yard).change(std::vector<JobChange>{{job, to}});
  };
  const YardRules rules{.min_run = minutes(10), .min_stay = minutes(2)};
  EXPECT_EQ(verdict(rules, minutes(1), on(1, 4)), Verdict::victim_protected);
  EXPECT_EQ(verdict(rules, minutes(2), on(1, 4)), Verdict::ok);
  EXPECT_EQ(verdict(rules, minutes(2), {}), Verdict::victim_protected);
  EXPECT_EQ(verdict(rules, minutes(10), {}), Verdict::ok);
  const YardRules soon{.min_run = {}, .min_stay = minutes(2)};
  EXPECT_EQ(verdict(soon, {}, on(1, 4)), Verdict::ok) << "no later than it may be paused";
  const YardRules never{.min_run = Duration::max()};
  EXPECT_EQ(verdict(never, hours(9), on(1, 4)), Verdict::victim_protected);
}

TEST_F(ChangeTest, WhoGaveWayTakesTurnsWithTheJobInWhoseFavourItWas) {
  const JobId a = h.running(gang(4), 0), waiter = h.submit(gang(4));
  must({{.job = a, .in_favour_of = waiter}});
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.phase(waiter), Phase::queued) << "it was paused, and no more";
  HandYard::must(h.start(waiter, on(0, 4)));
  h.tell(EventKind::loaded, waiter);
  EXPECT_EQ(h.make_room(a, on(0, 4), {waiter}), Verdict::victim_protected);
}

// --- What happens meanwhile ----------------------------------------------------------------------

TEST_F(ChangeTest, TheOthersGoOnWhenTheLeadIsCancelled) {
  const JobId a = h.running(gang(4), 0), b = h.running(gang(4), 1), c = h.running(gang(4), 2);
  h.orders();
  must({{a, on(1, 4)}, {b, on(2, 4)}, {c, on(0, 4)}});
  EXPECT_EQ(h.yard.lead_of(c), a);
  h.tell(EventKind::cancelled, a);
  EXPECT_EQ(h.yard.lead_of(c), b);
  EXPECT_EQ(h.orders(), "pause 0, pause 1, pause 2, stop 0");
  h.tell(EventKind::drained, b);
  h.tell(EventKind::drained, c);
  EXPECT_EQ(h.orders(), "start 1, start 2");
  EXPECT_EQ(h.free_gpus(1), 4);
}

TEST_F(ChangeTest, AJobWhoseNextMachineFailsQueuesWhenItHasLeft) {
  const JobId a = h.running(gang(4), 0), b = h.running(gang(4), 1);
  must({{a, on(2, 4)}, {b, on(0, 4)}});
  h.tell(EventKind::machine_down, MachineId{2});
  h.tell(EventKind::drained, a);
  EXPECT_EQ(h.phase(a), Phase::queued);
  h.tell(EventKind::drained, b);
  EXPECT_EQ(h.phase(b), Phase::starting);
  EXPECT_EQ(h.yard.placement(b), on(0, 4));
}

TEST_F(ChangeTest, AJobWhoseOwnMachineFailsGoesWhereItWasToGo) {
  const JobId a = h.running(gang(4), 0);
  must({{a, on(2, 4)}});
  h.orders();
  h.tell(EventKind::machine_down, MachineId{0});
  EXPECT_EQ(h.orders(), "stop 0, start 0");
  EXPECT_EQ(h.yard.placement(a), on(2, 4));
}

TEST_F(ChangeTest, IsKeptOverARestart) {
  const JobId a = h.running(gang(4), 0), b = h.running(gang(4), 1), c = h.submit(gang(2));
  must({{a, on(1, 4)}, {b, on(2, 4)}, {c, on(0, 2)}});
  std::vector<SavedJob> saved;
  for (const JobId job : {a, b, c}) saved.push_back(h.yard.save(job));
  Yard other(h.cluster, h.workload, h.yard.rules());
  ASSERT_EQ(other.restore(saved), Verdict::ok);
  for (const JobId job : {b, a})
    ASSERT_EQ(other.apply(Event::of(h.yard.now(), EventKind::drained, job)), Verdict::ok);
  for (const JobId job : {a, b, c}) EXPECT_EQ(other.state(job).phase, Phase::starting);
  EXPECT_EQ(other.placement(a), on(1, 4));
  EXPECT_EQ(other.placement(c), on(0, 2));
}

}  // namespace
}  // namespace trainyard
