// Whom FitGpp chooses, on yards made by hand.
#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/preempt/learnt_pause.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

const std::vector<std::string> kBare{"yard.min_run=0", "queue.trial_share=0"};

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.end(), kBare.begin(), kBare.end());
  return more;
}

/// 8 GPUs, 32 CPUs and 256 GiB each.
Cluster machines(int count) {
  return *parse_cluster_toml(
      fmt::format("[[rack]]\n[[rack.machine]]\ncount = {}\ngpus = 8\nkind = \"V100\"\ncpus = "
                  "32\nmemory = 256\n",
                  count),
      "test");
}

Job job_of(Resources demand, Duration grace) {
  Job job = costly(gang(1, demand.gpus, hours(9)), grace, {}, {});
  job.per_worker = demand;
  return job;
}

Job batch(std::int32_t gpus, Duration grace) {
  return job_of({gpus, gpus * 4000, gpus * 32 * 1024}, grace);
}

Job small_trial(std::int32_t gpus) {
  return trial(batch(gpus, {}));
}

TEST(FitGpp, AShortPauseOutweighsASmallSize) {
  // The example of fitgpp.cpp: sizes 0.5 and 0.25 of the largest, pauses 60 and 120 s.
  HandPolicy h(machines(1), "fitgpp", kBare);
  h.submit(batch(4, seconds(60)));
  h.submit(batch(2, seconds(120)));
  h.submit(trial(batch(2, {})));
  h.decide();
  h.submit(small_trial(2));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{0U});
}

TEST(FitGpp, WithoutWeightOfThePauseTheSmallestLeaves) {
  HandPolicy h(machines(1), "fitgpp", with({"preempt.s=0"}));
  h.submit(batch(4, seconds(60)));
  h.submit(batch(2, seconds(120)));
  h.submit(trial(batch(2, {})));
  h.decide();
  h.submit(small_trial(2));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{1U});
}

TEST(FitGpp, OnlyWhoseLeavingSufficesInEveryResource) {
  HandPolicy h(machines(2), "fitgpp", kBare);
  h.submit(job_of({1, 2000, 1024}, seconds(1)));          // cheapest, but too few CPUs
  h.submit(job_of({7, 30'000, 255 * 1024}, seconds(9)));  // with it m0 is full
  h.submit(job_of({4, 16'000, 1024}, seconds(5)));        // on m1; too little memory
  h.submit(job_of({4, 16'000, 255 * 1024}, seconds(8)));
  h.decide();
  ASSERT_EQ(h.phases(), "running running running running");
  h.submit(trial(job_of({1, 8000, 64 * 1024}, {})));
  h.decide();
  EXPECT_EQ(leaving(h), std::vector{3U});
}

TEST(FitGpp, NobodyGivesWayMoreThanPTimes) {
  HandPolicy h(machines(1), "fitgpp", with({"preempt.fallback=none"}));
  h.submit(batch(8, {}));
  h.decide();
  const JobId first = h.submit(small_trial(8));
  h.decide();
  ASSERT_EQ(leaving(h), std::vector{0U});
  h.tell(EventKind::drained, JobId{0});
  h.tell(EventKind::loaded, first);
  h.tell(EventKind::finished, first);
  h.decide();
  ASSERT_EQ(h.phase(JobId{0}), Phase::running);
  h.submit(small_trial(8));
  h.decide();
  EXPECT_TRUE(leaving(h).empty()) << "P = 1";
}

TEST(FitGpp, PBindsTheFallbackOnlyWhereAsked) {
  for (const bool kept : {false, true}) {
    HandPolicy h(machines(1), "fitgpp",
                 with({fmt::format("preempt.fallback_P={}", kept ? "kept" : "ignored")}));
    h.submit(batch(8, {}));
    h.decide();
    const JobId first = h.submit(small_trial(8));
    h.decide();
    h.tell(EventKind::drained, JobId{0});
    h.tell(EventKind::loaded, first);
    h.tell(EventKind::finished, first);
    h.decide();
    h.submit(small_trial(8));
    h.decide();
    EXPECT_EQ(leaving(h).empty(), kept);
  }
}

TEST(FitGpp, WhereNoneSufficesAloneASetIsDrawnThatDoes) {
  HandPolicy h(machines(1), "fitgpp", kBare);
  for (int i = 0; i < 4; ++i) h.submit(batch(2, minutes(1)));
  h.decide();
  h.submit(small_trial(4));
  h.decide();
  EXPECT_EQ(leaving(h).size(), 2U);
  EXPECT_EQ(h.phase(JobId{4}), Phase::reserved);
  h.submit(small_trial(8));
  h.decide();
  EXPECT_EQ(leaving(h).size(), 2U) << "all that is left would not be enough";
  EXPECT_EQ(h.refused, 0U);
}

TEST(FitGpp, TheLiteralRulePausesOneAndLooksAgain) {
  HandPolicy h(machines(1), "fitgpp", with({"preempt.fallback=literal"}));
  for (int i = 0; i < 4; ++i) h.submit(batch(2, minutes(1)));
  h.decide();
  const JobId waiter = h.submit(small_trial(5));
  h.decide();
  ASSERT_EQ(leaving(h).size(), 1U);
  EXPECT_EQ(h.phase(waiter), Phase::queued);
  h.decide();
  ASSERT_EQ(leaving(h).size(), 1U) << "no second while the first leaves";
  h.tell(EventKind::drained, JobId{leaving(h).front()});
  h.decide();
  ASSERT_EQ(leaving(h).size(), 1U) << "the next, and nobody takes what the first left";
  h.tell(EventKind::drained, JobId{leaving(h).front()});
  h.decide();
  EXPECT_EQ(h.phase(waiter), Phase::reserved) << "4 of 5 are free: now one will do";
  EXPECT_EQ(leaving(h).size(), 1U);
  EXPECT_EQ(h.refused, 0U);
}

TEST(FitGpp, AGangTakesTheSetWithTheLeastSummedScore) {
  // Three machines, full: pauses 9 | 4, 4 | 2, 8 minutes of 8 | 4, 4 | 4, 4 GPUs. For 2 workers of
  // 4 GPUs, the whole of the first costs 1 + 4; two of the others, 4 and 2 minutes, 1 + 4 * 6/9.
  HandPolicy h(machines(3), "fitgpp", kBare);
  h.submit(batch(8, minutes(9)));
  for (const int pause : {4, 4, 2, 8}) h.submit(batch(4, minutes(pause)));
  h.decide();
  ASSERT_EQ(h.phases(), "running running running running running");
  Job wide = trial(batch(4, {}));
  wide.workers = wide.min_workers = wide.max_workers = 2;
  const JobId waiter = h.submit(wide);
  h.decide();
  EXPECT_EQ(leaving(h), (std::vector{2U, 3U}));
  EXPECT_EQ(h.yard.placement(waiter).size(), 2U);
  EXPECT_EQ(h.refused, 0U);
}

TEST(FitGpp, AVictimOnTwoMachinesSparesTheOther) {
  // A holds half of both machines, B and C the rest of one each. For two workers of 2 GPUs, A on
  // the first and C on the second machine cost least, and A alone will do.
  HandPolicy h("2x4xV100", "fitgpp", kBare);
  h.running(costly(gang(4, 1, hours(9)), minutes(2), {}, {}),
            {{MachineId{0}, 2}, {MachineId{1}, 2}});
  h.running(costly(gang(2, 1, hours(9)), minutes(9), {}, {}), 0);
  h.running(costly(gang(2, 1, hours(9)), minutes(1), {}, {}), 1);
  const JobId waiter = h.submit(trial(gang(2, 2)));
  h.decide();
  EXPECT_EQ(h.phase(waiter), Phase::reserved);
  EXPECT_EQ(leaving(h), std::vector{0U});
  EXPECT_EQ(h.refused, 0U);
}

TEST(FitGpp, NormalisingOverCandidatesCanChangeTheChoice) {
  // A giant on a machine of another kind is no candidate, but makes all others look small.
  const auto choose = [](const std::string& over) {
    HandPolicy h(*parse_cluster_toml("[[rack]]\n[[rack.machine]]\ngpus = 8\nkind = \"A\"\n"
                                     "[[rack.machine]]\ncount = 2\ngpus = 8\nkind = \"B\"\n",
                                     "test"),
                 "fitgpp", with({"preempt.s=1", "preempt.normalise=" + over}));
    h.workload.kinds.add("A");
    h.workload.kinds.add("B");
    const auto submit = [&](Job job, std::uint16_t kind) {
      job.kind = KindId{kind};
      h.submit(job);
    };
    submit(costly(gang(1, 8, hours(9)), minutes(100), {}, {}), 0);
    submit(costly(gang(1, 5, hours(9)), minutes(1), {}, {}), 1);
    submit(costly(gang(1, 4, hours(9)), minutes(2), {}, {}), 1);
    h.decide();
    submit(trial(gang(1, 3)), 1);
    submit(trial(gang(1, 4)), 1);
    h.decide();
    EXPECT_EQ(h.phases(), "running running running running running");
    submit(trial(gang(1, 2)), 1);
    h.decide();
    return leaving(h);
  };
  // Of all: 5/8 + 1/100 against 4/8 + 2/100. Of candidates: 1 + 1/2 against 4/5 + 1.
  EXPECT_EQ(choose("all"), std::vector{2U});
  EXPECT_EQ(choose("candidates"), std::vector{1U});
}

TEST(LearntPause, OwnPausesThenThoseOfLikeJobsThenWhatWasDeclared) {
  HandYard h(machines(2));
  LearntPause learnt;
  struct Listener final : YardListener {
    Listener(Yard& y, LearntPause& l) : yard(y), learnt(l) { y.listen(*this); }
    void on_phase(JobId job, Phase from, Phase to) override {
      learnt.on_phase(yard, job, from, to);
    }
    Yard& yard;
    LearntPause& learnt;
  } listener(h.yard, learnt);
  Job lies = batch(8, minutes(2));
  lies.declared_pause = hours(1);
  const JobId a = h.running(lies, 0);
  const JobId like = h.submit(lies);
  lies.user = UserId{1};
  const JobId other = h.submit(lies);
  EXPECT_EQ(learnt.expected(h.yard, a), hours(1));
  const JobId waiter = h.submit(small_trial(8));
  HandYard::must(h.make_room(waiter, on(0, 1), {a}));
  h.at(minutes(3));
  h.tell(EventKind::drained, a);
  EXPECT_EQ(learnt.expected(h.yard, a), minutes(3));
  EXPECT_EQ(learnt.expected(h.yard, like), minutes(3));
  EXPECT_EQ(learnt.expected(h.yard, other), hours(1));
}

TEST(FitGpp, ALearntPauseOutranksADeclaredOne) {
  // Both were paused once. The first says an hour and took a minute; the second the other way.
  for (const bool learns : {false, true}) {
    HandPolicy h(
        machines(2), "fitgpp",
        with({fmt::format("preempt.pause={}", learns ? "learnt" : "declared"), "preempt.P=9"}));
    Job slow_by_word = batch(8, minutes(1)), quick_by_word = batch(8, minutes(60));
    slow_by_word.declared_pause = minutes(60);
    quick_by_word.declared_pause = minutes(1);
    quick_by_word.user = UserId{1};
    h.submit(slow_by_word);
    h.submit(quick_by_word);
    h.decide();
    const JobId t0 = h.submit(small_trial(8)), t1 = h.submit(small_trial(8));
    h.decide();
    h.at(minutes(1));
    h.tell(EventKind::drained, JobId{0});
    h.at(minutes(60));
    h.tell(EventKind::drained, JobId{1});
    for (const JobId job : {t0, t1}) h.tell(EventKind::loaded, job);
    for (const JobId job : {t0, t1}) h.tell(EventKind::finished, job);
    h.decide();
    h.submit(small_trial(8));
    h.decide();
    EXPECT_EQ(leaving(h), std::vector{learns ? 0U : 1U});
  }
}

}  // namespace
}  // namespace trainyard
