#include "yard/shape.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace trainyard {
namespace {

class ShapesTest : public testing::Test {
 protected:
  ShapesTest() {
    workload_.kinds.add("T4");
    workload_.kinds.add("V100");
    workload_.models.add("vgg16");
    workload_.models.add("resnet50");
  }
  ShapeId of(const Job& job) { return shapes_.of(job, workload_, cluster_); }

  const Cluster cluster_ = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\nkind = \"V100\"\n[[rack.machine]]\nkind = \"T4\"\n", "test");
  Workload workload_;
  Shapes shapes_;
};

TEST_F(ShapesTest, WhatNoPlacementLooksAtDoesNotMatter) {
  Job a, b;
  b.duration = hours(5), b.submit = Time{7}, b.user = UserId{3}, b.load = minutes(1);
  EXPECT_EQ(of(a), of(b));
  EXPECT_EQ(shapes_.size(), 1U);
}

TEST_F(ShapesTest, EverythingElseDoes) {
  std::vector<Job> jobs(7);
  jobs[1].workers = 2;
  jobs[2].per_worker.gpus = 2;
  jobs[3].per_worker.milli_cpus = 500;
  jobs[4].per_worker.memory_mib = 1024;
  jobs[5].job_class = JobClass::trial;
  jobs[6].kind = KindId{0};
  for (std::size_t i = 0; i < jobs.size(); ++i)
    EXPECT_EQ(index(of(jobs[i])), i) << "numbered in order of first appearance";
  for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(index(of(jobs[i])), i);
}

TEST_F(ShapesTest, KindsAreNumberedByTheCluster) {
  Job job;
  job.kind = KindId{0};  // the workload's first, T4, is the cluster's second
  EXPECT_EQ(shapes_[of(job)].kind, KindId{1});
  EXPECT_EQ(shapes_[of(Job{})].kind, kAnyKind);
}

TEST_F(ShapesTest, ModelsCountByTheirSkewAlone) {
  Job skewed, even;
  skewed.model = ModelId{0}, even.model = ModelId{1};
  EXPECT_TRUE(shapes_[of(skewed)].skewed);
  EXPECT_EQ(of(even), of(Job{}));
}

TEST_F(ShapesTest, GpusAreThoseOfTheWholeGang) {
  Job job;
  job.workers = 4, job.per_worker.gpus = 2;
  EXPECT_EQ(shapes_[of(job)].gpus(), 8);
}

TEST_F(ShapesTest, AgreeWithAMap) {
  Random random(5);
  std::map<std::tuple<int, int, int>, ShapeId> twin;
  for (int i = 0; i < 5000; ++i) {
    Job job;
    job.workers = 1 + static_cast<int>(random.below(20));
    job.per_worker = {.gpus = 1 + static_cast<int>(random.below(8)),
                      .milli_cpus = static_cast<int>(random.below(5))};
    const ShapeId id = of(job);
    const auto [known, is_new] =
        twin.try_emplace({job.workers, job.per_worker.gpus, job.per_worker.milli_cpus}, id);
    ASSERT_EQ(known->second, id) << "job " << i << " of seed 5";
  }
  EXPECT_EQ(shapes_.size(), twin.size());
}

}  // namespace
}  // namespace trainyard
