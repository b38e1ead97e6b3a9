#include "yard/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace trainyard {
namespace {

std::map<JobId, std::uint32_t> all(const Turns& turns, JobId job) {
  std::map<JobId, std::uint32_t> found;
  turns.each(job, [&](JobId other, std::uint32_t times) { found[other] += times; });
  return found;
}

TEST(Turns, AgreesWithAListOfEveryPause) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Turns turns;
    std::map<JobId, std::vector<JobId>> twin;  // by who was paused: for whom, once for each pause
    for (int step = 0; step < 500; ++step) {
      const JobId job{static_cast<std::uint32_t>(random.below(6))};
      const JobId other{static_cast<std::uint32_t>(random.below(6))};
      if (random.uniform() < 0.1) {
        turns.keep(job, [&](JobId id, std::uint32_t) { return id != other; });
        std::erase(twin[job], other);
      } else {
        twin[job].push_back(other);
        ASSERT_EQ(turns.note(job, other), std::ranges::count(twin[job], other));
      }
      std::map<JobId, std::uint32_t> expected;
      for (const JobId to : twin[job]) ++expected[to];
      ASSERT_EQ(all(turns, job), expected) << "step " << step;
      ASSERT_EQ(turns.times(job, other), expected.contains(other) ? expected[other] : 0U);
    }
  }
}

TEST(Turns, IsFullWhenAnotherWouldTakeMoreMemory) {
  Turns turns;
  EXPECT_FALSE(turns.is_full(JobId{0})) << "it has no list";
  std::uint32_t noted = 0;
  do turns.note(JobId{0}, JobId{++noted});
  while (!turns.is_full(JobId{0}) && noted < 1000);
  ASSERT_TRUE(turns.is_full(JobId{0}));
  turns.keep(JobId{0}, [](JobId other, std::uint32_t) { return other != JobId{1}; });
  EXPECT_FALSE(turns.is_full(JobId{0}));
}

}  // namespace
}  // namespace trainyard
