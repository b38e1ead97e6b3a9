// The one recipe by which a cluster, a workload, costs of pauses, curves, a policy, a network and a
// seed become a result: sim, compare, whatif, bound and the runner of studies all use it, so that
// the same workload has the same costs everywhere.
//
//   Workload workload = ...;                                   // read or generated
//   prepare(cluster, models, {}, workload);                    // what it does not say itself
//   auto simulation = make_simulation(cluster, workload, policy, {.seed = 1, .models = &models});
//   (*simulation)->run();
#pragma once

#include <memory>

#include "base/error.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"
#include "policy/registry.h"
#include "sim/simulation.h"

namespace trainyard {

struct Preparation {
  bool free_pauses = false;  // whatever the workload says
  bool with_curves = false;  // a policy goes by how jobs learn, and all are judged by it
};

/// Whether the policy goes by how jobs learn.
bool goes_by_curves(const PolicySpec& policy);

/// Refuses what cannot run on the cluster, and adds what the workload does not say: what pauses
/// cost (workload/pauses.h) and how jobs learn (workload/curves.h).
Expected<void> prepare(const Cluster& cluster, const Catalogue& models, const Preparation& how,
                       Workload& workload);

/// Refuses a policy with rules on flows that the network does not play. Cluster, workload and
/// models must outlive it.
Expected<std::unique_ptr<Simulation>> make_simulation(const Cluster& cluster,
                                                      const Workload& workload,
                                                      const PolicySpec& policy, SimOptions options);

}  // namespace trainyard
