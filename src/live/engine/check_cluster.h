// Whether an engine's cluster can be worked with: it comes from outside, as what users write does.
#pragma once

#include "base/error.h"
#include "model/cluster.h"

namespace trainyard {

/// There are machines, each with a name of its own, in a rack and of a kind that exist, and with as
/// many GPUs as a machine may have, which have names of their own or none; and the sums are right.
Expected<void> check_cluster(const Cluster& cluster);

}  // namespace trainyard
