// The jobs of a trace, in order of submission, with the names their ids stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/learning_curve.h"
#include "model/machine_terms.h"

namespace trainyard {

/// Where the jobs' grace, save and load come from.
enum class PauseCosts : std::uint8_t {
  unsaid,   // the source does not tell, as most traces; they are 0
  given,    // by the source
  modelled  // by us (workload/pauses.h)
};

struct Workload {
  std::vector<Job> jobs;  // by submit time; equal times in the order of the source
  Names users, models, kinds;
  TermsList terms = {};
  std::vector<std::string> names;  // each job's name at its source; empty: they have none
  std::string source;              // the file or generator it came from
  PauseCosts pause_costs = PauseCosts::unsaid;
  std::size_t uncounted = 0;  // so many of the first jobs, and of the last, are in no times
  double curve_noise = 0;     // what jobs tell of their curves is off by so much, relative, by lot
  std::vector<LearningCurve> curves = {};  // each job's, where it is known; empty: none is

  [[nodiscard]] std::string job_name(JobId id) const {
    return names.empty() ? std::to_string(index(id)) : names[index(id)];
  }
  /// How the job truly learns; null where nobody knows.
  [[nodiscard]] const LearningCurve* curve(JobId id) const {
    const bool is_known = index(id) < curves.size() && curves[index(id)].is_known();
    return is_known ? &curves[index(id)] : nullptr;
  }
};

/// Why the cluster could never run this job, even when empty ("needs 64 GPUs, the cluster has 16");
/// empty when it could.
std::string misfit(const Workload& workload, const Job& job, const Cluster& cluster);

/// The cluster's number for a kind that the workload names (they are numbered apart), kAnyKind for
/// any, and cluster.kinds.size() for a kind the cluster does not have.
KindId cluster_kind(const Workload& workload, KindId kind, const Cluster& cluster);

/// Refuses a workload with a job that could never run: names the first, and how many there are.
Expected<void> check_fits(const Workload& workload, const Cluster& cluster);

}  // namespace trainyard
