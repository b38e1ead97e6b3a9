// Where those are that have bought workers at the market: close together, and what runs moves as
// little as it can.
#pragma once

#include <span>
#include <vector>

#include "policy/joint/vacancies.h"
#include "yard/yard.h"

namespace trainyard {

/// A job that buys, and what it bought.
struct Customer {
  JobId job = kNoJob;
  bool runs = false;
  bool only_bids = false;                  // it waits for another policy, which starts it
  bool mixes_kinds = false;                // its workers may be on GPUs of several kinds
  std::vector<std::int32_t> workers = {};  // by kind
};

/// So many workers of each kind of GPU.
std::vector<std::int32_t> by_kind(const Cluster& cluster, const Placement& place);

/// Where each would be; empty: it waits. Some have less than they bought, or nothing, where there
/// is no room; who runs and finds none stays where it is. A job that is spread out has only as many
/// of its workers as make it fastest where they stand. Those of `anew` run, and keep nothing of
/// their places.
std::vector<Placement> find_places(const Yard& yard, std::span<const Customer> customers,
                                   const std::vector<bool>& anew);

}  // namespace trainyard
