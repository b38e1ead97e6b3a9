// Why a job waits: the sentences, word for word.
#include <gtest/gtest.h>

#include "policy/testing.h"

namespace trainyard {
namespace {

std::string sentence(const HandPolicy& h, JobId job) {
  return h.policy->explain(job).sentence;
}

TEST(Explain, TheFirstLacksGpus) {
  HandPolicy h("1x8xV100", "fifo");
  h.submit(gang(6, 1, hours(2)));
  const JobId job = h.submit(gang(4));
  h.decide();
  const WaitReason reason = h.policy->explain(job);
  EXPECT_EQ(reason.token, "resources");
  EXPECT_EQ(reason.sentence, "needs 4 GPUs; 2 free");
  EXPECT_EQ(reason.place, 1U);
  EXPECT_EQ(reason.expected_start, Time{} + hours(2));
}

TEST(Explain, TheFirstLacksGpusOnOneMachine) {
  HandPolicy h("2x8xV100", "fifo");
  h.submit(gang(1, 6)), h.submit(gang(1, 3));
  const JobId job = h.submit(gang(1, 7));
  h.decide();
  EXPECT_EQ(sentence(h, job), "needs 7 GPUs on one machine; the most free is 5 on r0m1");
}

TEST(Explain, TheFirstLacksGpusOfAKind) {
  HandPolicy h(*parse_cluster_toml("[[rack]]\n[[rack.machine]]\nkind = \"V100\"\n"
                                   "[[rack.machine]]\nkind = \"T4\"\ngpus = 4\n",
                                   "test"),
               "fifo");
  h.workload.kinds.add("T4");
  Job job = gang(2, 2);
  job.kind = KindId{0};
  h.submit(job);
  const JobId second = h.submit(job);
  h.decide();
  EXPECT_EQ(sentence(h, second), "needs 2 workers of 2 GPUs of kind T4; 0 free");
}

TEST(Explain, TheFirstLacksCpusOrMemory) {
  HandPolicy h("1x8xV100", "fifo");
  Job job = gang(2);
  job.per_worker.milli_cpus = 40'000, job.per_worker.memory_mib = 1024;
  h.submit(job);
  const JobId second = h.submit(job);
  h.decide();
  EXPECT_EQ(sentence(h, second),
            "needs 2 GPUs, with 40 CPUs and 1GiB each; there is room for 0 workers");
}

TEST(Explain, TheFirstWaitsForFewMachines) {
  HandPolicy h("2x8xV100", "place=consolidate");
  h.submit(gang(6)), h.submit(gang(6));
  const JobId job = h.submit(gang(4));
  h.decide();
  EXPECT_EQ(sentence(h, job),
            "needs 4 GPUs on at most 1 machine; there is room for 2 workers there");
}

TEST(Explain, TheFirstsShortageIsToldByItsOwnLimitOfMachines) {
  HandPolicy h("2x8xV100", "place=consolidate");
  h.submit(gang(6)), h.submit(gang(6)), h.submit(gang(4));
  const JobId behind = h.submit(gang(2));
  h.decide();
  EXPECT_EQ(sentence(h, behind),
            "behind job 2 (needs 4 GPUs on at most 1 machine; there is room for 2 workers there)");
}

TEST(Explain, TheOthersAreBehindTheFirst) {
  HandPolicy h("1x8xV100", "fifo");
  h.submit(gang(6)), h.submit(gang(4));
  const JobId fits = h.submit(gang(1)), does_not = h.submit(gang(3));
  h.decide();
  EXPECT_EQ(h.policy->explain(fits).token, "priority");
  EXPECT_EQ(sentence(h, fits), "behind job 1 (needs 4 GPUs; 2 free)");
  EXPECT_EQ(h.policy->explain(does_not).token, "resources");
  EXPECT_EQ(sentence(h, does_not), "needs 3 GPUs; 2 free; behind job 1 (needs 4 GPUs; 2 free)");
  EXPECT_EQ(h.policy->explain(does_not).place, 3U);
  EXPECT_EQ(h.policy->explain(does_not).expected_start, Time{} + hours(1)) << "beside 4 and 1";
}

TEST(Explain, JobsAreCalledByTheirNames) {
  HandPolicy h("1x8xV100", "fifo");
  h.workload.names = {"warm-up", "big", "small"};
  h.submit(gang(6)), h.submit(gang(4)), h.submit(gang(1));
  h.decide();
  EXPECT_EQ(sentence(h, JobId{2}), "behind job big (needs 4 GPUs; 2 free)");
}

TEST(Explain, AReservationMustNotBeDelayed) {
  HandPolicy h("1x8xV100", "fifo-easy");
  h.submit(gang(6, 1, hours(2))), h.submit(gang(8));
  const JobId later = h.submit(gang(1, 1, hours(3)));
  h.decide();
  EXPECT_EQ(h.policy->explain(later).token, "reservation");
  EXPECT_EQ(sentence(h, later), "would delay job 1, which is to start in 2h at the latest");
}

TEST(Explain, HowLongItCanWait) {
  HandPolicy h("1x8xV100", "backfill=greedy", {"queue.patience=3h"});
  h.submit(gang(6, 1, hours(9)));
  const JobId job = h.submit(gang(4));
  h.decide();
  EXPECT_EQ(sentence(h, job),
            "needs 4 GPUs; 2 free; goes before all others once it has waited for 3h");
  h.at(hours(3) + seconds(1));
  h.decide();
  EXPECT_EQ(sentence(h, job),
            "needs 4 GPUs; 2 free; goes before all others, as it has waited for longer than 3h");
}

TEST(Explain, WhenAnotherOverdueJobGoesFirst) {
  HandPolicy h("1x8xV100", "order=srtf backfill=greedy",
               {"queue.patience=1h", "queue.overdue_share=0.5"});
  const JobId runs = h.submit(gang(8, 1, hours(4)));
  h.decide();
  const JobId first = h.submit(gang(4, 1, hours(9))), next = h.submit(gang(8, 1, hours(9)));
  h.at(hours(4));
  h.tell(EventKind::finished, runs);
  h.decide();
  EXPECT_EQ(h.phase(first), Phase::running);
  EXPECT_EQ(sentence(h, next),
            "needs 8 GPUs; 4 free; goes before all others in 2h at the soonest, as it has waited "
            "for longer than 1h");
}

TEST(Explain, WhatASecondOfItIsWorth) {
  HandPolicy h("1x8xV100", "order=smith", {"queue.fair_wait=2", "queue.trial_worth=10"});
  h.submit(gang(8, 1, hours(9)));
  h.decide();
  const JobId first = h.submit(trial(gang(1))), batch = h.submit(gang(1));
  h.decide();
  EXPECT_EQ(sentence(h, first),
            "needs 1 GPU; 0 free; each of its seconds counts 10 times, as it acts as a trial job; "
            "goes before all others once it has waited for 18h 30m");
  EXPECT_EQ(sentence(h, batch),
            "needs 1 GPU; 0 free; behind job 1 (needs 1 GPU; 0 free); goes before all others once "
            "it has waited for 18h 30m");
}

TEST(Explain, ItDecidesWhenAllWorkIsDone) {
  HandPolicy h("1x4xV100", "order=smith", {"queue.critical=first"});
  h.submit(gang(4, 1, hours(1)));
  h.decide();
  const JobId longest = h.submit(gang(1, 1, hours(8)));
  h.at(minutes(30));
  h.decide();
  EXPECT_EQ(sentence(h, longest),
            "needs 1 GPU; 0 free; each of its seconds counts 10000 times, as all other work could "
            "be done before it");
}

TEST(Explain, ItsRoomIsBeingMade) {
  HandPolicy h("1x8xV100", "srtf", {"yard.min_run=0"});
  for (int i = 0; i < 2; ++i) h.submit(costly(gang(4, 1, hours(9)), minutes(1), minutes(4), {}));
  h.decide();
  h.at(hours(1));
  const JobId one = h.submit(gang(3, 1, hours(1)));
  h.decide();
  const WaitReason reason = h.policy->explain(one);
  EXPECT_EQ(reason.token, "room-being-made");
  EXPECT_EQ(reason.sentence, "its room on 1 machine is being made: 1 job has to save and leave");
  EXPECT_EQ(reason.place, 0U);
  EXPECT_EQ(reason.expected_start, Time{} + minutes(65));
}

TEST(Explain, WhoDoesNotWaitIsToldSo) {
  HandPolicy h("1x8xV100", "fifo");
  const JobId job = h.submit(gang(1));
  h.decide();
  EXPECT_EQ(sentence(h, job), "job 0 does not wait: it is running");
}

TEST(Explain, BeforeTheFirstDecision) {
  HandPolicy h("1x8xV100", "fifo");
  const JobId first = h.submit(gang(1)), second = h.submit(gang(1));
  EXPECT_EQ(sentence(h, first), "is next, and waits for the decision");
  EXPECT_EQ(sentence(h, second), "behind job 0");
}

}  // namespace
}  // namespace trainyard
