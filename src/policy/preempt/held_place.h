// Where a job runs, if that is one machine or one rack, and how many GPUs it holds: small enough to
// be kept beside its rank, for walks through the thousands that run.
#pragma once

#include <cstdint>
#include <limits>

#include "yard/yard.h"

namespace trainyard {

struct HeldPlace {
  static constexpr std::uint32_t kSeveral = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t machine = kSeveral, rack = kSeveral;
  std::int32_t gpus = 0;
};

inline HeldPlace held_on(const Cluster& cluster, MachineId machine) {
  return {static_cast<std::uint32_t>(machine),
          static_cast<std::uint32_t>(cluster.machine(machine).rack), 0};
}

/// Of a job that runs.
inline HeldPlace held_by(const Yard& yard, JobId job) {
  const Placement& shares = yard.placement(job);
  HeldPlace place = held_on(yard.cluster(), shares.front().machine);
  place.gpus = yard.gpus(job);
  if (shares.size() == 1) return place;
  for (const Share& share : shares) {
    const HeldPlace other = held_on(yard.cluster(), share.machine);
    if (other.machine != place.machine) place.machine = HeldPlace::kSeveral;
    if (other.rack != place.rack) place.rack = HeldPlace::kSeveral;
  }
  return place;
}

}  // namespace trainyard
