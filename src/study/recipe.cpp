#include "study/recipe.h"

#include <algorithm>

#include "perf/catalogue_speed.h"
#include "workload/curves.h"
#include "workload/pauses.h"

namespace trainyard {

/// Flow stages that go by curves have a parameter which says whose.
bool goes_by_curves(const PolicySpec& policy) {
  if (policy.decides_jointly()) return false;
  const auto flow = std::ranges::find(stage_infos(), "flow", &StageInfo::name);
  const auto member = std::ranges::find(flow->members, policy.member("flow"), &MemberInfo::name);
  return std::ranges::find(member->params, "curves", &ParamSpec::name) != member->params.end();
}

Expected<void> prepare(const Cluster& cluster, const Catalogue& models, const Preparation& how,
                       Workload& workload) {
  if (auto ok = check_fits(workload, cluster); !ok) return ok;
  if (auto ok = check_measures(workload, cluster, models); !ok) return ok;
  if (how.free_pauses)
    make_pauses_free(workload);
  else
    model_pauses(models, workload);
  if (how.with_curves) give_curves(models, workload);
  return {};
}

Expected<std::unique_ptr<Simulation>> make_simulation(const Cluster& cluster,
                                                      const Workload& workload,
                                                      const PolicySpec& policy,
                                                      SimOptions options) {
  const NetworkOptions network = options.network;
  auto simulation = std::make_unique<Simulation>(cluster, workload, policy, std::move(options));
  if (auto ok = check_flow_rules(simulation->policy().flow_rules(), network); !ok)
    return tl::make_unexpected(ok.error());
  return simulation;
}

}  // namespace trainyard
