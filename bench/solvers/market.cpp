// What LEMON and Clp take for the market's matching and for Gavel's program at the same size.
#include "../market.h"

#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include <cmath>
#include <coin/ClpSimplex.hpp>

#include "../bench.h"

namespace trainyard::bench {
namespace {

using Graph = lemon::SmartDigraph;
using Simplex = lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t>;

// LEMON counts in whole numbers: the largest worth is this.
constexpr double kLargest = 0x1p40;

}  // namespace

Solved match_by_lemon(const CategoryMatching& matching, bool by_worker) {
  Graph graph;
  Graph::ArcMap<std::int64_t> upper(graph), cost(graph);
  Graph::NodeMap<std::int64_t> supply(graph);
  std::vector<std::pair<Graph::Node, std::size_t>> sinks;  // and their kinds
  std::int64_t left = 0;
  for (std::size_t kind = 0; kind < matching.capacity.size(); ++kind)
    for (std::int32_t n = 0; n < (by_worker ? matching.capacity[kind] : 1); ++n) {
      sinks.emplace_back(graph.addNode(), kind);
      const std::int32_t each = by_worker ? 1 : matching.capacity[kind];
      supply[sinks.back().first] = -each;
      left += each;
    }
  const double scale = kLargest / std::ranges::max(matching.worth);
  for (std::size_t buyer = 0; buyer < matching.sizes.size(); ++buyer) {
    const Graph::Node node = graph.addNode();
    supply[node] = matching.sizes[buyer];
    left -= matching.sizes[buyer];
    for (const auto& [sink, kind] : sinks) {
      const double worth = matching.worth[buyer * matching.capacity.size() + kind];
      if (worth < 0) continue;
      const Graph::Arc arc = graph.addArc(node, sink);
      upper[arc] = by_worker ? 1 : matching.sizes[buyer];
      cost[arc] = -std::llround(worth * scale);
    }
  }
  const Graph::Node rest = graph.addNode();  // takes what no buyer takes
  supply[rest] = left;
  for (const auto& [sink, kind] : sinks) upper[graph.addArc(rest, sink)] = left;
  Solved solved;
  solved.s = seconds([&] {
    Simplex simplex(graph);
    simplex.upperMap(upper).costMap(cost).supplyMap(supply);
    if (simplex.run() != Simplex::OPTIMAL) std::abort();
    solved.worth = -simplex.totalCost<double>() / scale;
  });
  return solved;
}

double max_min_by_clp(const Market& market) {
  const int jobs = static_cast<int>(market.size()), kinds = static_cast<int>(market.kinds());
  const int share = jobs * kinds;  // the column of the least share, after those of times
  double gpus = 0;
  for (std::size_t kind = 0; kind < market.kinds(); ++kind) gpus += market.gpus(kind);
  std::vector<int> rows, columns;
  std::vector<double> values;
  const auto put = [&](int row, int column, double value) {
    rows.push_back(row);
    columns.push_back(column);
    values.push_back(value);
  };
  for (int i = 0; i < jobs; ++i) {
    const auto power = market.power(static_cast<std::size_t>(i));
    double equal = 0;
    for (int k = 0; k < kinds; ++k)
      equal += power[static_cast<std::size_t>(k)] * market.gpus(static_cast<std::size_t>(k)) / gpus;
    for (int k = 0; k < kinds; ++k) {
      put(i, i * kinds + k, power[static_cast<std::size_t>(k)] / equal);
      put(jobs + i, i * kinds + k, 1);
      put(2 * jobs + k, i * kinds + k, 4);  // GPUs
    }
    put(i, share, -1);
  }
  std::vector<double> lower(static_cast<std::size_t>(2 * jobs + kinds), -COIN_DBL_MAX);
  std::vector<double> upper(lower.size(), COIN_DBL_MAX);
  const auto row = [](int number) { return static_cast<std::size_t>(number); };
  for (int i = 0; i < jobs; ++i) {
    lower[row(i)] = 0;
    upper[row(jobs + i)] = 1;
  }
  for (int k = 0; k < kinds; ++k) upper[row(2 * jobs + k)] = market.gpus(row(k));
  const std::vector<double> none(static_cast<std::size_t>(share) + 1, 0);
  std::vector<double> goal = none;
  goal.back() = 1;
  const CoinPackedMatrix matrix(true, rows.data(), columns.data(), values.data(),
                                static_cast<CoinBigIndex>(values.size()));
  return seconds([&] {
    ClpSimplex model;
    model.setLogLevel(0);
    model.loadProblem(matrix, none.data(), nullptr, goal.data(), lower.data(), upper.data());
    model.setOptimizationDirection(-1);
    model.initialSolve();
    if (!model.isProvenOptimal()) std::abort();
  });
}

}  // namespace trainyard::bench
