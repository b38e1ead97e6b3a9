#include "study/instances.h"

#include <ctime>
#include <map>
#include <string>

#include "market/exact.h"
#include "market/random_market.h"
#include "market/solve.h"

namespace trainyard {
namespace {

constexpr std::string_view kPrefix = "instances:";
constexpr double kFairness = 0.5;  // the policy's default
constexpr int kEvenDraws = 459;    // 99% to hit the best 1% of categories

struct Set {
  std::string_view name;
  int markets;  // for each seed
  MarketShape shape;
};

const std::vector<Set>& sets() {
  static const std::vector<Set> all{
      {"small", 20, {.buyers = 3, .gpus = std::vector<std::int32_t>(9, 1)}},
      {"large", 1, {.buyers = 8, .gpus = {12, 12, 12, 12}}}};
  return all;
}

const Set* find_set(std::string_view policy) {
  policy.remove_prefix(kPrefix.size());
  const auto found = std::ranges::find(sets(), policy, &Set::name);
  return found == sets().end() ? nullptr : &*found;
}

/// CPU time of this thread.
double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double equal_split_of(const Market& market, std::size_t i) {
  return equal_split_s(market.buyer(i), market.power(i), market.gpus(), market.size());
}

/// The same buyers, with what an equal split would give them.
Market with_fairness(const Market& market, double fairness) {
  Market fair(market.gpus(), fairness);
  for (std::size_t i = 0; i < market.size(); ++i) {
    Buyer buyer = market.buyer(i);
    buyer.fair_s = equal_split_of(market, i);
    fair.add(buyer, market.power(i));
  }
  return fair;
}

double jain(const Market& market, const Allocation& allocation) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < market.size(); ++i) {
    const double ratio =
        completion_s(market.buyer(i), market.power(i, allocation.of(i)), allocation.workers(i)) /
        equal_split_of(market, i);
    sum += ratio;
    squares += ratio * ratio;
  }
  return sum * sum / (static_cast<double>(market.size()) * squares);
}

class Tally {
 public:
  void add(const std::string& name, double value) {
    sums_[name] += value;
    const auto [worst, is_new] = worst_.emplace(name, value);
    if (!is_new) worst->second = std::max(worst->second, value);
  }
  [[nodiscard]] double mean(const std::string& name, int markets) const {
    return sums_.at(name) / markets;
  }
  [[nodiscard]] double worst(const std::string& name) const { return worst_.at(name); }

 private:
  std::map<std::string, double> sums_, worst_;
};

}  // namespace

bool names_instances(std::string_view policy) {
  return policy.starts_with(kPrefix);
}

Expected<void> check_instances(std::string_view policy) {
  if (find_set(policy) != nullptr) return {};
  return fail("there are no {}; known are instances:small and instances:large", quoted(policy));
}

Metrics solve_instances(std::string_view policy, std::uint64_t seed) {
  const Set& set = *find_set(policy);
  Tally tally;
  double exact_s = 0, ours_s = 0;
  for (int m = 0; m < set.markets; ++m) {
    const RandomMarket random = random_market(
        seed * static_cast<std::uint64_t>(set.markets) + static_cast<std::uint64_t>(m), set.shape);
    const Market& market = random.market;
    const double begin = cpu_s();
    const double best = market.cost(solve_exactly(market));
    const double middle = cpu_s();
    const Allocation ours = solve(market);
    ours_s += cpu_s() - middle;
    exact_s += middle - begin;
    tally.add("gap", market.cost(ours) / best - 1);
    const Allocation even =
        solve(market, {.draw = SolveOptions::Draw::even, .draws = kEvenDraws, .trades = false});
    tally.add("even_gap", market.cost(even) / best - 1);
    const Allocation fair = solve(with_fairness(market, kFairness));
    tally.add("jain", jain(market, fair));
    tally.add("jain_unweighted", jain(market, ours));
    tally.add("fairness_cost", market.cost(fair) / market.cost(ours) - 1);
  }
  Metrics metrics;
  for (const char* name : {"gap", "even_gap"}) {
    metrics[fmt::format("{}.mean", name)] = tally.mean(name, set.markets);
    metrics[fmt::format("{}.worst", name)] = tally.worst(name);
  }
  for (const char* name : {"jain", "jain_unweighted", "fairness_cost"})
    metrics[name] = tally.mean(name, set.markets);
  metrics["speedup"] = exact_s / ours_s;
  return metrics;
}

}  // namespace trainyard
