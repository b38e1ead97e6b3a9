// Who may act as a trial job, by hand and against books kept second by second.
#include "policy/trial_rights.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

struct Rights final : YardListener {
  Rights(Yard& yard, TrialRights::Limit limit) : rights(yard, limit) { yard.listen(*this); }
  void on_phase(JobId job, Phase from, Phase to) override {
    rights.on_phase(job, from, to, changed);
  }
  TrialRights rights;
  std::vector<JobId> changed;
};

/// Users have names; without one there is no allowance.
void name_users(HandYard& h) {
  h.workload.users.add("ada");
}

Job by(std::uint32_t user, Job job) {
  job.user = UserId{user};
  return job;
}

TEST(TrialRights, WithoutALimitEveryTrialJobHasThem) {
  HandYard h("1x8xV100");
  name_users(h);
  Rights r(h.yard, {0, hours(1)});
  const JobId a = h.submit(trial(gang(8))), b = h.submit(gang(1)), c = h.submit(trial(gang(8)));
  EXPECT_TRUE(r.rights.acts_as_trial(a));
  EXPECT_FALSE(r.rights.acts_as_trial(b));
  EXPECT_TRUE(r.rights.acts_as_trial(c));
}

TEST(TrialRights, WithoutUsersThereIsNoAllowance) {
  HandYard h("1x8xV100");
  Rights r(h.yard, {0.01, hours(1)});
  const JobId first = h.submit(trial(gang(8)));
  HandYard::must(h.start(first, on(0, 8)));
  h.at(days(9));
  EXPECT_TRUE(r.rights.acts_as_trial(h.submit(trial(gang(8)))));
  EXPECT_EQ(r.rights.next_change(), Time::never());
}

TEST(TrialRights, TheExampleOfTheHeader) {
  HandYard h("10x8xV100");
  name_users(h);
  Rights r(h.yard, {0.25, hours(1)});
  for (std::uint32_t user = 1; user < 10; ++user) h.submit(by(user, gang(8)));
  std::vector<JobId> jobs;
  for (std::uint32_t i = 0; i < 4; ++i) jobs.push_back(h.submit(by(0, trial(gang(4)))));
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(r.rights.acts_as_trial(jobs[i])) << i;
    HandYard::must(h.start(jobs[i], on(i, 4)));
    h.tell(EventKind::loaded, jobs[i]);
  }
  EXPECT_FALSE(r.rights.acts_as_trial(jobs[3])) << "2 GPU hours are 10 min of 12 GPUs";
  EXPECT_EQ(r.changed.back(), jobs[3]);
  h.at(minutes(5));
  for (std::uint32_t i = 0; i < 3; ++i) h.tell(EventKind::finished, jobs[i]);
  EXPECT_TRUE(r.rights.acts_as_trial(jobs[3]));
}

TEST(TrialRights, AJobKeepsWhatItStartedWith) {
  HandYard h("1x8xV100");
  name_users(h);
  Rights r(h.yard, {0.1, minutes(10)});
  const JobId job = h.running(trial(gang(8, 1, hours(9))), 0);
  const JobId next = h.submit(trial(gang(1)));
  EXPECT_TRUE(r.rights.acts_as_trial(job));
  EXPECT_FALSE(r.rights.acts_as_trial(next));
  h.at(hours(8));
  r.rights.refresh(r.changed);
  EXPECT_TRUE(r.rights.acts_as_trial(job));
  h.tell(EventKind::finished, job);
  EXPECT_FALSE(r.rights.acts_as_trial(next)) << "64 GPU hours are owed";
  // 0.8 GPU hours an hour pay them back.
  const Time back = r.rights.next_change();
  EXPECT_NEAR((back - h.yard.now()).seconds(), (64.0 - 0.8 * 8 - 0.8 / 6) / 0.8 * 3600, 1);
  h.at(back - Time{} - seconds(1));
  r.rights.refresh(r.changed);
  EXPECT_FALSE(r.rights.acts_as_trial(next));
  h.at(back - Time{});
  r.rights.refresh(r.changed);
  EXPECT_TRUE(r.rights.acts_as_trial(next));
}

/// One user, allowance counted up second by second.
TEST(TrialRights, AgreeWithBooksKeptBySeconds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    HandYard h("4x8xV100");
    name_users(h);
    const double share = 0.05 * static_cast<double>(1 + random.below(10));
    Rights r(h.yard, {share, minutes(30)});
    const double full = share * 32 * 1800;
    double allowance = full;  // GPU seconds
    std::int64_t held = 0;
    std::vector<JobId> running;
    JobId waiting = h.submit(trial(gang(1 + static_cast<std::int32_t>(random.below(8)))));
    for (std::int64_t s = 1; s <= 4000; ++s) {
      allowance = std::min(full, allowance + share * 32 - static_cast<double>(held));
      h.at(seconds(s));
      r.rights.refresh(r.changed);
      const double margin = allowance - static_cast<double>(held) * 600;
      if (std::abs(margin) > 1e-3) {
        ASSERT_EQ(r.rights.acts_as_trial(waiting), margin > 0) << "seed " << seed << " at " << s;
      }
      if (!running.empty() && random.below(60) == 0) {
        h.tell(EventKind::finished, running.back());
        held -= h.yard.job(running.back()).gpus();
        running.pop_back();
      } else if (running.size() < 4 && random.below(60) == 0) {
        const std::int32_t gpus = h.yard.job(waiting).gpus();
        if (r.rights.acts_as_trial(waiting))
          held += gpus;
        else
          continue;
        for (std::uint32_t m = 0; m < 4; ++m)
          if (h.phase(waiting) == Phase::queued && h.free_gpus(m) >= gpus)
            HandYard::must(h.start(waiting, on(m, gpus)));
        h.tell(EventKind::loaded, waiting);
        running.push_back(waiting);
        waiting = h.submit(trial(gang(1 + static_cast<std::int32_t>(random.below(8)))));
      }
    }
  }
}

TEST(TrialFirst, TrialJobsGoFirstAndThePausedBeforeTheRest) {
  HandPolicy h("1x8xV100", "fitgpp", {"yard.min_run=0", "queue.trial_share=0"});
  name_users(h);
  const JobId first = h.submit(gang(8));
  h.decide();
  const JobId second = h.submit(gang(8));
  h.at(minutes(1));
  const JobId quick = h.submit(trial(gang(8)));
  h.decide();
  ASSERT_EQ(h.phase(first), Phase::draining);
  h.tell(EventKind::drained, first);
  h.tell(EventKind::loaded, quick);
  h.tell(EventKind::finished, quick);
  h.decide();
  EXPECT_EQ(h.phase(first), Phase::running);
  EXPECT_EQ(h.phase(second), Phase::queued);
}

TEST(TrialFirst, ReentryAtTheTail) {
  HandPolicy h("1x8xV100", "fitgpp",
               {"yard.min_run=0", "queue.trial_share=0", "order.reentry=tail"});
  name_users(h);
  const JobId first = h.submit(gang(8));
  h.decide();
  const JobId second = h.submit(gang(8));
  h.at(minutes(1));
  const JobId quick = h.submit(trial(gang(8)));
  h.decide();
  h.tell(EventKind::drained, first);
  h.tell(EventKind::loaded, quick);
  h.tell(EventKind::finished, quick);
  h.decide();
  EXPECT_EQ(h.phase(first), Phase::queued);
  EXPECT_EQ(h.phase(second), Phase::running);
}

TEST(TrialFirst, WhoseShareIsUsedUpWaitsAsABatchJob) {
  HandPolicy h("1x8xV100", "fitgpp", {"yard.min_run=0", "queue.trial_share=0.1"});
  name_users(h);
  const JobId batch = h.submit(by(1, gang(4, 1, hours(9))));
  h.decide();
  const JobId greedy = h.submit(by(0, trial(gang(4, 1, hours(9)))));
  h.decide();
  ASSERT_EQ(h.phase(greedy), Phase::running);
  h.at(hours(1));
  const JobId more = h.submit(by(0, trial(gang(4))));
  h.decide();
  EXPECT_EQ(h.phase(more), Phase::queued);
  EXPECT_EQ(h.phase(batch), Phase::running);
  EXPECT_NE(h.policy->explain(more).sentence.find("share"), std::string::npos)
      << h.policy->explain(more).sentence;
  const JobId honest = h.submit(by(1, trial(gang(2))));
  h.decide();
  EXPECT_EQ(h.phase(honest), Phase::reserved) << "another user's trial job pauses the batch job";
}

}  // namespace
}  // namespace trainyard
