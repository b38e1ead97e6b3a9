#include "policy/trial_rooms.h"

#include <gtest/gtest.h>

#include <array>

#include "policy/testing.h"

namespace trainyard {
namespace {

/// Two machines full of batch jobs of one GPU, each of which takes half a minute to leave.
class FullOfBatch : public HandPolicy {
 public:
  explicit FullOfBatch(const std::string& queue_patience = "never")
      : HandPolicy("2x8xV100",
                   "order=trial-first order.reentry=submission backfill=greedy preempt=fitgpp",
                   {"queue.trial_rooms=kept", "queue.trial_worth=100", "queue.trial_share=0",
                    "yard.min_run=0", "queue.patience=" + queue_patience}) {
    for (int i = 0; i < 16; ++i) submit(costly(gang(1, 1, hours(99)), seconds(30), {}, {}));
    decide();
  }

  /// A trial job comes, waits for half a minute, runs for as long, and leaves its GPU free.
  void have_a_trial_wait() {
    const JobId quick = submit(trial(gang(1, 1, seconds(30))));
    decide();
    must(phase(quick) == Phase::reserved ? Verdict::ok : Verdict::wrong_phase);
    const auto victim = JobId{leaving(*this).front()};
    at(yard.now() - Time{} + seconds(30));
    tell(EventKind::drained, victim);
    decide();
    at(yard.now() - Time{} + seconds(30));
    tell(EventKind::finished, quick);
    decide();
  }

  [[nodiscard]] JobId first_queued() const {
    std::uint32_t i = 0;
    while (phase(JobId{i}) != Phase::queued) ++i;
    return JobId{i};
  }
  [[nodiscard]] std::size_t queued() const {
    std::size_t n = 0;
    for (std::uint32_t i = 0; i < yard.jobs(); ++i) n += phase(JobId{i}) == Phase::queued;
    return n;
  }
};

TEST(TrialRooms, NothingIsKeptBeforeTrialJobsCameAndHadToWait) {
  FullOfBatch h;
  EXPECT_EQ(h.yard.free().of(kAnyKind).free_gpus, 0);
  h.have_a_trial_wait();
  EXPECT_EQ(h.queued(), 0U) << "how often trial jobs come is not known by one";
}

TEST(TrialRooms, WhatTrialJobsWaitedForIsKeptFreeForTheNext) {
  FullOfBatch h;
  for (int i = 0; i < 2; ++i) h.have_a_trial_wait();
  EXPECT_EQ(h.queued(), 1U) << "the job that the second paused";
  EXPECT_EQ(h.yard.free().of(kAnyKind).free_gpus, 1);
  const JobId held = h.first_queued();
  EXPECT_EQ(h.policy->explain(held).sentence, "room for 2 trial jobs of up to 1 GPU is kept free")
      << "an eighth of 16 GPUs";
  EXPECT_EQ(h.policy->explain(held).token, "priority");
  const JobId next = h.submit(trial(gang(1)));
  h.decide();
  EXPECT_EQ(h.phase(next), Phase::running);
  EXPECT_EQ(leaving(h).size(), 0U);
}

TEST(TrialRooms, TheRestOfTheClusterIsForAll) {
  FullOfBatch h;
  for (int i = 0; i < 2; ++i) h.have_a_trial_wait();
  const JobId held = h.first_queued();
  h.submit(gang(1));
  std::uint32_t ends = 0;
  for (int i = 0; i < 2; ++ends)
    if (h.phase(JobId{ends}) == Phase::running) h.tell(EventKind::finished, JobId{ends}), ++i;
  h.decide();
  EXPECT_EQ(h.phase(held), Phase::running) << "three GPUs are free, and two are kept";
  EXPECT_EQ(h.queued(), 1U);
}

TEST(TrialRooms, NothingIsKeptFromAJobThatCouldNotRunBesideIt) {
  FullOfBatch h;
  for (int i = 0; i < 2; ++i) h.have_a_trial_wait();
  ASSERT_EQ(h.queued(), 1U);
  const JobId all = h.submit(gang(8, 2, hours(1)));
  for (std::uint32_t i = 0; i < 16; ++i)
    if (h.phase(JobId{i}) == Phase::running) h.tell(EventKind::finished, JobId{i});
  h.tell(EventKind::cancelled, h.first_queued());
  h.decide();
  EXPECT_EQ(h.phase(all), Phase::running) << "it needs all 16 GPUs";
}

/// A trial job that asked for all CPUs of a machine is no measure of the rooms to keep.
TEST(TrialRooms, RoomsHaveNoMoreThanAnEighthOfAnything) {
  Cluster cluster = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 2\ngpus = 8\ncpus = 16\nmemory = \"64GiB\"\n", "test");
  HandPolicy h(std::move(cluster), "order=trial-first backfill=greedy",
               {"queue.trial_rooms=kept", "queue.trial_worth=100"});
  const auto with_cpus = [](Job job, std::int32_t cpus) {
    job.per_worker.milli_cpus = 1000 * cpus;
    return job;
  };
  for (int i = 0; i < 16; ++i) h.submit(with_cpus(gang(1, 1, hours(99)), 2));
  h.decide();
  for (int i = 0; i < 2; ++i) h.submit(trial(with_cpus(gang(1, 1, hours(1)), 16)));
  h.decide();
  h.at(minutes(1));
  for (std::uint32_t j = 0; j < 16; ++j) h.tell(EventKind::finished, JobId{j});
  h.decide();
  h.at(minutes(2));
  for (const std::uint32_t j : {16U, 17U}) h.tell(EventKind::finished, JobId{j});
  const JobId next = h.submit(with_cpus(gang(1, 1, hours(1)), 2));
  h.decide();
  EXPECT_EQ(h.phase(next), Phase::running) << h.policy->explain(next).sentence;
}

TEST(TrialRooms, AJobStartsAnywhereWhereWholeRoomsAreLeftElsewhere) {
  FullOfBatch h;
  for (int i = 0; i < 2; ++i) h.have_a_trial_wait();
  h.tell(EventKind::cancelled, h.first_queued());
  std::array<std::vector<JobId>, 2> on;
  for (std::uint32_t i = 0; i < 16; ++i)
    if (h.phase(JobId{i}) == Phase::running)
      on[index(h.yard.placement(JobId{i}).begin()->machine)].push_back(JobId{i});
  const std::size_t fuller = on[0].size() > on[1].size() ? 0 : 1;
  for (const JobId ends : on[fuller]) h.tell(EventKind::finished, ends);
  h.tell(EventKind::finished, on[1 - fuller].front());
  const JobId machine = h.submit(gang(1, 8, hours(1)));
  h.decide();
  EXPECT_EQ(h.phase(machine), Phase::running) << "the other machine has two rooms";
}

TEST(TrialRooms, ASilenceEndsIt) {
  FullOfBatch h;
  for (int i = 0; i < 2; ++i) h.have_a_trial_wait();
  ASSERT_EQ(h.queued(), 1U);
  for (int i = 0; i < 20 && h.queued() > 0 && h.wake != Time::never(); ++i) {
    h.at(h.wake - Time{});
    h.decide();
  }
  EXPECT_EQ(h.queued(), 0U);
  // 100 x 30 s / (silence / 4) against a second of the one job that waits.
  EXPECT_GT(h.yard.now(), Time{} + minutes(60));
  EXPECT_LT(h.yard.now(), Time{} + hours(8));
}

TEST(TrialRooms, WhoWaitedForTooLongTakesIt) {
  FullOfBatch h("10m");
  for (int i = 0; i < 2; ++i) h.have_a_trial_wait();
  ASSERT_EQ(h.queued(), 1U);
  h.at(minutes(15));
  h.decide();
  EXPECT_EQ(h.queued(), 0U);
}

TEST(TrialRooms, RoomsOfNoGpusThatADamagedListHasAreNotKept) {
  FullOfBatch h;
  const std::vector<double> of_no_gpus{60, 2, 60, 2, 20, 0, 1, 1, 1, 10, 0, 1, 1, 1};
  h.policy->recall({{"trial-rooms/any", of_no_gpus}}, h.yard.now());
  h.tell(EventKind::finished, JobId{3});
  const JobId next = h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phase(next), Phase::running);
}

TEST(TrialRooms, WhatWasLearntIsKnownToTheNextPolicy) {
  Learnt learnt;
  {
    FullOfBatch h;
    for (int i = 0; i < 2; ++i) h.have_a_trial_wait();
    h.policy->save_learnt(learnt);
  }
  ASSERT_TRUE(learnt.contains("trial-rooms/any"));
  learnt["trial-rooms/H100"] = learnt["trial-rooms/any"];  // a kind that is not there any more
  learnt["trial-rooms/V100"] = {1, 2, 3};                  // damaged
  FullOfBatch h;
  h.policy->recall(learnt, h.yard.now());
  h.tell(EventKind::finished, JobId{3});
  const JobId held = h.submit(gang(1));
  h.decide();
  EXPECT_EQ(h.phase(held), Phase::queued);
  Learnt again;
  h.policy->save_learnt(again);
  EXPECT_EQ(again["trial-rooms/any"], learnt["trial-rooms/any"]);
  EXPECT_FALSE(again.contains("trial-rooms/H100"));
}

TEST(TrialRooms, JobsThatAreTakenUpAreNoNewOnes) {
  const Learnt learnt{{"trial-rooms/any", {60, 2, 60, 2, 20, 1, 0, 0, 1, 10, 1, 0, 0, 1}}};
  HandPolicy h("2x8xV100", "order=trial-first",
               {"queue.trial_rooms=kept", "queue.trial_worth=100"});
  h.policy->recall(learnt, Time{} + hours(1));
  h.at(minutes(30));
  h.submit(trial(gang(1)));
  h.decide();
  h.at(hours(1));
  Learnt again;
  h.policy->save_learnt(again);
  EXPECT_EQ(again["trial-rooms/any"], learnt.at("trial-rooms/any"));
  h.at(hours(2));
  h.submit(trial(gang(1)));
  h.policy->save_learnt(again);
  EXPECT_EQ(again["trial-rooms/any"].size(), learnt.at("trial-rooms/any").size() + 5);
}

}  // namespace
}  // namespace trainyard
