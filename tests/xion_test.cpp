// What preempt=benefit promises: SRTF when pauses are free, no pause when they cost too much, and a
// sum of completion times near the best there is.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "best_schedule.h"
#include "sim/simulation.h"
#include "testing.h"

namespace trainyard {
namespace {

/// Start, end and pauses of every job.
std::vector<std::tuple<Time, Time, std::uint32_t>> schedule(const RandomCase& made,
                                                            const PolicySpec& spec) {
  Simulation simulation(made.cluster, made.workload, spec, {.seed = 1, .faults = made.faults});
  simulation.run();
  std::vector<std::tuple<Time, Time, std::uint32_t>> all;
  for (std::uint32_t j = 0; j < made.workload.jobs.size(); ++j) {
    const JobState& state = simulation.yard().state(JobId{j});
    all.emplace_back(state.first_start, state.end(), state.pauses);
  }
  return all;
}

/// Calls body(random) for random numbers from every seed.
template <class Body>
void for_cases(std::uint64_t count, Body body) {
  for_seeds(count, 5, [&](Random& random, std::uint64_t /*seed*/) { body(random); });
}

/// The same stages with another preemption.
std::string companions(Random& random) {
  const std::vector<std::string> orders{"srtf", "fifo", "srsf", "las"};
  const std::vector<std::string> backfills{"greedy", "none", "easy"};
  const std::vector<std::string> places{"first-fit", "best-fit", "consolidate"};
  return fmt::format("order={} backfill={} place={} yard.min_run={} yard.max_pauses=64 ",
                     orders[random.below(orders.size())], backfills[random.below(3)],
                     places[random.below(3)], random.below(2) == 0 ? "1m" : "0");
}

TEST(Xion, IsSrtfWhenPausesAreFree) {
  for_cases(1000, [](Random& random) {
    const RandomCase made = random_case(random, {.pause_costs = false});
    const std::string others = companions(random);
    EXPECT_EQ(schedule(made, parse_policy(others + "preempt=benefit")),
              schedule(made, parse_policy(others + "preempt=srtf-blind")))
        << others << "\n"
        << describe(made);
  });
}

TEST(Xion, ThePresetIsThatOfSrtfWhenPausesAreFree) {
  for_cases(500, [](Random& random) {
    const RandomCase made = random_case(random, {.pause_costs = false});
    EXPECT_EQ(schedule(made, parse_policy("xion")), schedule(made, parse_policy("srtf")))
        << describe(made);
  });
}

TEST(Xion, NeverPausesWhatCostsMoreThanAnythingCouldGain) {
  for_cases(500, [](Random& random) {
    RandomCase made = random_case(random, {.faults = false});
    for (Job& job : made.workload.jobs) job.save = kLongestDuration;
    const std::string others = companions(random);
    EXPECT_EQ(schedule(made, parse_policy(others + "preempt=benefit")),
              schedule(made, parse_policy(others + "preempt=none")))
        << others << "\n"
        << describe(made);
  });
}

/// Who was paused for whom.
class Turns final : public YardListener {
 public:
  explicit Turns(const Yard& yard) : yard_(yard) {}
  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    if (to != Phase::draining) return;
    pairs_.insert({job, yard_.making_room_for(job)});
    if (pairs_.contains({yard_.making_room_for(job), job})) taken_ = true;
  }
  [[nodiscard]] bool taken() const { return taken_; }
  [[nodiscard]] std::size_t pairs() const { return pairs_.size(); }

 private:
  const Yard& yard_;
  std::set<std::pair<JobId, JobId>> pairs_;
  bool taken_ = false;
};

TEST(Xion, NoTwoJobsTakeTurnsPausingEachOther) {
  std::size_t pairs = 0;
  for_cases(1000, [&](Random& random) {
    const RandomCase made = random_case(random);
    // With wrong estimates a job can believe itself shorter than one that paused it.
    const PolicySpec spec = parse_policy(
        "xion", {"yard.min_run=0", "yard.max_pauses=64", "yard.turn=never", "queue.error=0.9"});
    Simulation simulation(made.cluster, made.workload, spec, {.seed = 1, .faults = made.faults});
    Turns turns(simulation.yard());
    simulation.listen(turns);
    simulation.run();
    EXPECT_FALSE(turns.taken()) << describe(made);
    pairs += turns.pairs();
  });
  EXPECT_GT(pairs, 100U) << "or nothing was tested";
}

// --- Against the best schedule -------------------------------------------------------------------

constexpr std::int32_t kGpus = 2;

Workload few_jobs(Random& random) {
  const auto tens = [&](std::uint64_t least, std::uint64_t most) {
    return seconds(10) * static_cast<std::int64_t>(least + random.below(most - least + 1));
  };
  Workload workload;
  const std::uint64_t count = 2 + random.below(5), longest_cost = random.below(8);
  for (std::uint64_t i = 0; i < count; ++i) {
    Job job;
    job.submit = Time{} + tens(0, 30);
    job.duration = job.estimate = random.below(2) == 0 ? tens(1, 5) : tens(1, 40);
    job.workers = job.min_workers = job.max_workers =
        1 + static_cast<std::int32_t>(random.below(2));
    job.save = tens(0, longest_cost);
    job.load = tens(0, longest_cost);
    workload.jobs.push_back(job);
  }
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit < b.submit; });
  return workload;
}

Duration sum_of_jct(const Workload& workload, const std::string& policy) {
  const Cluster cluster = *parse_cluster_shorthand(fmt::format("1x{}xV100", kGpus));
  Simulation simulation(cluster, workload, parse_policy(policy, {"yard.min_run=0"}), {});
  simulation.run();
  Duration sum;
  for (std::uint32_t j = 0; j < workload.jobs.size(); ++j)
    sum += simulation.yard().state(JobId{j}).end() - workload.jobs[j].submit;
  return sum;
}

TEST(Xion, IsNearTheBestScheduleOfFewJobs) {
  std::map<std::string, double> gap{{"xion", 0}, {"srtf", 0}, {"fifo", 0}, {"sjf", 0}};
  double cases = 0;
  for_cases(100, [&](Random& random) {
    const Workload workload = few_jobs(random);
    std::map<std::string, Duration> sums;
    for (const auto& [policy, sum] : gap) sums[policy] = sum_of_jct(workload, policy);
    const Duration known =
        std::min_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->second;
    const Duration best = BestSchedule(workload.jobs, kGpus).sum(known);
    for (auto& [policy, sum] : gap) {
      ASSERT_GE(sums[policy], best);
      sum += sums[policy].seconds() / best.seconds() - 1;
    }
    ++cases;
  });
  for (const auto& [policy, sum] : gap) {
    std::printf("%s: mean JCT %.1f%% above the best schedule's, mean of %.0f cases\n",
                policy.c_str(), 100 * sum / cases, cases);
    RecordProperty("gap_percent_" + policy, std::to_string(100 * sum / cases));
  }
  if (cases < 100) return;  // a seed of its own
  EXPECT_LT(gap["xion"] / cases, 0.03);
  EXPECT_LT(gap["xion"], gap["srtf"]);
  EXPECT_LT(gap["xion"], gap["fifo"]);
}

}  // namespace
}  // namespace trainyard
