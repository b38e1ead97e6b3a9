// GPUs that the engine chose itself.
#include <gtest/gtest.h>

#include "base/random.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

using Gpus = std::vector<std::int32_t>;

TEST(Renumber, OthersThatDoNotRunYetGetTheRestInTheirStead) {
  HandYard scene("1x8xV100");
  const JobId running = scene.running(gang(1, 2), 0);
  const JobId first = scene.submit(gang(1, 2)), second = scene.submit(gang(1, 2));
  ASSERT_EQ(scene.start(first, on(0, 1)), Verdict::ok);
  ASSERT_EQ(scene.start(second, on(0, 1)), Verdict::ok);
  const auto choose = [&](JobId job, Gpus gpus) {
    return scene.yard.renumber(job, std::vector<Gpus>{std::move(gpus)});
  };
  EXPECT_EQ(choose(first, {4, 7}), Verdict::ok);
  EXPECT_EQ(scene.yard.gpus(first, 0), (Gpus{4, 7}));
  EXPECT_EQ(scene.yard.gpus(second, 0), (Gpus{2, 5})) << "it had 4 and 5";
  EXPECT_EQ(choose(second, {0, 5}), Verdict::no_room) << "another runs on 0";
  EXPECT_EQ(choose(second, {5, 8}), Verdict::wrong_gang);
  EXPECT_EQ(choose(second, {5, 5}), Verdict::wrong_gang);
  EXPECT_EQ(choose(second, {-1, 5}), Verdict::wrong_gang);
  EXPECT_EQ(choose(second, {5}), Verdict::wrong_gang);
  EXPECT_EQ(scene.yard.renumber(second, std::vector<Gpus>{{5}, {6}}), Verdict::wrong_gang);
  EXPECT_EQ(scene.yard.gpus(second, 0), (Gpus{2, 5})) << "what was refused changed nothing";
  EXPECT_EQ(choose(running, {2, 6}), Verdict::ok);
  EXPECT_EQ(scene.yard.gpus(second, 0), (Gpus{0, 5}));
  EXPECT_EQ(scene.free_gpus(0), 2);
  const JobId last = scene.running(gang(1, 2), 0);
  EXPECT_EQ(scene.yard.gpus(last, 0), (Gpus{1, 3})) << "what was given up";
}

/// On machines of more GPUs than a word has bits: no GPU is lost or given twice.
TEST(Renumber, EveryGpuHasOneHolder) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    HandYard scene("1x100xV100");
    std::vector<JobId> jobs;
    for (int i = 0; i < 6; ++i) {
      const auto size = static_cast<std::int32_t>(1 + random.below(14));
      jobs.push_back(scene.submit(gang(1, size)));
      ASSERT_EQ(scene.start(jobs.back(), on(0, 1)), Verdict::ok);
    }
    for (int round = 0; round < 20; ++round) {
      const JobId job = jobs[random.below(jobs.size())];
      Gpus all;
      for (std::int32_t gpu = 0; gpu < 100; ++gpu) all.push_back(gpu);
      for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
      all.resize(static_cast<std::size_t>(scene.yard.job(job).gpus()));
      ASSERT_EQ(scene.yard.renumber(job, std::vector<Gpus>{all}), Verdict::ok) << "seed " << seed;
      std::ranges::sort(all);
      EXPECT_EQ(scene.yard.gpus(job, 0), all) << "seed " << seed;
      std::vector<int> holders(100);
      std::int32_t held = 0;
      for (const JobId each : jobs)
        for (const std::int32_t gpu : scene.yard.gpus(each, 0))
          ++holders[static_cast<std::size_t>(gpu)], ++held;
      EXPECT_EQ(*std::ranges::max_element(holders), 1) << "seed " << seed;
      EXPECT_EQ(held + scene.free_gpus(0), 100) << "seed " << seed;
    }
    for (const JobId job : jobs) scene.tell(EventKind::cancelled, job);
    EXPECT_EQ(scene.start(scene.submit(gang(1, 100)), on(0, 1)), Verdict::ok) << "seed " << seed;
  }
}

}  // namespace
}  // namespace trainyard
