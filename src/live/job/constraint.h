// What --constraint asks of a machine: features, each of which it has or has not; and what
// --gpu-kind asks of its GPUs.
//
//   a100          one
//   a100&80gb     both (a comma does as well)
//   a100|h100     either; & binds tighter. Brackets around the whole mean the same on one machine.
//
// A machine's features are its name, the kind of its GPUs, and the words of that: for "NVIDIA
// A100-SXM4-80GB" nvidia_a100_sxm4_80gb, nvidia, a100, sxm4, 80gb. Capitals do not matter, and
// whatever is neither letter nor digit is as good as "_".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/cluster.h"

namespace trainyard {

/// Alternatives, each of which is a list of features that must all be there.
using Constraint = std::vector<std::vector<std::string>>;

Expected<Constraint> parse_constraint(std::string_view text);

std::vector<std::string> features_of(const Cluster& cluster, const Machine& machine);

/// The kind of GPU that goes by this name: by the whole of its own or by a word of it, as V100 for
/// V100-SXM2-16GB. The error follows "it ...": no kind of the cluster does, or several do.
Expected<KindId> kind_named(std::string_view name, const Cluster& cluster);

/// Why the machine does not do, to follow "it ..."; empty when it does.
std::string unmet(std::string_view constraint, const Cluster& cluster, const Machine& machine);

}  // namespace trainyard
