// The jobs of a command that takes --seeds. A generated workload is another one with each seed; one
// from a file is read once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "bound/lower_bound.h"
#include "cli/options.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"

namespace trainyard::cli {

class SeededWorkloads {
 public:
  /// `with_curves`: one of the policies goes by how jobs learn, and all are judged by it. All must
  /// outlive this.
  SeededWorkloads(const WorkloadOptions& options, const Cluster& cluster, const Catalogue& models,
                  bool with_curves)
      : options_(options), cluster_(cluster), models_(models), with_curves_(with_curves) {}

  /// That of the first seed; to be called before all else.
  Expected<void> load();
  /// May be called from several threads at once.
  [[nodiscard]] Expected<std::shared_ptr<const Workload>> of(std::uint64_t seed) const;

  [[nodiscard]] const Workload& first() const { return *first_; }
  [[nodiscard]] const WorkloadOptions& options() const { return options_; }
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const Catalogue& models() const { return models_; }

 private:
  [[nodiscard]] Expected<Workload> load_checked(std::uint64_t seed) const;

  const WorkloadOptions& options_;
  const Cluster& cluster_;
  const Catalogue& models_;
  bool with_curves_;
  std::shared_ptr<const Workload> first_;
};

/// "philly-like:load=0.9 (10000 jobs)".
std::string describe(const SeededWorkloads& workloads);

/// So many seeds from `first` on.
std::vector<std::uint64_t> seeds_from(std::uint64_t first, int count);

/// One a seed, on that many threads (0: one a core).
Expected<std::vector<LowerBound>> lower_bounds(const SeededWorkloads& workloads,
                                               const std::vector<std::uint64_t>& seeds,
                                               int threads);

}  // namespace trainyard::cli
