// What a set of pauses gains by the rules of preempt=benefit and smith, written a second time for
// the reference: see docs/policies.md. Microseconds.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainyard::reference {

struct PauseCase {
  struct Victim {
    double left, leave, load, gpus, price;
    double moved = 0;  // what it loses by coming back to a usual place
  };
  double remaining, load, price;  // of the waiter
  double others, cluster_gpus;    // jobs that wait beside it, GPUs there are
  double first_room;              // when it would have room without a pause; may be infinite
  double cluster_load;            // the share of GPU time that was held of late
  std::vector<Victim> victims = {};
  double part = 1;             // of the freed GPUs, that the waiter takes
  double saved = 0, gpus = 0;  // of the waiter, by having this room instead of a usual one

  [[nodiscard]] double delayed() const { return others / (1 - std::min(cluster_load, 0.875)); }
  [[nodiscard]] double loss_of(const Victim& v) const {
    return std::floor(v.price * (v.leave + load + v.load + v.moved)) +
           std::floor((v.leave + v.load + v.moved) * (delayed() / cluster_gpus) * v.gpus);
  }
  /// On a slot of its own, as if everybody waited for this one.
  [[nodiscard]] double gain_alone(const Victim& v) const {
    return std::floor(price * v.left - v.price * remaining - price * v.leave) - loss_of(v);
  }
  [[nodiscard]] double worth() const {
    double latest = 0, suspended = 0;
    for (const Victim& v : victims) latest = std::max(latest, v.left);
    for (const Victim& v : victims) suspended += std::floor(v.price * remaining);
    const double start = std::min(first_room * (1 + 2 * others), std::floor(latest / part));
    const double own = std::min(first_room, latest);
    return std::max(0.0, start + std::floor((price - 1) * own) - std::floor(part * suspended));
  }
  [[nodiscard]] double loss() const {
    double sum = 0, longest = 0;
    for (const Victim& v : victims) sum += loss_of(v);
    for (const Victim& v : victims) longest = std::max(longest, v.leave);
    return sum + std::floor(price * longest);
  }
  [[nodiscard]] double gain() const {
    const double room = std::round(saved * (price + delayed() / cluster_gpus * gpus));
    return worth() + room - loss();
  }
};

}  // namespace trainyard::reference
