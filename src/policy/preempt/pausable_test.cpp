#include "policy/preempt/pausable.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

/// What a look at every running job says.
struct Twin {
  const HandYard& h;
  const std::map<JobId, int>& ranks;  // of those that run

  [[nodiscard]] bool hold(int above, std::int64_t gpus) const {
    for (const auto& [job, rank] : ranks)
      if (rank > above && h.yard.state(job).since + h.yard.rules().min_run <= h.yard.now())
        gpus -= h.yard.job(job).gpus();
    return gpus <= 0;
  }
  [[nodiscard]] Time retry(int above, JobId waiter) const {
    Time first = Time::never();
    for (const auto& [job, rank] : ranks)
      if (rank > above && h.yard.state(job).since + h.yard.rules().min_run > h.yard.now())
        first = std::min(first, h.yard.pausable_from(job, waiter));
    return first;
  }
};

TEST(Pausable, AgreesWithALookAtEveryRunningJob) {
  int held = 0, retried = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    HandYard h(*parse_cluster_shorthand("4x8xV100"), {.min_run = minutes(10)});
    const JobId waiter = h.submit(gang(32));
    Pausable<int> pausable;
    std::map<JobId, int> ranks;
    for (int minute = 1; minute <= 120; ++minute) {
      h.at(minutes(minute));
      const auto rank = static_cast<int>(random.below(5));
      const auto machine = static_cast<std::uint32_t>(random.below(4));
      const auto wanted = 1 + static_cast<std::int32_t>(random.below(3));
      if (!ranks.empty() && random.uniform() < 0.4) {
        const JobId job = std::next(ranks.begin(), random.below(ranks.size()))->first;
        pausable.remove(job);
        ranks.erase(job);
        h.tell(EventKind::finished, job);
      } else if (!ranks.empty() && random.uniform() < 0.2) {
        const JobId job = std::next(ranks.begin(), random.below(ranks.size()))->first;
        pausable.rerank(h.yard, job, rank);
        ranks[job] = rank;
      } else if (h.free_gpus(machine) >= wanted) {
        const JobId job = h.running(gang(wanted), machine);
        pausable.add(h.yard, job, rank);
        ranks[job] = rank;
      }
      const Twin twin{h, ranks};
      for (int above = -1; above < 5; ++above) {
        const auto is_enough = [&](int r) { return r > above; };
        std::int64_t gpus = 1 + static_cast<std::int64_t>(random.below(12));
        const bool expected = twin.hold(above, gpus);
        ASSERT_EQ(pausable.hold(h.yard, gpus, is_enough), expected) << "minute " << minute;
        Time retry = Time::never();
        pausable.find_retry(h.yard, waiter, retry, is_enough);
        ASSERT_EQ(retry, twin.retry(above, waiter)) << "minute " << minute;
        held += expected, retried += retry != Time::never();
      }
    }
  }
  EXPECT_GT(held, 1000);
  EXPECT_GT(retried, 1000);
}

}  // namespace
}  // namespace trainyard
