#include "study/reproduce/plan.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "network/shared_network.h"
#include "policy/registry.h"
#include "study/instances.h"

namespace trainyard {
namespace {

std::string replaced(std::string text, std::string_view place, const std::string& by) {
  for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place))
    text.replace(at, place.size(), by);
  return text;
}

std::string with_jobs(std::string text, std::size_t jobs) {
  return replaced(std::move(text), "{jobs}", std::to_string(jobs));
}

std::string with_policy(std::string text, const StudyPolicy& policy) {
  std::string line = policy.line;
  for (const std::string& setting : policy.settings) line += " " + setting;
  return replaced(std::move(text), "{policy}", line);
}

Expected<void> check(const Condition& condition) {
  if (const auto cluster = parse_study_cluster(condition.cluster); !cluster)
    return fail_at(condition.name, cluster.error());
  if (const auto network = parse_network(condition.network); !network)
    return fail_at(condition.name, network.error());
  for (const StudyPolicy& policy : condition.policies) {
    if (names_instances(policy.line)) {
      if (auto ok = check_instances(policy.line); !ok) return fail_at(condition.name, ok.error());
      continue;
    }
    if (const auto spec = PolicySpec::parse(policy.line, policy.settings); !spec)
      return fail_at(fmt::format("{}, {}", condition.name, policy.label), spec.error());
  }
  return {};
}

Condition swept(const Study& study, const Sweep& sweep, const std::string& value,
                std::size_t jobs) {
  Condition condition = study.base;
  sweep.change(condition, value);
  condition.name = fmt::format("{} = {}", sweep.axis, value);
  condition.workload = with_jobs(condition.workload, jobs);
  return condition;
}

/// Adds the runs of a condition that are not there yet.
Expected<void> add_runs(const Condition& condition, int seeds, std::set<StudyRun>& runs) {
  if (auto ok = check(condition); !ok) return ok;
  for (const StudyPolicy& policy : condition.policies)
    for (int seed = 1; seed <= seeds; ++seed)
      runs.insert(run_of(condition, policy, static_cast<std::uint64_t>(seed)));
  return {};
}

}  // namespace

std::size_t StudyPlan::index(const StudyRun& run) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(runs, run) - runs.begin());
}

StudyRun run_of(const Condition& condition, const StudyPolicy& policy, std::uint64_t seed) {
  if (names_instances(policy.line)) return {{}, {}, seed, policy.line, {}};
  return {condition.cluster,
          with_policy(condition.workload, policy),
          seed,
          policy.line,
          policy.settings,
          condition.models,
          condition.network};
}

Expected<Cluster> parse_study_cluster(const std::string& text) {
  const bool is_toml = text.find('[') != std::string::npos;
  return is_toml ? parse_cluster_toml(text, "its cluster") : parse_cluster_shorthand(text);
}

Expected<StudyPlan> make_plan(const Study& study, const PlanOptions& options) {
  Extent extent = options.quick ? study.quick : study.full;
  if (options.seeds != 0) extent.seeds = options.seeds;
  if (extent.seeds < 1) return fail("{} seeds; give 1 or more", extent.seeds);
  StudyPlan plan{options.quick, extent, study.base, {}, {}};
  plan.base.workload = with_jobs(plan.base.workload, extent.jobs);
  std::set<StudyRun> runs;
  if (auto ok = add_runs(plan.base, extent.seeds, runs); !ok)
    return fail_at(study.name, ok.error());
  for (const Sweep& sweep : study.sweeps) {
    plan.sweeps.emplace_back();
    for (const std::string& value : sweep.values) {
      plan.sweeps.back().push_back(swept(study, sweep, value, extent.jobs));
      if (auto ok = add_runs(plan.sweeps.back().back(), extent.seeds, runs); !ok)
        return fail_at(study.name, ok.error());
    }
  }
  plan.runs.assign(runs.begin(), runs.end());
  return plan;
}

}  // namespace trainyard
