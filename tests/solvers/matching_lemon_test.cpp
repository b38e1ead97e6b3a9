// The market's matching is worth what LEMON's network simplex finds, on cases far too large to try
// everything. Worths are whole numbers, so both are exact.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include "base/random.h"
#include "market/matching.h"

namespace trainyard {
namespace {

struct DrawnMatching {
  std::vector<std::int32_t> capacity, sizes;
  std::vector<double> worth;
};

DrawnMatching draw_case(std::uint64_t seed) {
  Random random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random.below(n)); };
  DrawnMatching drawn;
  drawn.capacity.resize(1 + random.below(8));
  for (std::int32_t& number : drawn.capacity) number = below(200);
  drawn.sizes.resize(1 + random.below(100));
  const std::uint64_t largest = 1 + random.below(16);
  for (std::int32_t& size : drawn.sizes) size = below(largest + 1);
  const std::uint64_t worths = random.below(2) == 0 ? 5 : 1'000'000;
  for (std::size_t cell = 0; cell < drawn.sizes.size() * drawn.capacity.size(); ++cell)
    drawn.worth.push_back(random.below(10) == 0 ? -1 : below(worths));
  return drawn;
}

/// Nothing when there are too few workers.
std::optional<std::int64_t> worth_by_lemon(const DrawnMatching& drawn) {
  using Graph = lemon::SmartDigraph;
  Graph graph;
  Graph::ArcMap<std::int64_t> upper(graph), cost(graph);
  Graph::NodeMap<std::int64_t> supply(graph);
  std::vector<Graph::Node> kinds;
  std::int64_t left = 0;  // what no buyer takes goes to one that does not care
  for (const std::int32_t capacity : drawn.capacity) {
    kinds.push_back(graph.addNode());
    supply[kinds.back()] = -capacity;
    left += capacity;
  }
  for (std::size_t buyer = 0; buyer < drawn.sizes.size(); ++buyer) {
    const Graph::Node node = graph.addNode();
    supply[node] = drawn.sizes[buyer];
    left -= drawn.sizes[buyer];
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      const double worth = drawn.worth[buyer * kinds.size() + kind];
      if (worth < 0) continue;
      const Graph::Arc arc = graph.addArc(node, kinds[kind]);
      upper[arc] = drawn.sizes[buyer];
      cost[arc] = -static_cast<std::int64_t>(worth);
    }
  }
  if (left < 0) return std::nullopt;
  const Graph::Node rest = graph.addNode();
  supply[rest] = left;
  for (const Graph::Node kind : kinds) upper[graph.addArc(rest, kind)] = left;
  using Simplex = lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t>;
  Simplex simplex(graph);
  simplex.upperMap(upper).costMap(cost).supplyMap(supply);
  if (simplex.run() != Simplex::OPTIMAL) return std::nullopt;
  return -simplex.totalCost<std::int64_t>();
}

TEST(MatchingAndLemon, AgreeOnRandomCases) {
  int possible = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const DrawnMatching drawn = draw_case(seed);
    const auto ours = match(drawn.capacity, drawn.sizes, drawn.worth);
    const auto lemons = worth_by_lemon(drawn);
    ASSERT_EQ(ours.has_value(), lemons.has_value());
    if (!ours) continue;
    ++possible;
    ASSERT_EQ(ours->worth, static_cast<double>(*lemons));
  }
  EXPECT_GT(possible, 300);
}

}  // namespace
}  // namespace trainyard
