// How fast the jobs of a workload run where and at which size, from the catalogue of models, the
// kinds of GPU and the tiers of the cluster.
//
// A job's duration holds for `workers` workers on GPUs of the kind `measured_on`; there its work is
// done at rate 1. Elsewhere:
//
//   kind   Computing takes as much longer as the catalogue's samples/s of the model on this kind
//          are fewer; where the model is not known, as the kind is slower than the other in general
//          (`relative`). The GPUs of a rigid job have the same batch, so on mixed kinds it goes as
//          its slowest; an elastic one shares its batch in proportion to their speed, so that all
//          are done at once. A job that names no kind computes everywhere as its duration says.
//   size   The batch of the whole gang stays the same: on n workers computing takes workers / n of
//          the time, and communication what speed.h says of n. Where the model is not known there
//          is no communication, and the rate is linear in n.
//   spread What communication adds, also by speed.h.
//
// In a trace a job's duration is computing alone: with so many iterations in it one takes duration
// / iterations, and on a placement that and what its communication adds. Where the number of
// iterations is not known, an iteration takes what the catalogue says of the model on that kind, or
// on the GPUs of the placement. What people say of a job's duration is what it takes in one
// machine, communication included; then only what is further apart is slower.
//
// Example: ResNet-50, 4 workers, measured on V100 (281 samples/s, batch 64: 0.228 s). On 4 P100
// (168 samples/s) a unit of work takes 281 / 168 = 1.67 units of time; on 2 V100, 2; on 8 V100, 1/2
// and the twentieth of the ring's time that is never hidden.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"
#include "perf/placement_speed.h"

namespace trainyard {

class CatalogueSpeed final : public PlacementSpeed {
 public:
  enum class DurationIs : std::uint8_t { computing, in_one_machine };

  /// All must outlive this.
  CatalogueSpeed(const Cluster& cluster, const Workload& workload, const Catalogue& catalogue,
                 DurationIs duration = DurationIs::computing);

  /// Whether any job may run at another rate than 1.
  [[nodiscard]] static bool matters(const Workload& workload, const Catalogue& catalogue);

  /// The workload may have named more models and kinds by now.
  void look_up_names();

  [[nodiscard]] Rate rate(const Job& job, const Placement& placement) const override;
  /// On the slowest kind of GPU that the job may get, where the kind makes a difference.
  [[nodiscard]] Rate rate_at(const Job& job, std::size_t tier) const override;

  [[nodiscard]] GangSpeed gang(const Job& job) const override;
  [[nodiscard]] double power(const Job& job, KindId kind) const override;

  [[nodiscard]] Iteration on_shared_links(const Job& job,
                                          const Placement& placement) const override {
    const GpuSpeeds& speeds = speeds_of(job);
    return iteration(job, speeds, placement, speed_on(job, speeds, placement));
  }

 private:
  /// How fast one GPU of each kind is: samples/s of a model, or what of a V100's speed.
  struct GpuSpeeds {
    const ModelProfile* model = nullptr;  // null: not known
    std::vector<double> here;             // by the cluster's numbers
    std::vector<double> named;            // by the workload's
  };

  void look_up_kinds(GpuSpeeds& speeds) const;
  [[nodiscard]] const GpuSpeeds& speeds_of(const Job& job) const;
  /// Of each GPU there as far as it counts: the slowest, or the mean.
  [[nodiscard]] double speed_on(const Job& job, const GpuSpeeds& speeds,
                                const Placement& placement) const;
  [[nodiscard]] double slowest_for(const GpuSpeeds& speeds, const Job& job) const;
  /// Of one GPU of the kind that the job's duration holds for.
  [[nodiscard]] static double measured_speed(const Job& job, const GpuSpeeds& speeds, double speed);
  [[nodiscard]] Iteration iteration(const Job& job, const GpuSpeeds& speeds,
                                    const Placement& placement, double speed) const;
  [[nodiscard]] double time_per_work(const Job& job, const GpuSpeeds& speeds,
                                     const Placement& placement, double speed) const;

  /// The machines of the cluster in turn, as full as they can be.
  [[nodiscard]] Placement closest_placement(std::int32_t workers, std::int32_t gpus) const;
  /// Half of the gang on the first machine, half on the nearest one so far away.
  [[nodiscard]] Placement typical_placement(const Job& job, std::size_t tier) const;

  const Cluster& cluster_;
  const Workload& workload_;
  const Catalogue& catalogue_;
  DurationIs duration_;
  std::array<MachineId, kMaxTiers> away_{};  // the first machine that is so far from the first
  std::vector<GpuSpeeds> speeds_;            // of unknown models, then of those that are named
  std::vector<std::uint32_t> row_;           // in speeds_, by the workload's numbers of models
  /// Of a model, so many GPUs for each worker and so many workers at most: by their number. A table
  /// never grows, as callers keep what they were given.
  mutable std::map<std::tuple<const ModelProfile*, std::int32_t, std::uint32_t>,
                   std::vector<double>>
      communication_s_;
};

/// Why a job cannot have been measured on GPUs of this kind: nobody knows how fast they are. Empty
/// when the cluster or the catalogue does.
std::string unknown_measure(std::string_view kind, const Cluster& cluster,
                            const Catalogue& catalogue);

/// Refuses a workload with such a job, and names the first.
Expected<void> check_measures(const Workload& workload, const Cluster& cluster,
                              const Catalogue& catalogue);

}  // namespace trainyard
