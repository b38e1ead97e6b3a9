#include "perf/catalogue_speed.h"

#include <gtest/gtest.h>

#include "perf/speed.h"

namespace trainyard {
namespace {

constexpr MachineId kV100{0}, kOtherV100{1}, kP100{4}, kOtherP100{5};
constexpr std::uint16_t kVgg = 0, kResnet = 1, kUnknown = 2;

class CatalogueSpeedTest : public testing::Test {
 protected:
  CatalogueSpeedTest()
      : cluster_(*parse_cluster_toml("[[rack]]\n[[rack.machine]]\ncount = 4\ngpus = 8\n"
                                     "kind = \"V100\"\n"
                                     "[[rack]]\n[[rack.machine]]\ncount = 4\ngpus = 8\n"
                                     "kind = \"P100\"\n"
                                     "[network.rack]\ngbps = 100\n"
                                     "[network.across]\ngbps = 100\noversubscription = 4\n",
                                     "test")) {
    for (const char* model : {"VGG-16", "ResNet-50", "something of our own"})
      workload_.models.add(model);
    for (const char* kind : {"V100", "P100", "K80"}) workload_.kinds.add(kind);
    speed_.look_up_names();
  }

  static Job job(std::int32_t workers, std::uint16_t model) {
    Job job;
    job.workers = job.min_workers = job.max_workers = workers;
    job.model = ModelId{model};
    job.duration = job.estimate = hours(1);
    job.iterations = 36'000;  // 0.1 s each
    return job;
  }

  /// Whose iterations take what the catalogue says.
  [[nodiscard]] Job measured(std::int32_t workers, std::uint16_t model, const char* kind) const {
    Job job = this->job(workers, model);
    job.iterations = 0;
    job.measured_on = KindId{static_cast<std::uint16_t>(workload_.kinds.find(kind))};
    return job;
  }

  [[nodiscard]] double time_per_work(const Job& job, const Placement& placement) const {
    return speed_.rate(job, placement).time_per_work();
  }

  Cluster cluster_;
  Workload workload_;
  CatalogueSpeed speed_{cluster_, workload_, Catalogue::builtin()};
};

TEST_F(CatalogueSpeedTest, FurtherApartIsSlower) {
  const Placement halves{{kV100, 4}, {kOtherV100, 4}};
  const double machine = time_per_work(job(8, kVgg), {{kV100, 8}});
  const double rack = time_per_work(job(8, kVgg), halves);
  const double across = time_per_work(job(8, kVgg), {{kV100, 4}, {kP100, 4}});
  EXPECT_GE(machine, 1);
  EXPECT_LT(machine, rack);
  EXPECT_LT(rack, across);
  const ModelProfile& vgg = *Catalogue::builtin().find("VGG-16");
  EXPECT_DOUBLE_EQ(rack, iteration_time(vgg, 0.1, spread_of(cluster_, halves, 1)).total_s() / 0.1);
  const auto at = [&](std::size_t tier) {
    return speed_.rate_at(job(8, kVgg), tier).time_per_work();
  };
  EXPECT_DOUBLE_EQ(at(kMachineTier), machine);
  EXPECT_DOUBLE_EQ(at(kRackTier), rack);
  EXPECT_DOUBLE_EQ(at(2), across);
}

TEST_F(CatalogueSpeedTest, WhatPeopleSayHoldsForOneMachineCommunicationIncluded) {
  const CatalogueSpeed said(cluster_, workload_, Catalogue::builtin(),
                            CatalogueSpeed::DurationIs::in_one_machine);
  const Placement together{{kV100, 8}}, apart{{kV100, 4}, {kP100, 4}};
  EXPECT_EQ(said.rate(job(8, kVgg), together), Rate{});
  EXPECT_DOUBLE_EQ(said.rate(job(8, kVgg), apart).time_per_work(),
                   time_per_work(job(8, kVgg), apart) / time_per_work(job(8, kVgg), together));
  EXPECT_EQ(said.rate(measured(8, kVgg, "V100"), together), Rate{});
  EXPECT_DOUBLE_EQ(said.rate(measured(1, kResnet, "V100"), {{kP100, 1}}).time_per_work(),
                   281.0 / 168);
}

TEST_F(CatalogueSpeedTest, OneGpuOrAnUnknownModelRunsAsItsDurationSays) {
  const Placement apart{{kV100, 4}, {kP100, 4}};
  EXPECT_EQ(speed_.rate(job(1, kVgg), {{kV100, 1}}), Rate{});
  EXPECT_EQ(speed_.rate(job(8, kUnknown), apart), Rate{});
  Job none = job(8, kVgg);
  none.model = kNoModel;
  EXPECT_EQ(speed_.rate(none, apart), Rate{});
}

TEST_F(CatalogueSpeedTest, WithoutIterationsTheCatalogueSaysHowLongOneTakes) {
  Job unknown = job(8, kVgg);
  unknown.iterations = 0;
  EXPECT_GT(time_per_work(unknown, {{kV100, 4}, {kP100, 4}}), 1);
}

// --- Kinds ---------------------------------------------------------------------------------------

TEST_F(CatalogueSpeedTest, OneGpuOfAnotherKindIsAsFastAsTheCatalogueSays) {
  EXPECT_EQ(speed_.rate(measured(1, kResnet, "V100"), {{kV100, 1}}), Rate{});
  EXPECT_DOUBLE_EQ(time_per_work(measured(1, kResnet, "V100"), {{kP100, 1}}), 281.0 / 168);
  EXPECT_DOUBLE_EQ(time_per_work(measured(1, kResnet, "P100"), {{kV100, 1}}), 168.0 / 281);
  EXPECT_DOUBLE_EQ(time_per_work(measured(1, kResnet, "K80"), {{kV100, 1}}), 39.6 / 281)
      << "a kind that the cluster does not have";
  Job known = measured(1, kResnet, "V100");
  known.iterations = 36'000;
  EXPECT_DOUBLE_EQ(time_per_work(known, {{kP100, 1}}), 281.0 / 168);
}

TEST_F(CatalogueSpeedTest, WhereTheModelIsNotKnownKindsCompareInGeneral) {
  EXPECT_EQ(speed_.rate(measured(4, kUnknown, "V100"), {{kV100, 4}}), Rate{});
  EXPECT_DOUBLE_EQ(time_per_work(measured(4, kUnknown, "V100"), {{kP100, 4}}), 1 / 0.6);
  EXPECT_DOUBLE_EQ(time_per_work(measured(4, kUnknown, "K80"), {{kP100, 4}}), 0.14 / 0.6);
}

TEST_F(CatalogueSpeedTest, AGangOnMixedKindsGoesAsItsSlowestGpu) {
  EXPECT_DOUBLE_EQ(time_per_work(measured(4, kUnknown, "V100"), {{kV100, 3}, {kP100, 1}}), 1 / 0.6);
  const double mixed = time_per_work(measured(4, kResnet, "V100"), {{kV100, 3}, {kP100, 1}});
  const double slow = time_per_work(measured(4, kResnet, "V100"), {{kP100, 3}, {kOtherP100, 1}});
  EXPECT_GT(mixed, slow) << "and its workers are further apart";
  EXPECT_NEAR(mixed, 281.0 / 168, 0.05);
}

TEST_F(CatalogueSpeedTest, AtATierTheSlowestKindThatItMayGetCounts) {
  Job any = measured(1, kResnet, "V100");
  EXPECT_DOUBLE_EQ(speed_.rate_at(any, kMachineTier).time_per_work(), 281.0 / 168);
  any.kind = any.measured_on;
  EXPECT_EQ(speed_.rate_at(any, kMachineTier), Rate{});
}

// --- Sizes ---------------------------------------------------------------------------------------

/// ResNet-50 exchanges 102.4 MB over 600 GB/s; a twentieth of that is never hidden.
double exposed_s(double gpus) {
  const double bytes = Catalogue::builtin().find("ResNet-50")->gradient_bytes.value;
  return (2 * (gpus - 1) / gpus * bytes / 600e9 + 2 * (gpus - 1) * 0.5e-6) / 20;
}

TEST_F(CatalogueSpeedTest, MoreWorkersShareTheSameBatch) {
  Job elastic = measured(4, kResnet, "V100");
  elastic.min_workers = 1, elastic.max_workers = 8;
  const double said_s = 64 / 281.0;
  for (const std::int32_t n : {2, 4, 8})
    EXPECT_NEAR(time_per_work(elastic, {{kV100, n}}), (said_s * 4 / n + exposed_s(n)) / said_s,
                1e-12)
        << n << " workers";
  EXPECT_DOUBLE_EQ(time_per_work(elastic, {{kV100, 1}}), 4);
  EXPECT_NEAR(time_per_work(elastic, {{kP100, 8}}), (64 / 168.0 * 4 / 8 + exposed_s(8)) / said_s,
              1e-12);
}

TEST_F(CatalogueSpeedTest, CommunicationEatsUpWhatMoreWorkersGain) {
  Job elastic = measured(2, kVgg, "V100");
  elastic.max_workers = 16;
  const double two = time_per_work(elastic, {{kV100, 2}});
  const double sixteen = time_per_work(elastic, {{kV100, 8}, {kOtherV100, 8}});
  EXPECT_GT(sixteen, two / 8);
}

TEST_F(CatalogueSpeedTest, WhereTheModelIsNotKnownTheRateIsLinearInTheSize) {
  Job elastic = job(4, kUnknown);
  elastic.min_workers = 1, elastic.max_workers = 8;
  EXPECT_EQ(speed_.rate(elastic, {{kV100, 4}}), Rate{});
  EXPECT_DOUBLE_EQ(time_per_work(elastic, {{kV100, 2}, {kP100, 4}}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(time_per_work(elastic, {{kP100, 1}}), 4);
}

// --- What is known -------------------------------------------------------------------------------

TEST_F(CatalogueSpeedTest, PowersOfAnElasticJobAddUp) {
  Job job = measured(1, 2, "V100");
  job.max_workers = 8;
  const double v100 = speed_.power(job, KindId{0}), p100 = speed_.power(job, KindId{1});
  EXPECT_EQ(v100, 1);
  EXPECT_LT(p100, 1);
  const Placement mixed{{MachineId{0}, 2}, {MachineId{4}, 3}};
  EXPECT_DOUBLE_EQ(speed_.rate(job, mixed).time_per_work(), 1 / (2 * v100 + 3 * p100));
  job.min_workers = job.max_workers = job.workers = 5;
  EXPECT_DOUBLE_EQ(speed_.rate(job, mixed).time_per_work(), 1 / p100) << "as its slowest";
}

TEST_F(CatalogueSpeedTest, WhatAGangIsMadeOfGivesItsRateWhereItIsClosest) {
  Job elastic = measured(4, 0, "V100");
  elastic.max_workers = 12;
  const GangSpeed gang = speed_.gang(elastic);
  Job large = elastic;
  large.max_workers = 64;
  (void)speed_.gang(large);  // leaves what was given before as it is
  for (std::int32_t workers = 4; workers <= 12; ++workers) {
    Placement closest{{MachineId{0}, std::min(workers, 8)}};
    if (workers > 8) closest.push_back({MachineId{1}, workers - 8});
    const double compute_s = gang.unit_s / workers;
    const double exposed_s = exposed_time(gang.communication_s[static_cast<std::size_t>(workers)],
                                          compute_s, gang.overlap);
    EXPECT_NEAR(speed_.rate(elastic, closest).time_per_work(),
                (compute_s + exposed_s) / gang.work_s, 1e-12);
  }
}

TEST_F(CatalogueSpeedTest, MattersOnlyWhereSomeJobMayRunAtAnotherRate) {
  Workload workload;
  workload.models.add("something of our own");
  workload.jobs.push_back(job(4, 0));
  EXPECT_FALSE(CatalogueSpeed::matters(workload, Catalogue::builtin()));
  workload.models.add("VGG-16");
  EXPECT_TRUE(CatalogueSpeed::matters(workload, Catalogue::builtin()));
  EXPECT_FALSE(CatalogueSpeed::matters(workload, Catalogue()));
  workload.jobs[0].max_workers = 8;
  EXPECT_TRUE(CatalogueSpeed::matters(workload, Catalogue()));
  workload.jobs[0].max_workers = 4;
  workload.jobs[0].measured_on = KindId{0};
  EXPECT_TRUE(CatalogueSpeed::matters(workload, Catalogue()));
}

TEST_F(CatalogueSpeedTest, LooksUpWhatTheWorkloadNamesLater) {
  workload_.models.add("AlexNet");
  workload_.kinds.add("A100");
  speed_.look_up_names();
  EXPECT_DOUBLE_EQ(time_per_work(measured(1, 3, "K80"), {{kP100, 1}}), 656.0 / 2987);
  EXPECT_DOUBLE_EQ(time_per_work(measured(1, kUnknown, "A100"), {{kV100, 1}}), 2.56);
}

TEST_F(CatalogueSpeedTest, AKindThatNobodyKnowsIsRefused) {
  workload_.source = "jobs.csv";
  workload_.jobs = {measured(1, kVgg, "K80"), job(1, kVgg)};
  EXPECT_TRUE(check_measures(workload_, cluster_, Catalogue::builtin()));
  workload_.kinds.add("V10O");
  workload_.jobs.push_back(measured(1, kVgg, "V10O"));
  const auto refused = check_measures(workload_, cluster_, Catalogue::builtin());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "jobs.csv: job 2 was measured on GPUs of kind 'V10O', which neither the cluster nor "
            "the catalogue has, did you mean 'V100'?; --models FILE adds a kind by a [[kind]] "
            "table");
}

}  // namespace
}  // namespace trainyard
