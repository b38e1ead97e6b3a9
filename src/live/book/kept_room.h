// A job's room (yard/saved_job.h) as the daemon keeps it: GPUs by their names. Numbers are of the
// yard and of one cluster; they may mean other GPUs when the cluster has changed, or after a
// restart. What is shown to people are the present numbers.
#pragma once

#include <string>
#include <vector>

#include "model/cluster.h"
#include "yard/saved_job.h"

namespace trainyard {

struct KeptRoom {
  Placement placement;
  std::vector<std::vector<std::string>> gpus;  // of each share
  std::vector<Resources> missing;
  FlowClass flow = kFirstFlow;
  std::vector<Resources> each = {};  // of a worker of each share, where machines may differ

  bool operator==(const KeptRoom&) const = default;
};

/// `room` is of this cluster.
KeptRoom keep_room(SavedRoom room, const Cluster& cluster);
/// A GPU that its machine does not have gets the number -1, with which no yard takes the job up.
SavedRoom find_room(KeptRoom room, const Cluster& cluster);

}  // namespace trainyard
