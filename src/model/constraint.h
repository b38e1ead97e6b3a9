// What --constraint asks of a machine: features, each of which it has or has not; and what
// --gpu-kind asks of its GPUs.
//
//   a100          one
//   a100&80gb     both (a comma does as well)
//   a100|h100     either; & binds tighter. Brackets around the whole mean the same on one machine.
//
// A machine's features are its name, the kind of its GPUs, the words of that, and those that were
// declared for it (Machine::features): for "NVIDIA A100-SXM4-80GB" nvidia_a100_sxm4_80gb, nvidia,
// a100, sxm4, 80gb. Capitals do not matter, and whatever is neither letter nor digit is as good as
// "_".
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
/// As it would be written: "a100&80gb|h100".
std::string describe(const Constraint& constraint);

/// The features of a machine with this name, GPUs of this kind, and these declared features.
std::vector<std::string> features_of(std::string_view name, std::string_view kind,
                                     const std::vector<std::string>& declared);
std::vector<std::string> features_of(const Cluster& cluster, const Machine& machine);

/// The kind of GPU that goes by this name: by the whole of its own or by a word of it, as V100 for
/// V100-SXM2-16GB. The error follows "it ...": no kind of the cluster does, or several do.
Expected<KindId> kind_named(std::string_view name, const Cluster& cluster);

/// True if one alternative holds whole. No alternatives ask for nothing.
bool meets(const Constraint& constraint, const std::vector<std::string>& features);
bool meets(const Constraint& constraint, const Cluster& cluster, const Machine& machine);

/// Says which machines have which features: "r0m0 to r0m7 have v100, ib; r1m0 has t4".
std::string describe_features(const Cluster& cluster);

}  // namespace trainyard
