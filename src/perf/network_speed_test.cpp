#include "perf/network_speed.h"

#include <gtest/gtest.h>

#include "perf/speed.h"

namespace trainyard {
namespace {

class NetworkSpeedTest : public testing::Test {
 protected:
  NetworkSpeedTest()
      : cluster_(*parse_cluster_toml("[[rack]]\ncount = 2\n[[rack.machine]]\ncount = 4\ngpus = 8\n"
                                     "kind = \"V100\"\n[network.rack]\ngbps = 100\n"
                                     "[network.across]\ngbps = 100\noversubscription = 4\n",
                                     "test")) {
    workload_.models.add("VGG-16");
    workload_.models.add("something of our own");
  }

  static Job job(std::int32_t workers, std::uint16_t model) {
    Job job;
    job.workers = workers;
    job.model = ModelId{model};
    job.duration = job.estimate = hours(1);
    job.iterations = 36'000;  // 0.1 s each
    return job;
  }

  Cluster cluster_;
  Workload workload_;
};

TEST_F(NetworkSpeedTest, FurtherApartIsSlower) {
  const NetworkSpeed speed(cluster_, workload_, Catalogue::builtin());
  const double machine = speed.rate(job(8, 0), {{MachineId{0}, 8}}).time_per_work();
  const Placement halves{{MachineId{0}, 4}, {MachineId{1}, 4}};
  const double rack = speed.rate(job(8, 0), halves).time_per_work();
  const double across =
      speed.rate(job(8, 0), {{MachineId{0}, 4}, {MachineId{4}, 4}}).time_per_work();
  EXPECT_GE(machine, 1);
  EXPECT_LT(machine, rack);
  EXPECT_LT(rack, across);
  const ModelProfile& vgg = *Catalogue::builtin().find("VGG-16");
  EXPECT_DOUBLE_EQ(rack, iteration_time(vgg, 0.1, spread_of(cluster_, halves, 1)).total_s() / 0.1);
  EXPECT_DOUBLE_EQ(speed.rate_at(job(8, 0), kMachineTier).time_per_work(), machine);
  EXPECT_DOUBLE_EQ(speed.rate_at(job(8, 0), kRackTier).time_per_work(), rack);
  EXPECT_DOUBLE_EQ(speed.rate_at(job(8, 0), 2).time_per_work(), across);
}

TEST_F(NetworkSpeedTest, WhatPeopleSayHoldsForOneMachineCommunicationIncluded) {
  const NetworkSpeed computing(cluster_, workload_, Catalogue::builtin());
  const NetworkSpeed said(cluster_, workload_, Catalogue::builtin(),
                          NetworkSpeed::DurationIs::in_one_machine);
  const Placement together{{MachineId{0}, 8}}, apart{{MachineId{0}, 4}, {MachineId{4}, 4}};
  EXPECT_EQ(said.rate(job(8, 0), together), Rate{});
  EXPECT_DOUBLE_EQ(said.rate(job(8, 0), apart).time_per_work(),
                   computing.rate(job(8, 0), apart).time_per_work() /
                       computing.rate(job(8, 0), together).time_per_work());
}

TEST_F(NetworkSpeedTest, OneGpuOrAnUnknownModelRunsAsItsDurationSays) {
  const NetworkSpeed speed(cluster_, workload_, Catalogue::builtin());
  const Placement apart{{MachineId{0}, 4}, {MachineId{4}, 4}};
  EXPECT_EQ(speed.rate(job(1, 0), {{MachineId{0}, 1}}), Rate{});
  EXPECT_EQ(speed.rate(job(8, 1), apart), Rate{});
  Job none = job(8, 0);
  none.model = kNoModel;
  EXPECT_EQ(speed.rate(none, apart), Rate{});
}

TEST_F(NetworkSpeedTest, WithoutIterationsTheCatalogueSaysHowLongOneTakes) {
  const NetworkSpeed speed(cluster_, workload_, Catalogue::builtin());
  Job unknown = job(8, 0);
  unknown.iterations = 0;
  EXPECT_GT(speed.rate(unknown, {{MachineId{0}, 4}, {MachineId{4}, 4}}).time_per_work(), 1);
}

}  // namespace
}  // namespace trainyard
