#include "network/shared_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/random.h"
#include "network/links.h"

namespace trainyard {
namespace {

constexpr double kGbps = 1e9 / 8;  // bytes/s

/// Two machines of 10 Gbit/s.
Cluster pair_of_machines() {
  return *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 2\ngpus = 8\nnic_gbps = 10\n[network.rack]\n"
      "latency_us = 0\n",
      "test");
}

struct Both : testing::TestWithParam<NetworkOptions::Model> {
  Both() : cluster(pair_of_machines()), links(cluster) {}

  std::unique_ptr<SharedNetwork> make(const FlowRules& rules = {}, double loss = 0) const {
    const NetworkOptions options{GetParam(), loss, 0};
    return GetParam() == NetworkOptions::Model::fluid
               ? make_fluid_network(links, options, rules)
               : make_iteration_network(links, options, rules, 1);
  }

  /// Computes for so long, then sends for so long, were it alone.
  static SharedNetwork::Arrival arrival(std::uint32_t job, double compute_s, double send_s,
                                        double iterations = 100, FlowClass flow = kFirstFlow) {
    Flow sends;
    for (std::uint32_t link = 0; link < 4; ++link) sends.links.push_back({LinkId{link}, 1});
    sends.bytes = send_s * 10 * kGbps;
    sends.most = 10 * kGbps;
    return {JobId{job}, {std::move(sends), compute_s, 0}, flow, iterations, 1, 1};
  }

  /// The mean time of an iteration of each job, over its last half.
  static std::map<std::size_t, double> paces(SharedNetwork& network, double until_s) {
    std::map<std::size_t, double> sums, counts;
    std::vector<SharedNetwork::Pace> taken;
    network.take(taken);
    for (const auto& pace : taken) sums[index(pace.job)] = pace.iteration_s;
    for (const auto& pace : taken) counts[index(pace.job)] = 1;
    if (GetParam() == NetworkOptions::Model::fluid) return sums;
    const Time end{static_cast<std::int64_t>(until_s * 1e6)};
    for (Time now; now < end;) {
      now = network.run_until(end);
      taken.clear();
      network.take(taken);
      if ((now - Time{}).seconds() < until_s / 2) continue;
      for (const auto& pace : taken) sums[index(pace.job)] += pace.iteration_s;
      for (const auto& pace : taken) counts[index(pace.job)] += 1;
    }
    for (auto& [job, sum] : sums) sum /= counts[job];
    return sums;
  }

  Cluster cluster;
  Links links;
};

TEST_P(Both, AJobAloneGoesAsItWould) {
  const auto network = make();
  network->join({}, arrival(0, 1, 0.5, 1e9));
  for (const auto& [job, pace] : paces(*network, 100)) EXPECT_NEAR(pace, 1.5, 1e-9);
}

TEST_P(Both, TwoThatOnlySendHaveHalfEach) {
  const auto network = make();
  network->join({}, arrival(0, 1e-9, 1, 1e9));
  network->join({}, arrival(1, 1e-9, 1, 1e9));
  const auto found = paces(*network, 1000);
  ASSERT_EQ(found.size(), 2U);
  for (const auto& [job, pace] : found) EXPECT_NEAR(pace, 2, 0.01);
}

TEST_P(Both, StepsPushJobsApartUntilOneComputesWhileTheOtherSends) {
  if (GetParam() == NetworkOptions::Model::fluid) return;  // it has no iterations
  for (const auto& [steps, expected] : {std::pair(0.0, 0.29), std::pair(6.0, 0.2)}) {
    NetworkOptions options{GetParam()};
    options.steps = steps;
    const auto network = make_iteration_network(links, options, {}, 1);
    network->join({}, arrival(0, 0.1, 0.1, 1e9));
    network->join(Time{10'000}, arrival(1, 0.1, 0.1, 1e9));
    EXPECT_NEAR(paces(*network, 20)[0], expected, 0.001) << steps;
  }
}

TEST_P(Both, AHigherClassDoesNotNoticeALowerOne) {
  const auto network = make();
  network->join({}, arrival(0, 1, 0.7, 1e9));
  network->join({}, arrival(1, 0.8, 0.6, 1e9, FlowClass{1}));
  auto found = paces(*network, 2000);
  if (!found.contains(0)) found[0] = 1.7;  // fluid: not heard of
  EXPECT_NEAR(found[0], 1.7, 1e-6);
  EXPECT_GT(found[1], 1.5);
  EXPECT_LT(found[1], 1.9) << "it has 10/17 of the link";
}

TEST_P(Both, AClassWithAFloorGoesOn) {
  const auto network = make({.floor = 0.25});
  network->join({}, arrival(0, 1e-9, 1, 1e9));
  network->join({}, arrival(1, 1e-9, 1, 1e9, FlowClass{1}));
  auto found = paces(*network, 1000);
  EXPECT_NEAR(found[0], 4.0 / 3, 0.01);
  EXPECT_NEAR(found[1], 4, 0.05);
}

TEST_P(Both, SharingMayCostCapacity) {
  const auto network = make({}, 0.5);
  network->join({}, arrival(0, 1e-9, 1, 1e9));
  network->join({}, arrival(1, 1e-9, 1, 1e9));
  for (const auto& [job, pace] : paces(*network, 1000))
    EXPECT_NEAR(pace, 2.5, 0.01) << "2 b + 0.5 b";
}

TEST_P(Both, WhoLeavesLeavesTheLinkToTheOther) {
  const auto network = make();
  network->join({}, arrival(0, 1e-9, 1, 1e9));
  network->join({}, arrival(1, 1e-9, 1, 1e9));
  (void)paces(*network, 10);
  const Time later{20'000'000};
  EXPECT_EQ(network->run_until(later) <= later, true);
  network->leave(later, JobId{1});
  std::vector<SharedNetwork::Pace> taken;
  network->take(taken);
  taken.clear();
  if (GetParam() == NetworkOptions::Model::fluid) return;
  const Time end{60'000'000};
  for (Time now = later; now < end;) {
    now = network->run_until(end);
    network->take(taken);
  }
  EXPECT_EQ(taken.back().job, JobId{0});
  EXPECT_NEAR(taken.back().iteration_s, 1, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Models, Both,
                         testing::Values(NetworkOptions::Model::fluid,
                                         NetworkOptions::Model::iteration),
                         [](const auto& model) {
                           return model.param == NetworkOptions::Model::fluid ? "Fluid"
                                                                              : "Iteration";
                         });

/// Only where iterations are played are there single exchanges that could wait.
struct Admission : Both {};
INSTANTIATE_TEST_SUITE_P(Models, Admission, testing::Values(NetworkOptions::Model::iteration));

TEST_P(Admission, OneAtATimeGoesByClass) {
  const auto network = make({.at_most = 1});
  // All begin to send at 1 s; the one of the smaller class goes before the one that asked first.
  network->join({}, arrival(0, 1, 1, 1));
  network->join({}, arrival(1, 1, 1, 1, FlowClass{2}));
  network->join({}, arrival(2, 1, 1, 1, FlowClass{1}));
  std::vector<SharedNetwork::Pace> taken;
  std::map<std::size_t, double> ends;
  const Time limit{10'000'000};
  for (Time now; now < limit;) {
    now = network->run_until(limit);
    taken.clear();
    network->take(taken);
    for (const auto& pace : taken) ends[index(pace.job)] = (now - Time{}).seconds();
  }
  EXPECT_NEAR(ends[0], 2, 1e-5);
  EXPECT_NEAR(ends[2], 3, 1e-5);
  EXPECT_NEAR(ends[1], 4, 1e-5);
}

TEST_P(Admission, ASecondJoinsOnlyWhatHasMuchMoreLeft) {
  for (const double small : {0.2, 0.6}) {
    const auto network = make({.at_most = 2, .by_size = true});
    network->join({}, arrival(0, 1, 1, 1));
    network->join({}, arrival(1, 1, small, 1));
    std::vector<SharedNetwork::Pace> taken;
    const Time limit{10'000'000};
    std::map<std::size_t, double> ends;
    for (Time now; now < limit;) {
      now = network->run_until(limit);
      taken.clear();
      network->take(taken);
      for (const auto& pace : taken) ends[index(pace.job)] = (now - Time{}).seconds();
    }
    // Together at half the rate each, or one after the other.
    EXPECT_NEAR(ends[1], small < 0.5 ? 1 + 2 * small : 2 + small, 1e-5);
    EXPECT_NEAR(ends[0], small < 0.5 ? 2 + small : 2, 1e-5);
  }
}

TEST(FluidNetwork, TellsOfAJobThatCannotSend) {
  const Cluster cluster = pair_of_machines();
  const Links links(cluster);
  const auto network = make_fluid_network(links, {NetworkOptions::Model::fluid}, {});
  const auto pace_of = [&](std::uint32_t job) {
    std::vector<SharedNetwork::Pace> taken;
    network->take(taken);
    const auto found = std::ranges::find(taken, JobId{job}, &SharedNetwork::Pace::job);
    return found == taken.end() ? 0 : found->iteration_s;
  };
  network->join({}, Both::arrival(1, 1, 1, 100, FlowClass{1}));
  EXPECT_EQ(pace_of(1), 0) << "alone it goes as it would";
  network->join({}, Both::arrival(0, 0, 1));  // which sends all of the time
  EXPECT_EQ(pace_of(1), std::numeric_limits<double>::infinity());
  network->leave({}, JobId{0});
  EXPECT_EQ(pace_of(1), 2);
}

TEST(Network, IsDescribedInALine) {
  EXPECT_EQ(*parse_network("alone"), NetworkOptions{});
  EXPECT_EQ(parse_network("shared")->model, NetworkOptions::Model::fluid);
  const NetworkOptions all{NetworkOptions::Model::iteration, 0.3, 0.05};
  EXPECT_EQ(*parse_network("shared,model=iteration,jitter=0.05,loss=0.3"), all);
  const auto error = [](std::string_view text) { return parse_network(text).error().message; };
  EXPECT_EQ(error("share"),
            "network: 'share': it is alone, or shared, as in "
            "shared,model=iteration,jitter=0.05,loss=0.3");
  EXPECT_EQ(error("shared,modle=fluid"),
            "network: unknown 'modle'; known are model, loss, jitter and steps");
  EXPECT_EQ(error("shared,model=packets"),
            "network: model='packets': it is fluid (the default) or iteration");
  EXPECT_EQ(error("shared,loss=-1"), "network: loss='-1': it is a number from 0 to 100");
  EXPECT_EQ(error("shared,loss=nan"), "network: loss='nan': it is a number from 0 to 100");
  EXPECT_EQ(parse_network("shared,model=iteration,steps=6")->steps, 6);
  EXPECT_EQ(error("shared,jitter=0.1"),
            "network: jitter is for model=iteration: the fluid model has no iterations");
}

}  // namespace
}  // namespace trainyard
