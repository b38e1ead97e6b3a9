// The simulator against queueing theory: mean times that are known exactly for Poisson arrivals,
// and identities that hold on every path.
//
// M/M/c, first come first served (Erlang 1917): with a = lambda / mu and rho = a / c the mean wait
// is C / (c mu - lambda), where C = B / (1 - rho (1 - B)) is the share of jobs that wait and B is
// Erlang's loss formula, B(0) = 1, B(n) = a B(n-1) / (n + a B(n-1)). M/G/1, first come first served
// (Pollaczek, Khinchine): lambda E[S^2] / (2 (1 - rho)). M/G/1, shortest remaining time first
// (Schrage and Miller 1966): a job of size x takes
//   (lambda (integral_0^x t^2 f + x^2 (1 - F(x)))) / (2 (1 - rho(x))^2) + integral_0^x dt / (1 -
//   rho(t)),
// rho(x) = lambda integral_0^x t f.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <queue>

#include "sim/simulation.h"
#include "testing.h"
#include "workload/generate/generate.h"

namespace trainyard {
namespace {

constexpr double kTolerance = 0.02;
constexpr std::array<std::uint64_t, 3> kSeeds{1, 2, 3};

Cluster gpus(std::int32_t count) {
  return unwrap(parse_cluster_shorthand(fmt::format("1x{}xV100", count)));
}

/// The mean over some seeds of what `measure` reads from the result.
template <class Measure>
double simulated_mean(const Cluster& cluster, const std::string& workload,
                      const std::string& policy, Measure measure) {
  double sum = 0;
  for (const std::uint64_t seed : kSeeds) {
    const Workload jobs = unwrap(generate(workload, cluster, seed));
    Simulation simulation(cluster, jobs, unwrap(PolicySpec::parse(policy)), {});
    simulation.run();
    sum += measure(simulation.result());
  }
  return sum / kSeeds.size();
}

double mean_wait(const Result& result) {
  return result.all.wait_s.mean;
}

// --- Known means. The mean duration is 1000 s. ---------------------------------------------------

constexpr double kMean = 1000;

double erlang_wait(int servers, double rho, double mean_s) {
  const double offered = rho * servers;
  double loss = 1;
  for (int n = 1; n <= servers; ++n) loss = offered * loss / (n + offered * loss);
  const double waits = loss / (1 - rho * (1 - loss));
  return waits * mean_s / (servers - offered);
}

struct Station {
  int servers;
  double rho;
  int jobs;
};

class Mmc : public testing::TestWithParam<Station> {};

/// By the load that was drawn: near saturation the wait follows every tenth of a percent of it.
TEST_P(Mmc, MeanWaitIsErlangs) {
  const auto [servers, rho, jobs] = GetParam();
  const Cluster cluster = gpus(servers);
  double found = 0, wanted = 0;
  for (const std::uint64_t seed : kSeeds) {
    const Workload drawn = unwrap(
        generate(fmt::format("poisson:jobs={},load={},mean=1000s", jobs, rho), cluster, seed));
    Simulation simulation(cluster, drawn, unwrap(PolicySpec::parse("fifo")), {});
    simulation.run();
    found += simulation.result().all.wait_s.mean;
    double work_s = 0;
    for (const Job& job : drawn.jobs) work_s += job.duration.seconds();
    const double drawn_rho = work_s / (drawn.jobs.back().submit.seconds() * servers);
    EXPECT_NEAR(drawn_rho, rho, 0.01 * rho);
    wanted += erlang_wait(servers, drawn_rho, work_s / jobs);
  }
  EXPECT_NEAR(found, wanted, kTolerance * wanted);
}

std::string station_name(const testing::TestParamInfo<Station>& station) {
  return fmt::format("{}_servers_load_{}", station.param.servers,
                     std::lround(station.param.rho * 100));
}

INSTANTIATE_TEST_SUITE_P(Queueing, Mmc,
                         testing::Values(Station{1, 0.5, 100'000}, Station{1, 0.7, 250'000},
                                         Station{2, 0.6, 200'000}, Station{4, 0.7, 250'000},
                                         Station{8, 0.8, 400'000}),
                         station_name);

TEST(Mg1, MeanWaitIsPollaczeksAndKhinchines) {
  const auto found = [](const std::string& law) {
    return simulated_mean(gpus(1), "poisson:jobs=200000,load=0.6,mean=1000s,duration=" + law,
                          "fifo", mean_wait);
  };
  const auto wanted = [](double squared_variation) {  // E[S^2] = (1 + c^2) E[S]^2
    return 0.6 * (1 + squared_variation) * kMean / (2 * (1 - 0.6));
  };
  EXPECT_NEAR(found("fixed"), wanted(0), kTolerance * wanted(0));
  const double lognormal = std::exp(0.8 * 0.8) - 1;
  EXPECT_NEAR(found("lognormal,sigma=0.8"), wanted(lognormal), kTolerance * wanted(lognormal));
}

/// Exponential sizes of mean 1. Both integrals of a job's time have closed forms but for the last.
double srpt_mean_response(double rho) {
  constexpr double kLargest = 40, kStep = 1e-4;
  double response = 0, residence = 0;  // residence: integral of 1 / (1 - rho(t)) up to x
  for (double x = kStep / 2; x < kLargest; x += kStep) {
    const double tail = std::exp(-x);
    const double load = rho * (1 - tail * (1 + x));                        // rho(x)
    const double squares = 2 - tail * (x * x + 2 * x + 2) + x * x * tail;  // of sizes cut at x
    residence += kStep / (1 - load);
    const double wait = rho * squares / (2 * (1 - load) * (1 - load));
    response += (wait + residence) * tail * kStep;
  }
  return response;
}

TEST(Mm1, MeanResponseUnderSrtfIsSchragesAndMillers) {
  EXPECT_NEAR(srpt_mean_response(0.001), 1, 0.002);  // alone, a job takes its own time
  for (const double rho : {0.5, 0.8}) {
    const double found =
        simulated_mean(gpus(1), fmt::format("poisson:jobs=200000,load={},mean=1000s", rho),
                       "order=srtf preempt=srtf-blind yard.min_run=0 yard.max_pauses=60000 "
                       "queue.patience=never",
                       [](const Result& result) { return result.all.jct_s.mean; });
    const double wanted = kMean * srpt_mean_response(rho);
    EXPECT_NEAR(found, wanted, kTolerance * wanted) << "load " << rho;
  }
}

// --- On every path -------------------------------------------------------------------------------

/// Each job takes the server that is free first (Kiefer and Wolfowitz's recursion).
TEST(Queueing, FifoStartsEveryJobWhenTheRecursionSays) {
  const Cluster cluster = gpus(7);
  const Workload jobs = unwrap(generate("poisson:jobs=50000,load=0.95,mean=1000s", cluster, 3));
  Simulation simulation(cluster, jobs, unwrap(PolicySpec::parse("fifo")), {});
  simulation.run();
  std::priority_queue<Time, std::vector<Time>, std::greater<>> free_at;
  for (int server = 0; server < 7; ++server) free_at.push(Time{});
  for (std::size_t j = 0; j < jobs.jobs.size(); ++j) {
    const Time start = std::max(jobs.jobs[j].submit, free_at.top());
    free_at.pop();
    free_at.push(start + jobs.jobs[j].duration);
    ASSERT_EQ(simulation.yard().state(JobId{static_cast<std::uint32_t>(j)}).first_start, start)
        << j;
  }
}

/// Counts who waits, who is in the system and what is held, over time.
class Census : public YardListener {
 public:
  explicit Census(const Yard& yard) : yard_(yard) {}

  void on_phase(JobId job, Phase from, Phase to) override {
    const std::int64_t passed = (yard_.now() - last_).us;
    last_ = yard_.now();
    waiting_us += waiting_ * passed;
    present_us += present_ * passed;
    held_us += held_ * passed;
    const auto waits = [](Phase p) { return p == Phase::queued || p == Phase::reserved; };
    waiting_ += waits(to) - waits(from);
    present_ += (from == Phase::absent) - has_ended(to);
    held_ += (holds_gpus(to) - holds_gpus(from)) * yard_.job(job).gpus();
  }

  std::int64_t waiting_us = 0, present_us = 0, held_us = 0;

 private:
  const Yard& yard_;
  Time last_;
  std::int64_t waiting_ = 0, present_ = 0, held_ = 0;
};

class LittlesLaw : public testing::TestWithParam<std::string> {};

/// The integral of the number in the queue is the sum of the waits, to the microsecond; so it is
/// for the system and the times of completion, and for GPUs and the time that they were held.
TEST_P(LittlesLaw, Holds) {
  const Cluster cluster = unwrap(parse_cluster_shorthand("4x8xV100"));
  Workload jobs =
      unwrap(generate("philly-like:jobs=3000,load=0.9,trial=0.3,save=20,load_time=15", cluster, 5));
  Simulation simulation(cluster, jobs, unwrap(PolicySpec::parse(GetParam())), {});
  Census census(simulation.yard());
  simulation.listen(census);
  simulation.run();
  std::int64_t waited = 0, completion = 0, held = 0;
  for (std::size_t j = 0; j < jobs.jobs.size(); ++j) {
    const JobState& state = simulation.yard().state(JobId{static_cast<std::uint32_t>(j)});
    waited += state.waited.us;
    completion += (state.end() - jobs.jobs[j].submit).us;
    held += (state.done + state.lost).us * jobs.jobs[j].gpus();
    EXPECT_EQ(state.end() - jobs.jobs[j].submit,
              state.waited + state.done + state.lost + state.slowed)
        << j;
  }
  EXPECT_EQ(census.waiting_us, waited);
  EXPECT_EQ(census.present_us, completion);
  EXPECT_EQ(census.held_us, held);
  const Result result = simulation.result();
  const double capacity_s = result.makespan_s * cluster.total_gpus;
  EXPECT_NEAR(result.gpu_utilization * capacity_s, static_cast<double>(held) / 1e6,
              1e-9 * capacity_s);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Queueing, LittlesLaw, testing::ValuesIn(preset_names()),
                         [](const auto& preset) { return as_test_name(preset.param); });

}  // namespace
}  // namespace trainyard
