// AlloX's matching (Le et al., EuroSys 2020): which job runs on which kind of machine, and in which
// order, so that the sum of their completion times is least. A job that is the k-th from the last
// on its machine delays k jobs, itself included, by the time that it takes there; so putting it
// there costs k times that, and which jobs go where is a matching of jobs to (machine, k) of the
// least cost.
//
// Here lanes of one kind that are free at the same time stand together: a place (lanes, k) is one
// column that takes as many jobs as there are lanes. Jobs come one after the other and each goes
// along the shortest augmenting path (successive shortest paths with potentials, as Jonker and
// Volgenant's), so the result is exact. Two things keep it quick: the k-th place counts only once
// the places before it are full, because to everybody it is worse; and the jobs that take longest
// come first, so that hardly any has to move for those after it. Each job costs at most jobs x
// columns, and mostly columns.
//
// Example: a lane of kind x and one of y, free at once; A takes 2 on x and 4 on y, B 3 and 9. Both
// on x: A first, 2 x 2 + 3 = 7; A on y, 4 + 3 = 7 as well; B on y, 2 + 9.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace trainyard {

/// Lanes on which one job runs at a time, alike to every job.
struct Lanes {
  std::size_t kind = 0;
  std::int32_t number = 1;
  double free_s = 0;  // how long it takes until they are
};

constexpr std::size_t kNoLanes = std::numeric_limits<std::size_t>::max();

/// Where a job goes.
struct LanePlace {
  std::size_t lanes = kNoLanes;  // kNoLanes: nowhere
  std::int32_t from_last = 0;    // 1: no job comes after it
};

/// `takes_s` of each job on each of so many kinds; infinite: it cannot run there.
std::vector<LanePlace> assign_to_lanes(std::span<const Lanes> lanes, std::size_t kinds,
                                       std::span<const double> takes_s);

}  // namespace trainyard
