// How fast the jobs of a workload run where, from the catalogue of models and the tiers of the
// cluster. A job whose model is not known, or that has one GPU, runs everywhere as its duration
// says.
//
// In a trace a job's duration is computing alone: with so many iterations in it one takes duration
// / iterations, and on a placement that and what its communication adds (speed.h). Where the number
// of iterations is not known, an iteration takes what the catalogue says of the model on a GPU of
// the first machine's kind. What people say of a job's duration is what it takes in one machine,
// communication included; then only what is further apart is slower.
#pragma once

#include <array>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"
#include "perf/placement_speed.h"

namespace trainyard {

class NetworkSpeed final : public PlacementSpeed {
 public:
  enum class DurationIs : std::uint8_t { computing, in_one_machine };

  /// All must outlive this.
  NetworkSpeed(const Cluster& cluster, const Workload& workload, const Catalogue& catalogue,
               DurationIs duration = DurationIs::computing);

  /// The workload may have named more models by now.
  void look_up_models();

  [[nodiscard]] Rate rate(const Job& job, const Placement& placement) const override;
  [[nodiscard]] Rate rate_at(const Job& job, std::size_t tier) const override;

 private:
  [[nodiscard]] const ModelProfile* profile(const Job& job) const;
  [[nodiscard]] double time_per_work(const Job& job, const Placement& placement) const;

  /// Half of the gang on the first machine, half on the nearest one so far away.
  [[nodiscard]] Placement typical_placement(const Job& job, std::size_t tier) const;

  const Cluster& cluster_;
  const Workload& workload_;
  const Catalogue& catalogue_;
  DurationIs duration_;
  std::array<MachineId, kMaxTiers> away_{};    // the first machine that is so far from the first
  std::vector<const ModelProfile*> profiles_;  // by the workload's numbers; null: not known
};

}  // namespace trainyard
