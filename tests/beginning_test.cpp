// A simulation that begins from a saved one, with exact times and nobody coming, does what the
// first one does: every job starts and ends at the same microsecond, under every policy. So a
// forecast is what will come, as far as the times are known, and a daemon that restarts decides as
// if it had not. Jobs of these cases share no network: what they are in the middle of sending is
// not saved (sim/beginning.h). A failure prints the seed that repeats it (TRAINYARD_TEST_SEED=n).
#include <gtest/gtest.h>

#include <algorithm>

#include "every_policy.h"
#include "sim/simulation.h"
#include "testing.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kBeginningStream = 9;  // of random numbers

/// Each start of every job, with its machines, and each end.
class Timetable final : public YardListener {
 public:
  explicit Timetable(const Simulation& simulation) : yard_(simulation.yard()) {}

  void on_phase(JobId job, Phase from, Phase to) override {
    std::string there;
    if (to == Phase::starting)
      for (const Share& share : yard_.placement(job))
        there += fmt::format(" {} on {}", share.workers, index(share.machine));
    if (is_on_ && (holds_gpus(from) || holds_gpus(to)))
      lines_.push_back(fmt::format("{:>16} us: job {} {} to {}{}", yard_.now().us, index(job),
                                   name(from), name(to), there));
  }
  void begin() { is_on_ = true; }
  /// What happens at one instant may happen in any order.
  [[nodiscard]] std::vector<std::string> sorted() const {
    std::vector<std::string> lines = lines_;
    std::ranges::sort(lines);
    return lines;
  }

 private:
  const Yard& yard_;
  bool is_on_ = false;
  std::vector<std::string> lines_;
};

/// The first line that one of them has and the other has not; empty: they are the same.
std::string difference(const std::vector<std::string>& expected,
                       const std::vector<std::string>& begun) {
  const auto [a, b] = std::ranges::mismatch(expected, begun);
  if (a == expected.end() && b == begun.end()) return {};
  return fmt::format("expected {}, found {}", a == expected.end() ? "nothing" : *a,
                     b == begun.end() ? "nothing" : *b);
}

/// The jobs that have come by then.
Workload known_at(Workload workload, Time at) {
  std::erase_if(workload.jobs, [&](const Job& job) { return job.submit > at; });
  if (!workload.curves.empty()) workload.curves.resize(workload.jobs.size());
  return workload;
}

/// Some instant while there is something to do.
Time random_instant(Random& random, const RandomCase& made, const PolicySpec& spec,
                    const SimOptions& options) {
  Simulation whole(made.cluster, made.workload, spec, options);
  whole.run();
  const Time first = made.workload.jobs.front().submit, last = whole.yard().now();
  return first + Duration{static_cast<std::int64_t>(
                     random.below(static_cast<std::uint64_t>((last - first).us) + 1))};
}

/// Saves the case at a random instant, and compares what a simulation does that begins from there.
void expect_same_again(Random& random, std::uint64_t seed, const RandomCase& made,
                       const PolicySpec& spec) {
  SimOptions options{.seed = seed, .faults = made.faults, .revisions = made.revisions};
  const Time at = random_instant(random, made, spec, options);
  const Workload workload = known_at(made.workload, at);
  std::erase_if(options.revisions,
                [&](const Event& each) { return each.subject >= workload.jobs.size(); });
  Simulation first(made.cluster, workload, spec, options);
  Timetable expected(first);
  first.listen(expected);
  first.run_until(at);
  const Beginning saved = first.save();
  expected.begin();
  first.run();

  Simulation second(made.cluster, workload, spec, options);
  Timetable begun(second);
  second.listen(begun);
  const Expected<void> done = second.begin(saved);
  ASSERT_TRUE(done) << done.error().message;
  begun.begin();
  second.run();
  EXPECT_EQ(difference(expected.sorted(), begun.sorted()), "")
      << "from " << at.us << " us under " << spec.name() << "\n"
      << describe(made);
}

class EveryPolicyBegins : public testing::TestWithParam<std::string> {};

TEST_P(EveryPolicyBegins, AgainWhereItWasSaved) {
  for_seeds(25, kBeginningStream, [&](Random& random, std::uint64_t seed) {
    const RandomCase made = random_case(random);
    expect_same_again(random, seed, made, parse_policy(GetParam(), random_rules(random)));
  });
}

/// Members of all stages and joint policies among companions of all kinds.
TEST(RandomPolicies, BeginAgainWhereTheyWereSaved) {
  for_seeds(100, kBeginningStream, [&](Random& random, std::uint64_t seed) {
    const RandomCase made = random_case(random);
    expect_same_again(random, seed, made, parse_policy(random_policy(random)));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicyBegins, testing::ValuesIn(all_policies()),
                         [](const auto& line) {
                           return fmt::format("{}_{}", line.index,
                                              as_test_name(line.param).substr(0, 80));
                         });

}  // namespace
}  // namespace trainyard
