#include "network/fair_share.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "base/random.h"

namespace trainyard {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr FlowClass kFirst{0}, kSecond{1}, kThird{2};

LinkUse on(std::uint32_t link, double weight = 1) {
  return {LinkId{link}, weight};
}

struct TestFlow {
  std::vector<LinkUse> links;
  double most = kNoLimit;
  FlowClass flow_class{};
  double activity = 1;

  [[nodiscard]] double weight(std::size_t link) const {
    double sum = 0;
    for (const LinkUse& use : links)
      if (index(use.link) == link) sum += use.weight;
    return sum;
  }
};

struct Network {
  std::vector<double> capacities;
  FairShare::Options options;
  std::vector<std::optional<TestFlow>> flows;  // those that have left are empty
};

/// The rates by the equations of the header alone: levels are found from the lowest up, one after
/// the other, each by looking at everything.
class SlowSharing {
 public:
  explicit SlowSharing(const Network& network) : network_(network), rates_(network.flows.size()) {
    for (int flow_class = 0; flow_class < 256; ++flow_class)
      solve(FlowClass{static_cast<std::uint8_t>(flow_class)});
  }

  [[nodiscard]] double rate(std::size_t flow) const { return rates_[flow]; }

 private:
  using Passage = std::pair<std::size_t, std::size_t>;  // a flow on a link

  void solve(FlowClass flow_class) {
    flows_.clear();
    std::map<Passage, double> open, levels;
    for (std::size_t f = 0; f < network_.flows.size(); ++f) {
      if (!network_.flows[f] || network_.flows[f]->flow_class != flow_class) continue;
      flows_.push_back(f);
      for (std::size_t l = 0; l < network_.capacities.size(); ++l)
        if (network_.flows[f]->weight(l) > 0) open[{f, l}] = 0;
    }
    levels_ = levels;
    while (!open.empty()) {
      for (auto& [passage, level] : open) level = level_of(passage.first, passage.second);
      const auto lowest =
          std::ranges::min_element(open, {}, [](const auto& entry) { return entry.second; });
      levels_.insert(*lowest);
      open.erase(lowest);
    }
    for (const std::size_t f : flows_) rates_[f] = limit(f, network_.capacities.size());
  }

  /// Of a flow by all links but one, as far as its levels are known yet.
  [[nodiscard]] double limit(std::size_t flow, std::size_t but) const {
    double least = network_.flows[flow]->most;
    for (const auto& [passage, level] : levels_)
      if (passage.first == flow && passage.second != but) least = std::min(least, level);
    return least;
  }

  /// By guessing that nobody is limited, and again with those that are at the level found.
  [[nodiscard]] double level_of(std::size_t flow, std::size_t link) const {
    double level = 0;
    for (double before = -1; level > before;) {
      before = level;
      double used = 0, weights = network_.flows[flow]->weight(link);
      for (const std::size_t other : flows_) {
        const TestFlow& k = *network_.flows[other];
        if (other == flow) continue;
        const double most = limit(other, link);
        if (most < before)
          used += k.activity * k.weight(link) * most;
        else
          weights += k.activity * k.weight(link);
      }
      level = std::max(before, (room(flow, link) - used) / weights);
    }
    return level;
  }

  [[nodiscard]] double room(std::size_t flow, std::size_t link) const {
    const FlowClass own = network_.flows[flow]->flow_class;
    double used = 0, sharing = 1, wanted_by_last = 0;
    FlowClass last{};
    for (std::size_t k = 0; k < network_.flows.size(); ++k) {
      if (!network_.flows[k] || network_.flows[k]->weight(link) <= 0) continue;
      const TestFlow& other = *network_.flows[k];
      const double average = other.activity * other.weight(link);
      if (other.flow_class < own) used += average * rates_[k];
      if (other.flow_class <= own && k != flow) sharing += other.activity;
      if (other.flow_class > last) last = other.flow_class, wanted_by_last = 0;
      if (other.flow_class == last) wanted_by_last += average * other.most;
    }
    const double capacity = network_.capacities[link];
    const double kept =
        last == own ? 0 : std::min(network_.options.floor * capacity, wanted_by_last);
    const double room =
        capacity * sharing / (sharing + (sharing - 1) * network_.options.loss) - used - kept;
    return room > 1e-10 * capacity ? room : 0;
  }

  const Network& network_;
  std::vector<double> rates_;
  std::vector<std::size_t> flows_;    // of the class in hand
  std::map<Passage, double> levels_;  // those that are known
};

/// What a rate is measured by: what the flow could have if it were alone.
double scale_of(const Network& network, const TestFlow& flow) {
  double least = flow.most;
  for (std::size_t l = 0; l < network.capacities.size(); ++l)
    if (const double weight = flow.weight(l); weight > 0)
      least = std::min(least, network.capacities[l] / weight);
  return least;
}

double draw(Random& random, std::initializer_list<double> usual, double high) {
  const std::size_t which = random.below(usual.size() + 2);
  return which < usual.size() ? usual.begin()[which] : random.uniform(0.01, high);
}

Network draw_links(Random& random, std::size_t most) {
  Network network;
  network.capacities.resize(1 + random.below(most));
  for (double& capacity : network.capacities) capacity = draw(random, {1, 1, 2, 4}, 5);
  if (random.below(10) == 0) network.capacities[0] = 0;
  return network;
}

TestFlow draw_flow(Random& random, const Network& network, std::uint64_t classes, bool activities) {
  TestFlow flow;
  const std::size_t links = 1 + random.below(std::min<std::size_t>(5, network.capacities.size()));
  for (std::size_t i = 0; i < links; ++i)
    flow.links.push_back(on(static_cast<std::uint32_t>(random.below(network.capacities.size())),
                            draw(random, {1, 1, 1, 0.5, 2}, 3)));
  flow.most = draw(random, {1, 10, kNoLimit}, 3);
  flow.flow_class = FlowClass{static_cast<std::uint8_t>(random.below(classes))};
  if (activities) flow.activity = draw(random, {1, 0.5}, 1);
  return flow;
}

/// A network and its FairShare, which are changed together.
class Pair {
 public:
  explicit Pair(const Network& network)
      : network_(network), fair_(network.capacities, network.options) {}

  void add(const TestFlow& flow) {
    const FlowId id = fair_.add(flow.links, flow.most, flow.flow_class, flow.activity);
    if (index(id) >= network_.flows.size()) network_.flows.resize(index(id) + 1);
    ASSERT_FALSE(network_.flows[index(id)]) << "an id is given twice";
    network_.flows[index(id)] = flow;
  }

  void change(Random& random, std::uint64_t classes, bool activities) {
    const TestFlow drawn = draw_flow(random, network_, classes, activities);
    const std::size_t f = random.below(network_.flows.size() + 1);
    if (f == network_.flows.size() || !network_.flows[f]) return add(drawn);
    const FlowId id{static_cast<std::uint32_t>(f)};
    switch (random.below(4)) {
      case 0:
        network_.flows[f]->flow_class = drawn.flow_class;
        return fair_.set_class(id, drawn.flow_class);
      case 1:
        network_.flows[f]->activity = drawn.activity;
        return fair_.set_activity(id, drawn.activity);
      default:
        network_.flows[f].reset();
        return fair_.remove(id);
    }
  }

  /// And that what is listed has changed, and nothing else.
  void settle() {
    std::map<std::size_t, double> before;
    before.swap(rates_);
    const std::vector<FlowId>& listed = fair_.settle();
    const std::set<FlowId> names(listed.begin(), listed.end());
    ASSERT_EQ(names.size(), listed.size()) << "a flow is listed twice";
    for (std::size_t f = 0; f < network_.flows.size(); ++f) {
      if (!network_.flows[f]) continue;
      const FlowId id{static_cast<std::uint32_t>(f)};
      rates_[f] = fair_.rate(id);
      const auto old = before.find(f);
      const double much = 1e-8 * rates_[f];
      if (!names.contains(id)) {
        ASSERT_NE(old, before.end()) << "a new flow is not listed: " << f;
        ASSERT_NEAR(old->second, rates_[f], much) << "a change is not listed: " << f;
      }
    }
  }

  void expect_slow_rates() const {
    const SlowSharing slow(network_);
    for (std::size_t f = 0; f < network_.flows.size(); ++f) {
      if (!network_.flows[f]) continue;
      ASSERT_NEAR(fair_.rate(FlowId{static_cast<std::uint32_t>(f)}), slow.rate(f),
                  1e-9 * scale_of(network_, *network_.flows[f]))
          << "flow " << f;
    }
  }

  void expect_rates_as_anew() const {
    FairShare anew(network_.capacities, network_.options);
    std::vector<std::size_t> added;
    for (std::size_t f = 0; f < network_.flows.size(); ++f) {
      if (!network_.flows[f]) continue;
      const TestFlow& flow = *network_.flows[f];
      anew.add(flow.links, flow.most, flow.flow_class, flow.activity);
      added.push_back(f);
    }
    anew.settle();
    for (std::uint32_t i = 0; i < added.size(); ++i)
      ASSERT_NEAR(fair_.rate(FlowId{static_cast<std::uint32_t>(added[i])}), anew.rate(FlowId{i}),
                  1e-9 * scale_of(network_, *network_.flows[added[i]]))
          << "flow " << added[i];
  }

  void expect_no_link_above_its_capacity() const {
    for (std::uint32_t l = 0; l < network_.capacities.size(); ++l)
      ASSERT_LE(fair_.used(LinkId{l}), network_.capacities[l] * (1 + 1e-9)) << "link " << l;
  }

  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const FairShare& fair() const { return fair_; }

 private:
  Network network_;
  FairShare fair_;
  std::map<std::size_t, double> rates_;
};

struct Kind {
  std::uint64_t classes = 1;
  bool activities = false;
  FairShare::Options options = {};
};

const std::vector<Kind> kKinds{{1, false, {}},        {3, false, {}},      {1, true, {}},
                               {3, true, {}},         {3, true, {0.1, 0}}, {2, false, {0, 0.3}},
                               {3, true, {0.25, 0.5}}};

/// body(random, kind) for many seeds and all kinds of network.
template <class Body>
void for_networks(std::uint64_t seeds, Body body) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
      SCOPED_TRACE(fmt::format("seed {}, kind {}", seed, kind));
      Random random(seed, kind);
      body(random, kKinds[kind]);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(FairShare, TheExampleOfTheHeader) {
  FairShare fair({10, 6});
  const std::vector<LinkUse> a{on(0)}, both{on(0), on(1)}, b{on(1, 2)};
  const FlowId f = fair.add(a, kNoLimit, kFirst), g = fair.add(both, kNoLimit, kFirst),
               h = fair.add(b, kNoLimit, kFirst);
  EXPECT_EQ(fair.settle().size(), 3U);
  EXPECT_DOUBLE_EQ(fair.rate(f), 8);
  EXPECT_DOUBLE_EQ(fair.rate(g), 2);
  EXPECT_DOUBLE_EQ(fair.rate(h), 2);
  EXPECT_DOUBLE_EQ(fair.used(LinkId{0}), 10);
  EXPECT_DOUBLE_EQ(fair.used(LinkId{1}), 6);
}

TEST(FairShare, RatesOfRandomNetworksAreTheSlowSolutions) {
  for_networks(300, [](Random& random, const Kind& kind) {
    Network network = draw_links(random, 6);
    network.options = kind.options;
    Pair pair(network);
    for (std::size_t i = 1 + random.below(10); i > 0; --i)
      pair.add(draw_flow(random, network, kind.classes, kind.activities));
    pair.settle();
    pair.expect_slow_rates();
  });
}

TEST(FairShare, AfterManyChangesRatesAreStillTheSlowSolutions) {
  for_networks(20, [](Random& random, const Kind& kind) {
    Network network = draw_links(random, 8);
    network.options = kind.options;
    Pair pair(network);
    for (int round = 0; round < 60; ++round) {
      for (std::size_t i = 1 + random.below(3); i > 0; --i)
        pair.change(random, kind.classes, kind.activities);
      pair.settle();
      pair.expect_slow_rates();
      pair.expect_no_link_above_its_capacity();
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(FairShare, AfterThousandsOfChangesRatesAreAsIfMadeAnew) {
  for_networks(2, [](Random& random, const Kind& kind) {
    Network network;
    network.capacities.resize(40);
    for (double& capacity : network.capacities) capacity = draw(random, {1, 1, 2, 4}, 5);
    network.options = kind.options;
    Pair pair(network);
    for (int i = 0; i < 60; ++i)
      pair.add(draw_flow(random, network, kind.classes, kind.activities));
    for (int round = 0; round < 2000; ++round) {
      pair.change(random, kind.classes, kind.activities);
      pair.settle();
      if (round % 20 == 0) pair.expect_rates_as_anew();
      pair.expect_no_link_above_its_capacity();
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

/// A link that is full, and on which no flow of this one's class is faster.
bool has_bottleneck(const Pair& pair, std::size_t flow) {
  const Network& network = pair.network();
  const auto rate = [&](std::size_t f) {
    return pair.fair().rate(FlowId{static_cast<std::uint32_t>(f)});
  };
  if (rate(flow) >= network.flows[flow]->most * (1 - 1e-9)) return true;
  for (std::size_t l = 0; l < network.capacities.size(); ++l) {
    if (network.flows[flow]->weight(l) <= 0) continue;
    double used = 0, fastest = 0;
    for (std::size_t f = 0; f < network.flows.size(); ++f) {
      if (!network.flows[f] || network.flows[f]->flow_class > network.flows[flow]->flow_class)
        continue;
      const double weight = network.flows[f]->weight(l);
      used += weight * rate(f);
      if (weight > 0 && network.flows[f]->flow_class == network.flows[flow]->flow_class)
        fastest = std::max(fastest, rate(f));
    }
    if (used >= network.capacities[l] * (1 - 1e-9) && rate(flow) >= fastest * (1 - 1e-9))
      return true;
  }
  return false;
}

TEST(FairShare, EveryFlowHasABottleneckOrRunsAtItsMost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed, 100);
    Pair pair(draw_links(random, 60));
    for (int i = 0; i < 150; ++i) pair.add(draw_flow(random, pair.network(), 3, false));
    pair.settle();
    for (std::size_t f = 0; f < 150; ++f) ASSERT_TRUE(has_bottleneck(pair, f)) << "flow " << f;
  }
}

TEST(FairShare, AHigherClassIsAsFastAsWithoutLowerOnes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed, 101);
    Network network = draw_links(random, 30);
    network.options.loss = random.below(2) == 0 ? 0 : 0.3;
    Pair with(network), without(network);
    std::vector<std::pair<FlowId, FlowId>> high;
    std::uint32_t all = 0;
    for (int i = 0; i < 80; ++i, ++all) {
      const TestFlow flow = draw_flow(random, network, 2, true);
      with.add(flow);
      if (flow.flow_class != kFirst) continue;
      high.emplace_back(FlowId{all}, FlowId{static_cast<std::uint32_t>(high.size())});
      without.add(flow);
    }
    with.settle();
    without.settle();
    for (const auto& [here, there] : high)
      ASSERT_NEAR(with.fair().rate(here), without.fair().rate(there),
                  1e-9 * without.fair().rate(there));
  }
}

TEST(FairShare, FlowsThatSendNowAndThenMeetTheOthersNowAndThen) {
  FairShare fair({12});
  const std::vector<LinkUse> link{on(0)};
  const std::vector<double> activities{0.5, 0.2, 1};
  std::vector<FlowId> flows;
  for (const double activity : activities)
    flows.push_back(fair.add(link, kNoLimit, kFirst, activity));
  fair.settle();
  EXPECT_DOUBLE_EQ(fair.rate(flows[0]), 12 / (1 + 1.2));
  EXPECT_DOUBLE_EQ(fair.rate(flows[1]), 12 / (1 + 1.5));
  EXPECT_DOUBLE_EQ(fair.rate(flows[2]), 12 / (1 + 0.7));
  fair.set_activity(flows[2], 0.3);
  EXPECT_EQ(fair.settle().size(), 2U) << "its own rate does not depend on its activity";
  EXPECT_DOUBLE_EQ(fair.rate(flows[0]), 12 / (1 + 0.5));
}

TEST(FairShare, ALowerClassGetsWhatIsLeft) {
  FairShare fair({10});
  const std::vector<LinkUse> link{on(0)};
  const FlowId low = fair.add(link, kNoLimit, kThird), lower = fair.add(link, kNoLimit, kThird);
  const FlowId high = fair.add(link, 6, kFirst);
  fair.settle();
  EXPECT_DOUBLE_EQ(fair.rate(high), 6);
  EXPECT_DOUBLE_EQ(fair.rate(low), 2);
  EXPECT_DOUBLE_EQ(fair.rate(lower), 2);
  fair.set_class(low, kSecond);
  EXPECT_EQ(fair.settle().size(), 2U);
  EXPECT_DOUBLE_EQ(fair.rate(low), 4);
  EXPECT_EQ(fair.rate(lower), 0);
}

TEST(FairShare, TheLastClassKeepsItsFloorAsFarAsItCanUseIt) {
  FairShare fair({10}, {.floor = 0.2});
  const std::vector<LinkUse> link{on(0)};
  const FlowId high = fair.add(link, kNoLimit, kFirst);
  fair.settle();
  EXPECT_DOUBLE_EQ(fair.rate(high), 10) << "it is the last one itself";
  const FlowId middle = fair.add(link, kNoLimit, kSecond);
  const FlowId low = fair.add(link, 1.5, kThird);
  fair.settle();
  EXPECT_DOUBLE_EQ(fair.rate(high), 8.5);
  EXPECT_EQ(fair.rate(middle), 0) << "only the last one has a floor";
  EXPECT_DOUBLE_EQ(fair.rate(low), 1.5);
  fair.remove(low);
  fair.settle();
  EXPECT_DOUBLE_EQ(fair.rate(high), 8);
  EXPECT_DOUBLE_EQ(fair.rate(middle), 2);
}

TEST(FairShare, SharingALinkMayCostSomeOfIt) {
  // As in LWF: an all-reduce among c takes c b + (c - 1) eta for each byte, here b = 1 / 10.
  const double b = 0.1, eta = 0.03;
  FairShare fair({1 / b}, {.loss = eta / b});
  const std::vector<LinkUse> link{on(0)};
  const FlowId flow = fair.add(link, kNoLimit, kFirst);
  for (int c = 1; c < 5; ++c) {
    fair.settle();
    EXPECT_DOUBLE_EQ(fair.rate(flow), 1 / (c * b + (c - 1) * eta));
    fair.add(link, kNoLimit, kFirst);
  }
}

TEST(FairShare, OddFlowsAndLinks) {
  FairShare fair({10, 0});
  const std::vector<LinkUse> none, weightless{on(0, 0), on(1, 0)}, twice{on(0), on(0)},
      dead{on(0), on(1)};
  const FlowId free = fair.add(none, kNoLimit, kFirst), light = fair.add(weightless, 3, kFirst);
  const FlowId doubled = fair.add(twice, kNoLimit, kFirst), stuck = fair.add(dead, 5, kFirst);
  fair.settle();
  EXPECT_EQ(fair.rate(free), kNoLimit);
  EXPECT_EQ(fair.rate(light), 3);
  EXPECT_DOUBLE_EQ(fair.rate(doubled), 5) << "each byte crosses the link twice";
  EXPECT_EQ(fair.rate(stuck), 0);
  EXPECT_EQ(fair.used(LinkId{1}), 0);
  EXPECT_TRUE(fair.settle().empty());
  fair.remove(free);
  fair.remove(doubled);
  EXPECT_TRUE(fair.settle().empty());
  FairShare empty({});
  EXPECT_TRUE(empty.settle().empty());
  empty.add(none, 1, kFirst);
  EXPECT_EQ(empty.settle().size(), 1U);
}

TEST(FairShare, IdsAreGivenAgainAndAFlowThatLeftIsNotListed) {
  FairShare fair({10});
  const std::vector<LinkUse> link{on(0)};
  const FlowId first = fair.add(link, kNoLimit, kFirst), second = fair.add(link, kNoLimit, kFirst);
  fair.remove(first);
  EXPECT_EQ(fair.settle(), std::vector{second});
  EXPECT_EQ(fair.add(link, kNoLimit, kFirst), first);
  EXPECT_EQ(fair.settle().size(), 2U);
}

}  // namespace
}  // namespace trainyard
