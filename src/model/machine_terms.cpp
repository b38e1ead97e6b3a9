#include "model/machine_terms.h"

#include <algorithm>

namespace trainyard {
namespace {

/// What so many of the machine's GPUs are as a part of this amount of it.
std::int32_t share_of(std::int32_t amount, std::int32_t gpus, const Resources& capacity) {
  return static_cast<std::int32_t>(std::int64_t{amount} * gpus / std::max(capacity.gpus, 1));
}

}  // namespace

Resources amounts_on(const MachineTerms& terms, const Resources& asked, const Resources& capacity) {
  Resources each = asked;
  if (terms.whole_machine) {
    if (capacity.gpus == 0 || capacity.gpus % terms.parts != 0) return kForbidden;
    each.gpus = capacity.gpus;
    each.milli_cpus = capacity.milli_cpus;
  }
  if (each.gpus > capacity.gpus) return kForbidden;
  if (terms.shares_cpus) each.milli_cpus = share_of(capacity.milli_cpus, each.gpus, capacity);
  if (terms.shares_memory) each.memory_mib = share_of(capacity.memory_mib, each.gpus, capacity);
  if (terms.all_memory) each.memory_mib = capacity.memory_mib;
  const bool two_would_fit = each.gpus <= capacity.gpus / 2;
  if (terms.alone && two_would_fit)
    each.milli_cpus = std::max(each.milli_cpus, capacity.milli_cpus / 2 + 1);
  return each;
}

Resources demand_on(const MachineTerms& terms, const Resources& asked, const Cluster& cluster,
                    const Machine& machine) {
  if (!meets(terms.constraint, cluster, machine)) return kForbidden;
  return amounts_on(terms, asked, machine.capacity);
}

}  // namespace trainyard
