#include "policy/joint/crowding.h"

#include <gtest/gtest.h>

#include "perf/catalogue_speed.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

class CrowdingTest : public testing::Test {
 protected:
  CrowdingTest() {
    workload_.models.add("VGG-16");
    workload_.models.add("of our own");
    speed_.look_up_names();
    for (int i = 0; i < 3; ++i) {
      Job job = gang(4, 1, hours(1));
      job.model = ModelId{static_cast<std::uint16_t>(i == 2 ? 1 : 0)};
      workload_.jobs.push_back(job);
    }
  }

  Cluster cluster_ = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 4\ngpus = 8\nkind = \"V100\"\nnic_gbps = 10\n", "test");
  Workload workload_;
  CatalogueSpeed speed_{cluster_, workload_, Catalogue::builtin()};
  Yard yard_{cluster_, workload_, {}, &speed_};
  Crowding crowding_{yard_};
  const Placement left_{{MachineId{0}, 2}, {MachineId{1}, 2}};
  const Placement right_{{MachineId{2}, 2}, {MachineId{3}, 2}};
  const Placement one_{{MachineId{0}, 4}};
};

TEST_F(CrowdingTest, OnlyThoseOnTheSameLinksSlowEachOtherDown) {
  const std::vector<double> apart =
      crowding_.slowed(std::vector<Crowding::Running>{{JobId{0}, &left_}, {JobId{1}, &right_}});
  EXPECT_EQ(apart, (std::vector<double>{1, 1}));
  const std::vector<double> together =
      crowding_.slowed(std::vector<Crowding::Running>{{JobId{0}, &left_}, {JobId{1}, &left_}});
  EXPECT_GT(together[0], 1.3);
  EXPECT_LT(together[0], 2) << "each computes while the other sends";
  EXPECT_EQ(together[0], together[1]);
}

TEST_F(CrowdingTest, WhoIsInOneMachineOrSendsNothingKnownIsInNobodysWay) {
  const std::vector<double> slowed = crowding_.slowed(
      std::vector<Crowding::Running>{{JobId{0}, &left_}, {JobId{1}, &one_}, {JobId{2}, &left_}});
  EXPECT_EQ(slowed, (std::vector<double>{1, 1, 1}));
}

}  // namespace
}  // namespace trainyard
