// Slurm's nodes as a cluster: a machine each, and a rack for each switch at the leaves of its tree.
// A node that Slurm has no more stays, and is down.
#pragma once

#include <vector>

#include "live/engine/slurm/slurm_controller.h"
#include "model/cluster.h"

namespace trainyard {

class SlurmNodes {
 public:
  /// What follows from Slurm's present list: whether the cluster is another now, and what has
  /// changed of the nodes' states.
  struct Change {
    bool is_other_cluster = false;
    std::vector<MachineReport> states;
  };
  Change take(std::vector<SlurmNode> now);

  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  /// By the numbers of the cluster's machines.
  [[nodiscard]] const std::vector<SlurmNode>& nodes() const { return nodes_; }
  [[nodiscard]] std::optional<MachineId> find(const std::string& name) const;
  [[nodiscard]] bool is_down(const std::string& name) const;

 private:
  void make_cluster();

  std::vector<SlurmNode> nodes_;  // those of a rack stand together
  Cluster cluster_;
};

}  // namespace trainyard
