// What a job asks of the machines that it runs on beside GPUs of a kind: features that they must
// have, and shares that are as large as the machine makes them. The same job then takes different
// amounts of different machines:
//
//   a worker of 2 GPUs, CPUs by share    16 of a machine with 128 CPUs and 16 GPUs,
//                                         8 of one with 32 CPUs and 8 GPUs
//   a worker of a whole machine           all that the machine has, GPUs included
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "base/resources.h"
#include "model/cluster.h"
#include "model/constraint.h"

namespace trainyard {

struct MachineTerms {
  Constraint constraint = {};  // empty: any machine
  bool shares_cpus = false;    // as many CPUs as its GPUs are a part of the machine's
  bool shares_memory = false;  // likewise
  bool whole_machine = false;  // all GPUs and CPUs of one machine
  std::int32_t parts = 1;      // into which the GPUs of a whole machine must divide evenly
  bool all_memory = false;     // of the machine
  bool alone = false;          // no other worker of the job is on its machine: by its CPUs

  auto operator<=>(const MachineTerms&) const = default;
};

/// The terms of a workload's jobs, each once.
class TermsList {
 public:
  TermsId add(const MachineTerms& terms) {
    const auto [known, is_new] =
        ids_.try_emplace(terms, TermsId{static_cast<std::uint32_t>(list_.size())});
    if (is_new) list_.push_back(terms);
    return known->second;
  }
  [[nodiscard]] const MachineTerms& operator[](TermsId id) const { return list_[index(id)]; }

 private:
  std::vector<MachineTerms> list_;
  std::map<MachineTerms, TermsId> ids_;
};

/// More than any machine has: what a worker takes of a machine where it may not run.
constexpr Resources kForbidden{std::numeric_limits<std::int32_t>::max(),
                               std::numeric_limits<std::int32_t>::max(),
                               std::numeric_limits<std::int32_t>::max()};

/// Returns what a worker takes of a machine with this capacity, or kForbidden if that cannot be.
/// `asked` is what the job names itself.
Resources amounts_on(const MachineTerms& terms, const Resources& asked, const Resources& capacity);
/// The same, and kForbidden where the machine lacks a feature.
Resources demand_on(const MachineTerms& terms, const Resources& asked, const Cluster& cluster,
                    const Machine& machine);

}  // namespace trainyard
