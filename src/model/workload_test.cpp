#include "model/workload.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace trainyard {
namespace {

/// Two machines of 8 V100 and one of 4 T4; 12 CPUs and 96 GiB for each GPU.
Cluster mixed_cluster() {
  return *parse_cluster_toml(R"(
[[rack]]
[[rack.machine]]
count = 2
kind = "V100"
[[rack.machine]]
gpus = 4
kind = "T4"
)",
                             "test");
}

Job job_of(std::int32_t workers, Resources each, KindId kind = kAnyKind) {
  Job job;
  job.workers = workers, job.per_worker = each, job.kind = kind;
  return job;
}

class WorkloadTest : public testing::Test {
 protected:
  WorkloadTest() { workload_.source = "jobs.csv"; }

  KindId kind(std::string_view name) {
    return KindId{static_cast<std::uint16_t>(workload_.kinds.add(name))};
  }
  std::string why_not(const Job& job) { return misfit(workload_, job, cluster_); }

  Cluster cluster_ = mixed_cluster();
  Workload workload_;
};

TEST_F(WorkloadTest, JobsWithoutNamesGoByTheirNumber) {
  workload_.jobs.resize(2);
  EXPECT_EQ(workload_.job_name(JobId{1}), "1");
  workload_.names = {"first", "second"};
  EXPECT_EQ(workload_.job_name(JobId{1}), "second");
}

TEST_F(WorkloadTest, KindsAreMatchedByName) {
  EXPECT_EQ(cluster_kind(workload_, kind("T4"), cluster_), KindId{1});
  EXPECT_EQ(cluster_kind(workload_, kind("V100"), cluster_), KindId{0});
  EXPECT_EQ(cluster_kind(workload_, kAnyKind, cluster_), kAnyKind);
  EXPECT_EQ(index(cluster_kind(workload_, kind("A100"), cluster_)), cluster_.kinds.size());
}

TEST_F(WorkloadTest, AGangFitsAcrossMachinesAWorkerOnlyInOne) {
  EXPECT_EQ(why_not(job_of(1, {.gpus = 8})), "");
  EXPECT_EQ(why_not(job_of(20, {.gpus = 1})), "");
  EXPECT_EQ(why_not(job_of(2, {.gpus = 8})), "");
  EXPECT_EQ(why_not(job_of(3, {.gpus = 8})),
            "needs 3 workers of 8 GPUs, 0 CPUs and 0MiB each; the empty cluster has room for 2");
  EXPECT_EQ(why_not(job_of(1, {.gpus = 9, .milli_cpus = 500, .memory_mib = 1536})),
            "needs 1 worker of 9 GPUs, 0.5 CPUs and 1.5GiB each; the empty cluster has room for 0");
}

TEST_F(WorkloadTest, CpusAndMemoryCountToo) {
  EXPECT_EQ(why_not(job_of(2, {.gpus = 1, .milli_cpus = 96'000})), "");
  EXPECT_EQ(why_not(job_of(3, {.gpus = 1, .milli_cpus = 96'000})),
            "needs 3 workers of 1 GPU, 96 CPUs and 0MiB each; the empty cluster has room for 2");
  EXPECT_NE(why_not(job_of(1, {.gpus = 1, .memory_mib = 769 * 1024})), "");
}

TEST_F(WorkloadTest, OnlyMachinesOfTheKindCount) {
  EXPECT_EQ(why_not(job_of(4, {.gpus = 1}, kind("T4"))), "");
  EXPECT_EQ(why_not(job_of(5, {.gpus = 1}, kind("T4"))),
            "needs 5 workers of 1 GPU, 0 CPUs and 0MiB each; the empty cluster has room for 4");
  EXPECT_EQ(why_not(job_of(1, {.gpus = 1}, kind("A100"))),
            "wants GPUs of kind 'A100', and the cluster has none");
}

TEST_F(WorkloadTest, CheckFitsNamesTheFirstAndCountsTheRest) {
  EXPECT_TRUE(check_fits(workload_, cluster_));
  workload_.jobs = {job_of(1, {.gpus = 1}), job_of(1, {.gpus = 16}), job_of(2, {.gpus = 1}),
                    job_of(99, {.gpus = 1})};
  workload_.names = {"a", "b", "c", "d"};
  const auto checked = check_fits(workload_, cluster_);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "jobs.csv: job b needs 1 worker of 16 GPUs, 0 CPUs and 0MiB each; the empty cluster "
            "has room for 0 (2 of 4 jobs are too large; take a larger cluster, or leave them out "
            "with --drop-larger)");
}

// check_fits skips a job no larger than the last that fitted; every job asked alone must agree.
TEST_F(WorkloadTest, CheckFitsAgreesWithAskingEveryJob) {
  const std::array kinds{kAnyKind, kind("T4"), kind("V100"), kind("A100")};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    workload_.jobs.clear();
    std::size_t misfits = 0;
    for (int i = 0; i < 8; ++i) {
      const Resources each{.gpus = static_cast<std::int32_t>(random.below(5)),
                           .milli_cpus = static_cast<std::int32_t>(random.below(40'000))};
      workload_.jobs.push_back(job_of(static_cast<std::int32_t>(1 + random.below(8)), each,
                                      kinds.at(random.below(seed % 4 + 1))));
      misfits += why_not(workload_.jobs.back()).empty() ? 0 : 1;
    }
    const auto checked = check_fits(workload_, cluster_);
    ASSERT_EQ(checked.has_value(), misfits == 0) << "seed " << seed;
    if (checked) continue;
    const std::string& message = checked.error().message;
    ASSERT_NE(message.find(fmt::format("({} of 8 jobs", misfits)), std::string::npos)
        << "seed " << seed << ": " << message;
  }
}

}  // namespace
}  // namespace trainyard
