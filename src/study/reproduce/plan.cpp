#include "study/reproduce/plan.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "network/shared_network.h"
#include "policy/registry.h"
#include "study/bound.h"
#include "study/instances.h"
#include "study/promises.h"

namespace trainyard {
namespace {

constexpr std::string_view kTraces = "{traces}";

std::string replaced(std::string text, std::string_view place, const std::string& by) {
  for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place))
    text.replace(at, place.size(), by);
  return text;
}

/// What of it depends on how much is run, and on what is run instead.
void settle(const Extent& extent, const Extent& own, const PlanOptions& options,
            Condition& condition) {
  for (StudyPolicy& policy : condition.policies)
    if (policy.label == options.instead.label) policy.line = options.instead.line;
  const double jobs = std::round(static_cast<double>(extent.jobs) * condition.times_jobs);
  const bool is_judged = extent.first_seed == own.first_seed;
  condition.workload =
      replaced(std::move(condition.workload), "{jobs}", fmt::format("{:.0f}", jobs));
  condition.workload =
      replaced(std::move(condition.workload), "{part}", is_judged ? "from=0.6" : "until=0.6");
  if (!options.traces.empty())
    condition.workload = replaced(std::move(condition.workload), kTraces, options.traces);
}

/// The trace that the workload names and the folder does not have, "philly/philly.csv"; empty:
/// none.
std::string missing_trace(const std::string& workload, const std::string& folder) {
  const std::size_t at = workload.find(kTraces);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kTraces.size() + 1;
  std::string file = workload.substr(begin, workload.find(',', begin) - begin);
  std::error_code ignored;
  const bool is_there =
      !folder.empty() && std::filesystem::exists(fmt::format("{}/{}", folder, file), ignored);
  return is_there ? std::string() : file;
}

std::string where_traces_are_sought(const std::string& folder) {
  return folder.empty() ? "give the folder that has it by --traces or TRAINYARD_TRACES"
                        : fmt::format("{} does not have it", folder);
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
    if (policy.line == kLowerBoundLine) continue;
    if (names_instances(policy.line)) {
      if (auto ok = check_instances(policy.line); !ok) return fail_at(condition.name, ok.error());
      continue;
    }
    if (const auto spec = PolicySpec::parse(policy_of_line(policy.line), policy.settings); !spec)
      return fail_at(fmt::format("{}, {}", condition.name, policy.label), spec.error());
  }
  return {};
}

Condition swept(const Study& study, const Sweep& sweep, const std::string& value) {
  Condition condition = study.base;
  sweep.change(condition, value);
  condition.name = fmt::format("{} = {}", sweep.axis, value);
  return condition;
}

std::span<const std::string> values_of(const Sweep& sweep, bool quick) {
  const bool is_cut = quick && sweep.quick_values > 0;
  return std::span(sweep.values)
      .first(is_cut ? std::min(sweep.quick_values, sweep.values.size()) : sweep.values.size());
}

/// Adds the runs of a condition that are not there yet.
Expected<void> add_runs(const Condition& condition, const Extent& extent,
                        std::set<StudyRun>& runs) {
  if (auto ok = check(condition); !ok) return ok;
  for (const StudyPolicy& policy : condition.policies)
    for (int seed = extent.first_seed; seed <= extent.last_seed(); ++seed)
      runs.insert(run_of(condition, policy, static_cast<std::uint64_t>(seed)));
  return {};
}

}  // namespace

std::size_t StudyPlan::index(const StudyRun& run) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(runs, run) - runs.begin());
}

StudyRun run_of(const Condition& condition, const StudyPolicy& policy, std::uint64_t seed) {
  if (names_instances(policy.line)) return {{}, {}, seed, policy.line, {}};
  Condition own = condition;
  if (policy.pauses_are_free) workload_key("pause")(own, "free");
  return {condition.cluster,
          with_policy(own.workload, policy),
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

std::string swept_value(const Sweep& sweep, const Condition& condition) {
  return condition.name.substr(sweep.axis.size() + std::string_view(" = ").size());
}

namespace {

/// Plans the conditions of one sweep, and says which it leaves out.
Expected<void> add_sweep(const Study& study, const Sweep& sweep, const PlanOptions& options,
                         std::set<StudyRun>& runs, StudyPlan& plan) {
  std::map<std::string, std::size_t> missing;  // conditions by trace
  for (const std::string& value : values_of(sweep, options.quick)) {
    Condition condition = swept(study, sweep, value);
    if (const std::string trace = missing_trace(condition.workload, options.traces);
        !trace.empty()) {
      ++missing[trace];
      continue;
    }
    plan.uses_traces = plan.uses_traces || condition.workload.find(kTraces) != std::string::npos;
    settle(plan.extent, options.quick ? study.quick : study.full, options, condition);
    if (auto ok = add_runs(condition, plan.extent, runs); !ok)
      return fail_at(study.name, ok.error());
    plan.sweeps.back().push_back(std::move(condition));
  }
  for (const auto& [trace, conditions] : missing)
    plan.left_out.push_back(fmt::format(
        "{}: {} of {} conditions left out: they need {}; {}.", sweep.title, conditions,
        values_of(sweep, options.quick).size(), trace, where_traces_are_sought(options.traces)));
  return {};
}

/// Says why there is nothing to run.
tl::unexpected<Error> nothing_to_run(const Study& study, const PlanOptions& options,
                                     const StudyPlan& plan) {
  if (!plan.left_out.empty())
    return fail("{}: nothing is left to run: {}", study.name, plan.left_out.front());
  return fail("{}: no sweep's title begins with '{}'; one is '{}'", study.name, options.only,
              study.sweeps.empty() ? "" : study.sweeps.front().title);
}

}  // namespace

Expected<StudyPlan> make_plan(const Study& study, const PlanOptions& options) {
  const Extent& own = options.quick ? study.quick : study.full;
  Extent extent = own;
  if (options.seeds != 0) extent.seeds = options.seeds;
  if (options.first_seed != 0) extent.first_seed = options.first_seed;
  if (extent.seeds < 1) return fail("{} seeds; give 1 or more", extent.seeds);
  StudyPlan plan{options.quick, extent, options.instead, study.base, options.only, {}, {}, {}};
  std::set<StudyRun> runs;
  settle(extent, own, options, plan.base);
  if (options.only.empty())
    if (auto ok = add_runs(plan.base, extent, runs); !ok) return fail_at(study.name, ok.error());
  for (const Sweep& sweep : study.sweeps) {
    plan.sweeps.emplace_back();
    if (!sweep.title.starts_with(options.only)) continue;
    if (auto ok = add_sweep(study, sweep, options, runs, plan); !ok)
      return tl::make_unexpected(ok.error());
  }
  if (!options.instead.label.empty() &&
      std::ranges::find(study.base.policies, options.instead.label, &StudyPolicy::label) ==
          study.base.policies.end())
    return fail("{}: no policy is called '{}' there; one is '{}'", study.name,
                options.instead.label, study.base.policies.front().label);
  if (runs.empty()) return nothing_to_run(study, options, plan);
  plan.runs.assign(runs.begin(), runs.end());
  return plan;
}

}  // namespace trainyard
