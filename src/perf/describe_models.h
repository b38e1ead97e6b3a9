// The catalogue as people read it: one line a model, or one model with every source and what it
// does on a cluster.
#pragma once

#include <string>

#include "perf/speed.h"

namespace trainyard {

/// A table of all models. ~ marks what is assumed, - what no source has.
std::string list_models(const Catalogue& catalogue);

/// Every figure of the model with its source.
std::string describe_model(const Catalogue& catalogue, const ModelProfile& model);

/// Iteration times of gangs of several sizes by the tier they span, on GPUs of the cluster's first
/// kind: as few machines as possible, but at least two where it leaves the machine.
std::string describe_speed(const Catalogue& catalogue, const ModelProfile& model,
                           const Cluster& cluster);

}  // namespace trainyard
