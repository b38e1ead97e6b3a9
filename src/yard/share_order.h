// The share of a placement on a given machine, also where a gang spans a hundred thousand of them:
// with few shares by a look at all, with many by an order that is made once.
#pragma once

#include <cstdint>
#include <vector>

#include "model/placement.h"

namespace trainyard {

/// The shares' numbers by machine; empty for a placement of few shares.
std::vector<std::uint32_t> share_order(const Placement& placement);

/// The number of the share on this machine, or placement.size(). `order` is share_order(placement).
std::size_t find_share(const Placement& placement, const std::vector<std::uint32_t>& order,
                       MachineId machine);

/// Whether no machine is there twice.
bool names_machines_once(const Placement& placement);

}  // namespace trainyard
