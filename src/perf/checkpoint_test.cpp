#include "perf/checkpoint.h"

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

TEST(Checkpoint, TheExampleOfTheHeader) {
  const Job job = with_checkpoints(minutes(10), minutes(1));
  EXPECT_EQ(run_time(job, minutes(25)), minutes(27));
  EXPECT_EQ(work_done(job, minutes(12)), minutes(11));
  EXPECT_EQ(work_saved(job, minutes(12)), minutes(10));
}

TEST(Checkpoint, NoneAtTheVeryEnd) {
  const Job job = with_checkpoints(minutes(10), minutes(1));
  EXPECT_EQ(run_time(job, minutes(10)), minutes(10));
  EXPECT_EQ(run_time(job, minutes(20)), minutes(21));
  EXPECT_EQ(run_time(job, Duration{}), Duration{});
}

TEST(Checkpoint, CountsOnlyOnceWritten) {
  const Job job = with_checkpoints(minutes(10), minutes(1));
  EXPECT_EQ(work_saved(job, minutes(11) - microseconds(1)), Duration{});
  EXPECT_EQ(work_saved(job, minutes(11)), minutes(10));
  EXPECT_EQ(work_done(job, minutes(10) + seconds(30)), minutes(10));
}

TEST(Checkpoint, WithoutThemTimeIsWorkAndNothingIsSaved) {
  const Job job = with_checkpoints({}, minutes(1));
  EXPECT_EQ(run_time(job, hours(3)), hours(3));
  EXPECT_EQ(work_done(job, hours(3)), hours(3));
  EXPECT_EQ(work_saved(job, hours(3)), Duration{});
}

TEST(Checkpoint, AnAbsurdCostEndsAtTheEndOfTime) {
  const Job job = with_checkpoints(microseconds(1), kLongestDuration);
  EXPECT_EQ(run_time(job, hours(1)), Duration::max());
}

/// A job that works a microsecond at a time.
struct Stepped {
  Duration done, saved, writing;

  void step(const Job& job) {
    if (writing.us > 0) {
      writing -= microseconds(1);
      if (writing.us == 0) saved = done;
      return;
    }
    done += microseconds(1);
    if (done.us % job.checkpoint_interval.us == 0) {
      writing = job.checkpoint_cost;
      if (writing.us == 0) saved = done;
    }
  }
};

TEST(Checkpoint, AgreesWithAStepByStepSimulation) {
  Random random(7);
  for (int round = 0; round < 100; ++round) {
    const Job job = with_checkpoints(microseconds(1 + static_cast<std::int64_t>(random.below(9))),
                                     microseconds(static_cast<std::int64_t>(random.below(5))));
    SCOPED_TRACE(testing::Message()
                 << "round " << round << " of seed 7: interval " << job.checkpoint_interval.us
                 << ", cost " << job.checkpoint_cost.us);
    Stepped stepped;
    Duration reached;  // the work for which run_time has been checked
    for (Duration elapsed; elapsed.us < 60; elapsed += microseconds(1)) {
      ASSERT_EQ(work_done(job, elapsed), stepped.done) << elapsed.us;
      ASSERT_EQ(work_saved(job, elapsed), stepped.saved) << elapsed.us;
      if (stepped.done > reached) {
        reached = stepped.done;
        ASSERT_EQ(run_time(job, reached), elapsed);
      }
      stepped.step(job);
    }
  }
}

}  // namespace
}  // namespace trainyard
