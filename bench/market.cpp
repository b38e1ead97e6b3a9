// How long the market takes: a round of 1,000 jobs on 4,096 GPUs of 4 kinds, how that grows, one
// arrival into a settled market, the matching beside other solvers, and the exact solution.
#include "market.h"

#include <fmt/format.h>

#include "bench.h"
#include "market/exact.h"
#include "market/matching.h"
#include "market/solve.h"
#include "market/testing.h"
#include "market/trading.h"
#include "sim/simulation.h"

namespace trainyard::bench {
namespace {

constexpr std::size_t kJobs = 1000;
constexpr std::int32_t kGpus = 4096;
constexpr double kPause = 3;  // a hundredth of a mean job's time on one worker

RandomMarket make_market(std::size_t jobs, std::int32_t gpus, std::uint64_t seed = 1) {
  return random_market(seed, {.buyers = jobs,
                              .gpus = std::vector<std::int32_t>(4, gpus / 4),
                              .max_workers = 16,
                              .communication = 0.2});
}

double round_ms(std::size_t jobs, std::int32_t gpus, int draws) {
  const RandomMarket made = make_market(jobs, gpus);
  return median_of(5, [&] {
    return 1e3 * seconds([&] { keep(solve(made.market, {.draws = draws}).workers(0)); });
  });
}

void measure_rounds(Table& table) {
  if (!table.wants("market/round")) return;
  table.add({"market: a round of 1,000 jobs on 4,096 GPUs of 4 kinds",
             round_ms(kJobs, kGpus, 1),
             "ms",
             Target{Target::Is::at_most, 50},
             {},
             fmt::format("{} with 8 draws", number(round_ms(kJobs, kGpus, 8)))});
  for (const std::size_t jobs : {250, 500, 2000, 4000})
    table.add({fmt::format("market: a round of {} jobs", jobs), round_ms(jobs, kGpus, 1), "ms"});
  for (const std::int32_t gpus : {1024, 2048, 8192, 16384})
    table.add({fmt::format("market: a round on {} GPUs", gpus), round_ms(kJobs, gpus, 1), "ms"});
}

/// Everybody has what the market gave, and one more comes.
void measure_arrival(Table& table) {
  if (!table.wants("market/arrival")) return;
  constexpr std::size_t kArrivals = 1000;
  const RandomMarket made = make_market(kJobs, kGpus), others = make_market(kArrivals, kGpus, 2);
  const Allocation has = solve(made.market, {.draws = 1});
  Market settled(std::vector<std::int32_t>(4, kGpus / 4));
  for (std::size_t i = 0; i < kJobs; ++i) {
    Buyer buyer = made.market.buyer(i);
    buyer.pause_s = kPause;
    settled.add(buyer, made.market.power(i), has.of(i));
  }
  std::vector<double> ms;
  for (std::size_t a = 0; a < kArrivals; ++a) {
    Market market = settled;
    market.add(others.market.buyer(a), others.market.power(a));
    ms.push_back(1e3 * seconds([&] { keep(trade(market, market.has()).workers(kJobs)); }));
  }
  std::ranges::sort(ms);
  table.add({"market: one arrival among 1,000 settled, p99",
             ms[kArrivals * 99 / 100],
             "ms",
             Target{Target::Is::at_most, 2},
             {},
             fmt::format("p50 {}, max {}", number(ms[kArrivals / 2]), number(ms.back()))});
}

/// Four kinds of GPU, 16 racks of 32 machines of 8, and elastic jobs that are all there at once;
/// then one comes every second.
struct WholeRounds {
  static constexpr std::size_t kComing = 200;

  WholeRounds() {
    std::string toml;
    for (const char* kind : {"A100", "V100", "P100", "K80"})
      toml += fmt::format(
          "[[rack]]\ncount = 4\n[[rack.machine]]\ncount = 32\ngpus = 8\nkind = \"{}\"\n"
          "nic_gbps = 100\n",
          kind);
    cluster = *parse_cluster_toml(toml, "bench");
    for (const char* model : {"ResNet-50", "VGG-16", "InceptionV3"}) workload.models.add(model);
    workload.kinds.add("V100");
    Random random(1, 1);
    for (std::size_t i = 0; i < kJobs + kComing; ++i) {
      Job job;
      job.workers = 1 << random.below(4);
      job.min_workers = std::max(1, job.workers / 2);
      job.max_workers = 2 * job.workers;
      job.model = ModelId{static_cast<std::uint16_t>(random.below(workload.models.size()))};
      job.measured_on = KindId{0};
      job.duration = job.estimate =
          trainyard::seconds(3600) * static_cast<std::int64_t>(1 + random.below(10));
      if (i >= kJobs)
        job.submit = Time{} + trainyard::seconds(static_cast<std::int64_t>(i - kJobs + 1));
      workload.jobs.push_back(job);
    }
  }

  Cluster cluster;
  Workload workload;
};

/// Not the market alone, but all that the policy does with it: places, and how they share links.
void measure_whole_rounds(Table& table) {
  if (!table.wants("market/whole")) return;
  const WholeRounds made;
  Simulation simulation(made.cluster, made.workload, PolicySpec::parse("market").value(),
                        {.network = {.model = NetworkOptions::Model::fluid}});
  const auto step_ms = [&] { return 1e3 * seconds([&] { simulation.step(); }); };
  table.add({"market: the first round, with places on shared links", step_ms(), "ms"});
  std::vector<double> arrivals;
  while (simulation.next() < Time{} + minutes(5)) arrivals.push_back(step_ms());
  const double second_ms = step_ms();
  std::ranges::sort(arrivals);
  table.add({"market: one arrival, with a place on shared links, p99",
             arrivals[arrivals.size() * 99 / 100],
             "ms",
             {},
             {},
             fmt::format("p50 {}, max {}", number(arrivals[arrivals.size() / 2]),
                         number(arrivals.back()))});
  table.add({"market: the second round, with places on shared links", second_ms, "ms"});
}

/// Sizes from 1 to 7, and worths as at workers of mean power.
CategoryMatching make_matching(const Market& market) {
  Random random(3);
  CategoryMatching made;
  std::int32_t left = kGpus - static_cast<std::int32_t>(market.size());
  for (std::size_t kind = 0; kind < market.kinds(); ++kind)
    made.capacity.push_back(market.gpus(kind));
  for (std::size_t i = 0; i < market.size(); ++i) {
    const std::int32_t more = std::min(left, static_cast<std::int32_t>(random.below(7)));
    left -= more;
    made.sizes.push_back(1 + more);
    const double power = 5.5 * made.sizes.back();
    const double scale = market.buyer(i).iterations * market.buyer(i).unit_s / (power * power);
    for (const double each : market.power(i)) made.worth.push_back(scale * each);
  }
  return made;
}

void add_ratio(Table& table, const std::string& name, const Solved& solved, const Solved& ours,
               std::optional<Target> target = {}) {
  table.add({"market: " + name + " over our matching's time",
             solved.s / ours.s,
             "x",
             target,
             {},
             fmt::format("{} ms; worth {} of ours", number(solved.s * 1e3),
                         number(solved.worth / ours.worth))});
}

void measure_matching(Table& table) {
  if (!table.wants("market/matching")) return;
  const RandomMarket made = make_market(kJobs, kGpus);
  const CategoryMatching matching = make_matching(made.market);
  Solved ours;
  ours.s = median_of(21, [&] {
    return seconds(
        [&] { ours.worth = match(matching.capacity, matching.sizes, matching.worth)->worth; });
  });
  table.add({"market: the matching of 1,000 jobs and 4,096 GPUs", ours.s * 1e3, "ms"});
  add_ratio(table, "an auction to 0.1%", match_by_auction(matching, 1e-3), ours);
#ifdef TRAINYARD_SOLVERS
  Solved by_kind;
  const double by_kind_s = median_of(21, [&] {
    by_kind = match_by_lemon(matching, false);
    return by_kind.s;
  });
  add_ratio(table, "LEMON, a node for each kind,", {by_kind_s, by_kind.worth}, ours);
  add_ratio(table, "LEMON, a node for each worker,", match_by_lemon(matching, true), ours,
            Target{Target::Is::at_least, 5});
  const double clp_s = median_of(3, [&] { return max_min_by_clp(made.market); });
  table.add({"market: Gavel's max-min program by Clp over our round's time",
             clp_s * 1e3 / round_ms(kJobs, kGpus, 1),
             "x",
             {},
             {},
             fmt::format("{} ms", number(clp_s * 1e3))});
#endif
}

/// At the largest size where it ends in time, of markets with two jobs for each GPU of a kind.
void measure_exact(Table& table) {
  if (!table.wants("market/exact")) return;
  const char* asked = std::getenv("TRAINYARD_EXACT_S");
  const double limit_s = asked != nullptr ? std::atof(asked) : 3;
  double exact_s = 0, ours_s = 0, gap = 0, steps = 0;
  std::int32_t gpus = 2;
  for (;; ++gpus) {
    const RandomMarket made = make_market(2 * static_cast<std::size_t>(gpus), 4 * gpus);
    const double now = exact_steps(made.market);
    if (steps > 0 && exact_s * now / steps > limit_s) break;
    steps = now;
    Allocation best(4), found(4);
    exact_s = seconds([&] { best = solve_exactly(made.market); });
    ours_s = seconds([&] { found = solve(made.market); });
    gap = made.market.cost(found) / made.market.cost(best) - 1;
  }
  --gpus;
  table.add({fmt::format("market: the exact solver's time over ours, {} jobs on {} GPUs", 2 * gpus,
                         4 * gpus),
             exact_s / ours_s,
             "x",
             Target{Target::Is::at_least, 100},
             {},
             fmt::format("{} s; {} s allowed (TRAINYARD_EXACT_S); ours is {:.4f}% above it",
                         number(exact_s), number(limit_s), 100 * gap)});
}

}  // namespace

void measure_market(Table& table) {
  measure_rounds(table);
  measure_arrival(table);
  measure_whole_rounds(table);
  measure_matching(table);
  measure_exact(table);
}

}  // namespace trainyard::bench
