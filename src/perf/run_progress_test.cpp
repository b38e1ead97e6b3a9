#include "perf/run_progress.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace trainyard {
namespace {

Job with_checkpoints(Duration interval, Duration cost) {
  Job job;
  job.checkpoint_interval = interval;
  job.checkpoint_cost = cost;
  return job;
}

RunProgress after(const Job& job, Duration elapsed, Rate rate = {}) {
  return progress_at(begin_progress({}, {}, rate), job, Time{} + elapsed);
}

TEST(RunProgress, TheExampleOfTheHeader) {
  const Job job = with_checkpoints(minutes(10), minutes(1));
  EXPECT_EQ(run_time(job, minutes(25)), minutes(27));
  EXPECT_EQ(after(job, minutes(12)).done, minutes(11));
  EXPECT_EQ(after(job, minutes(12)).saved, minutes(10));
  EXPECT_EQ(run_time(job, minutes(25), Rate::taking(1.5)), seconds(2250) + minutes(2));
  RunProgress slower = after(job, minutes(5));
  slower.rate = Rate::taking(2);
  EXPECT_EQ(time_for(slower, job, minutes(20)), minutes(42));
}

TEST(RunProgress, NoCheckpointAtTheVeryEnd) {
  const Job job = with_checkpoints(minutes(10), minutes(1));
  EXPECT_EQ(run_time(job, minutes(10)), minutes(10));
  EXPECT_EQ(run_time(job, minutes(20)), minutes(21));
  EXPECT_EQ(run_time(job, Duration{}), Duration{});
}

TEST(RunProgress, ACheckpointCountsOnlyOnceWritten) {
  const Job job = with_checkpoints(minutes(10), minutes(1));
  EXPECT_EQ(after(job, minutes(11) - microseconds(1)).saved, Duration{});
  EXPECT_EQ(after(job, minutes(11)).saved, minutes(10));
  EXPECT_EQ(after(job, minutes(10) + seconds(30)).done, minutes(10));
}

TEST(RunProgress, WithoutCheckpointsTimeIsWorkAndNothingIsSaved) {
  const Job job = with_checkpoints({}, minutes(1));
  EXPECT_EQ(run_time(job, hours(3)), hours(3));
  EXPECT_EQ(after(job, hours(3)).done, hours(3));
  EXPECT_EQ(after(job, hours(3)).saved, Duration{});
}

TEST(RunProgress, AnAbsurdCostEndsAtTheEndOfTime) {
  const Job job = with_checkpoints(microseconds(1), kLongestDuration);
  EXPECT_EQ(run_time(job, hours(1)), Duration::max());
}

TEST(RunProgress, StandsStillAtNoRate) {
  const Job job = with_checkpoints(minutes(10), minutes(1));
  for (const Job& any : {job, with_checkpoints({}, {})}) {
    EXPECT_EQ(after(any, hours(100), Rate::stopped()).done, Duration{});
    EXPECT_EQ(run_time(any, microseconds(1), Rate::stopped()), Duration::max());
    EXPECT_EQ(run_time(any, Duration{}, Rate::stopped()), Duration{});
  }
}

TEST(RunProgress, ACheckpointThatIsBeingWrittenIsNotSlowed) {
  const Job job = with_checkpoints(minutes(10), minutes(4));
  RunProgress half_written = after(job, minutes(12));
  half_written.rate = Rate::taking(3);
  EXPECT_EQ(half_written.writing, minutes(2));
  EXPECT_EQ(time_for(half_written, job, minutes(1)), minutes(2 + 3));
  const RunProgress written = progress_at(half_written, job, Time{} + minutes(14));
  EXPECT_EQ(written.saved, minutes(10));
  EXPECT_EQ(written.writing, Duration{});
  half_written.rate = Rate::stopped();
  EXPECT_EQ(progress_at(half_written, job, Time{} + minutes(14)).saved, minutes(10));
}

/// A job that works a microsecond at a time, each unit of work taking `pace` of them; what was
/// begun of a unit is lost when the pace changes.
struct Stepped {
  Duration done, saved, writing;
  std::int64_t pace = 1, begun = 0;

  void step(const Job& job) {
    if (writing.us > 0) {
      writing -= microseconds(1);
      if (writing.us == 0) saved = done;
      return;
    }
    if (++begun < pace) return;
    begun = 0;
    done += microseconds(1);
    if (done.us % job.checkpoint_interval.us == 0) {
      writing = job.checkpoint_cost;
      if (writing.us == 0) saved = done;
    }
  }
};

TEST(RunProgress, AgreesWithAStepByStepSimulationWhileTheRateChanges) {
  constexpr std::uint64_t kSeed = 7;
  Random random(kSeed);
  for (int round = 0; round < 200; ++round) {
    const Job job = with_checkpoints(microseconds(1 + static_cast<std::int64_t>(random.below(9))),
                                     microseconds(static_cast<std::int64_t>(random.below(5))));
    SCOPED_TRACE(testing::Message()
                 << "round " << round << " of seed " << kSeed << ": interval "
                 << job.checkpoint_interval.us << ", cost " << job.checkpoint_cost.us);
    const bool changes = round % 2 == 1;
    Stepped stepped;
    RunProgress progress;
    std::vector<std::pair<Duration, Time>> expected;  // work, and when it is to be done
    for (Time now; now.us < 100; now = now + microseconds(1)) {
      const RunProgress so_far = progress_at(progress, job, now);
      ASSERT_EQ(so_far.done, stepped.done) << now.us;
      ASSERT_EQ(so_far.saved, stepped.saved) << now.us;
      for (const auto& [work, when] : expected) {
        if (when == now) {
          ASSERT_EQ(stepped.done, work) << now.us;
        }
      }
      if (changes && random.below(8) == 0) {
        stepped.pace = 1 + static_cast<std::int64_t>(random.below(4));
        stepped.begun = 0;
        progress = so_far;
        progress.rate = Rate::taking(static_cast<double>(stepped.pace));
        expected.clear();
        for (std::int64_t more = 1; more < 20; ++more)
          expected.emplace_back(so_far.done + microseconds(more),
                                now + time_for(progress, job, microseconds(more)));
      }
      stepped.step(job);
    }
  }
}

TEST(Rate, RoundsSoThatNoWorkIsDoneBeforeItsTime) {
  constexpr std::uint64_t kSeed = 8;
  Random random(kSeed);
  for (int round = 0; round < 1000; ++round) {
    const Rate rate = Rate::taking(random.uniform(0.1, 5));
    const Duration work{static_cast<std::int64_t>(random.below(1'000'000))};
    EXPECT_GE(rate.work_in(rate.time_for(work)) + microseconds(1), work) << "seed " << kSeed;
    EXPECT_LE(rate.work_in(rate.time_for(work) - microseconds(1)), work) << "seed " << kSeed;
  }
}

}  // namespace
}  // namespace trainyard
