#include "yard/turns.h"

#include <gtest/gtest.h>

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
        turns.note(job, other, Time{step});
        twin[job].push_back(other);
      }
      std::map<JobId, std::uint32_t> expected;
      for (const JobId to : twin[job]) ++expected[to];
      ASSERT_EQ(all(turns, job), expected) << "step " << step;
      ASSERT_EQ(turns.times(job, other), expected.contains(other) ? expected[other] : 0U);
    }
  }
}

}  // namespace
}  // namespace trainyard
