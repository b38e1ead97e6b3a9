#include "study/compare.h"

#include <algorithm>
#include <set>

#include "study/parallel.h"

namespace trainyard {
namespace {

Expected<void> check(const CompareOptions& options) {
  if (options.policies.empty()) return fail("no policy to compare; name at least one");
  if (options.seeds.empty()) return fail("no seed to run with; give at least one");
  std::set<std::string> policies;
  for (const std::string& policy : options.policies)
    if (!policies.insert(policy).second)
      return fail("policy {} is named twice; name each once", quoted(policy));
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : options.seeds)
    if (!seeds.insert(seed).second) return fail("seed {} is given twice; give each once", seed);
  return {};
}

}  // namespace

Expected<std::vector<PolicyRuns>> run_all(const CompareOptions& options, const Simulate& simulate) {
  if (const auto valid = check(options); !valid) return tl::make_unexpected(valid.error());
  const std::size_t seeds = options.seeds.size();
  const std::size_t count = options.policies.size() * seeds;
  std::vector<Run> done(count);
  const auto all = in_parallel(count, options.threads, [&](std::size_t i) -> Expected<void> {
    auto run = simulate(options.policies[i / seeds], options.seeds[i % seeds]);
    options.on_run_done();
    if (!run) return tl::make_unexpected(run.error());
    done[i] = std::move(*run);
    return {};
  });
  if (!all) return tl::make_unexpected(all.error());

  std::vector<PolicyRuns> result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& policy = options.policies[i / seeds];
    if (i % seeds == 0) result.push_back({policy, {}});
    Run& run = done[i];
    run.result.policy = policy;
    run.result.seed = options.seeds[i % seeds];
    result.back().runs.push_back(std::move(run));
  }
  return result;
}

std::vector<double> over_seeds(const PolicyRuns& policy,
                               const std::function<double(const Result&)>& metric) {
  std::vector<double> values;
  for (const Run& run : policy.runs) values.push_back(metric(run.result));
  return values;
}

bool has_both_classes(const Comparison& comparison) {
  const auto any = [&](JobTimes Result::*times) {
    return std::ranges::any_of(comparison.policies, [&](const PolicyRuns& policy) {
      return std::ranges::any_of(policy.runs,
                                 [&](const Run& run) { return (run.result.*times).jobs > 0; });
    });
  };
  return any(&Result::trial) && any(&Result::batch);
}

}  // namespace trainyard
