#include "study/compare.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>

namespace trainyard {
namespace {

Expected<void> check(const CompareOptions& options) {
  if (options.policies.empty()) return fail("no policy to compare; name at least one");
  if (options.seeds.empty()) return fail("no seed to run with; give at least one");
  if (options.threads < 0)
    return fail("{} threads; give 1 or more, or 0 for one a core", options.threads);
  std::set<std::string> policies;
  for (const std::string& policy : options.policies)
    if (!policies.insert(policy).second)
      return fail("policy {} is named twice; name each once", quoted(policy));
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : options.seeds)
    if (!seeds.insert(seed).second) return fail("seed {} is given twice; give each once", seed);
  return {};
}

void lower_to(std::atomic<std::size_t>& least, std::size_t value) {
  std::size_t seen = least.load();
  while (value < seen && !least.compare_exchange_weak(seen, value)) {
  }
}

/// Calls work(0) .. work(count - 1), each once, from so many threads.
template <class Work>
void in_parallel(std::size_t count, std::size_t threads, Work work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> crew;
  for (std::size_t t = 0; t < std::min(threads, count); ++t)
    crew.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    });
}

}  // namespace

Expected<std::vector<PolicyRuns>> run_all(const CompareOptions& options, const Simulate& simulate) {
  if (const auto valid = check(options); !valid) return tl::make_unexpected(valid.error());
  const std::size_t seeds = options.seeds.size();
  const std::size_t count = options.policies.size() * seeds;
  std::vector<std::optional<Expected<Run>>> done(count);
  // A run is left out only when one before it failed, so the first failure is always found.
  std::atomic<std::size_t> first_failed = count;

  const auto run_one = [&](std::size_t i) {
    if (i > first_failed.load()) return;
    done[i] = simulate(options.policies[i / seeds], options.seeds[i % seeds]);
    if (!done[i]->has_value()) lower_to(first_failed, i);
    options.on_run_done();
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  in_parallel(count, options.threads == 0 ? cores : static_cast<std::size_t>(options.threads),
              run_one);
  if (first_failed < count) return tl::make_unexpected(done[first_failed]->error());

  std::vector<PolicyRuns> result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& policy = options.policies[i / seeds];
    if (i % seeds == 0) result.push_back({policy, {}});
    Run& run = **done[i];
    run.result.policy = policy;
    run.result.seed = options.seeds[i % seeds];
    result.back().runs.push_back(std::move(run));
  }
  return result;
}

Interval over_seeds(const PolicyRuns& policy, const std::function<double(const Result&)>& metric) {
  std::vector<double> values;
  for (const Run& run : policy.runs) values.push_back(metric(run.result));
  return mean_interval(values);
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
