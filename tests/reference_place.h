// The reference's placements and its search for room, as functions of what is free on every
// machine. A machine that may not be used has no Resources at all.
#pragma once

#include <optional>
#include <vector>

#include "base/resources.h"
#include "base/time.h"
#include "model/cluster.h"
#include "model/job.h"

namespace trainyard::reference {

/// What is free on each machine; none where the job may not go (down, another kind, kept off).
using Free = std::vector<std::optional<Resources>>;
/// Workers on each machine.
using Spots = std::vector<std::int32_t>;

struct Gang {
  Resources each;  // the least that a worker takes anywhere
  std::int32_t workers = 1;
  /// What a worker takes of each machine; none where it may not run. Empty: everywhere the same.
  std::vector<std::optional<Resources>> by_machine = {};
};

std::int32_t machines_used(const Spots& spots);

/// Workers of the gang that would fit on each machine, at most all of them.
std::vector<std::int32_t> slots(const Gang& gang, const Free& free);

std::optional<Spots> first_fit(const Gang& gang, const Free& free);
std::optional<Spots> best_fit(const Gang& gang, const Free& free);
std::optional<Spots> spread(const Gang& gang, const Free& free);

/// LWF-k by how much work there is on each machine: those with the least filled one after the
/// other; or a worker after the other where there is the least, each bringing its own work.
std::optional<Spots> least_work_filled(const Gang& gang, const Free& free,
                                       const std::vector<Duration>& work);
std::optional<Spots> least_work_dealt(const Gang& gang, const Free& free,
                                      std::vector<Duration> work, Duration of_worker);

/// `rack_free` is what decides about racks: without machines that are down or of another kind, but
/// with those that are only kept off.
std::optional<Spots> consolidate(const Gang& gang, const Free& free, const Free& rack_free,
                                 const Cluster& cluster, std::int32_t max_machines);
/// One machine; or one rack, on its fewest machines; or any, on the fewest racks: the closest that
/// there is and that does not span more than this tier. Racks as in consolidate().
std::optional<Spots> closest(const Gang& gang, const Free& free, const Free& rack_free,
                             const Cluster& cluster, std::size_t tier);
/// What is free on these machines only.
Free only_rack(const Free& free, const Cluster& cluster, std::size_t rack);
Free only_machine(const Free& free, std::size_t machine);
/// 0: on one machine; 1: in one rack; 2: farther apart.
std::size_t tier_of_spots(const Cluster& cluster, const Spots& spots);
/// On the empty cluster.
std::int32_t fewest_machines_ever(const Gang& gang, const Free& empty_cluster);

/// Where the whole gang fits on at most so many machines: most slots first, ties by number.
std::optional<Spots> most_slots_first(const Gang& gang, const Free& free,
                                      std::int32_t max_machines);

}  // namespace trainyard::reference
