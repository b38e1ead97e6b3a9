// What a machine offers and a worker takes. CPUs in thousandths and memory in MiB, because public
// traces ask for half a core and 1.5 GB; GPUs are whole: a worker holds each of its GPUs alone.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard {

struct Resources {
  std::int32_t gpus = 0;
  std::int32_t milli_cpus = 0;
  std::int32_t memory_mib = 0;

  auto operator<=>(const Resources&) const = default;
  constexpr Resources& operator+=(const Resources& r) {
    gpus += r.gpus, milli_cpus += r.milli_cpus, memory_mib += r.memory_mib;
    return *this;
  }
  constexpr Resources& operator-=(const Resources& r) {
    gpus -= r.gpus, milli_cpus -= r.milli_cpus, memory_mib -= r.memory_mib;
    return *this;
  }
  [[nodiscard]] constexpr bool fits_in(const Resources& room) const {
    return gpus <= room.gpus && milli_cpus <= room.milli_cpus && memory_mib <= room.memory_mib;
  }
};

constexpr Resources operator+(Resources a, const Resources& b) {
  return a += b;
}
constexpr Resources operator-(Resources a, const Resources& b) {
  return a -= b;
}
constexpr Resources operator*(const Resources& r, std::int32_t n) {
  return {r.gpus * n, r.milli_cpus * n, r.memory_mib * n};
}

/// How many workers of demand `each` fit into `room` (at most `limit`, also for an empty demand).
constexpr std::int32_t workers_that_fit(const Resources& each, const Resources& room,
                                        std::int32_t limit) {
  const auto by = [](std::int32_t have, std::int32_t need, std::int32_t most) {
    if (need == 0) return most;
    if (have < need) return 0;
    return have / need < most ? have / need : most;
  };
  return by(room.gpus, each.gpus,
            by(room.milli_cpus, each.milli_cpus, by(room.memory_mib, each.memory_mib, limit)));
}

/// The least of each resource in any of these; nothing of an empty list.
inline Resources least_of(std::span<const Resources> amounts) {
  Resources least = amounts.empty() ? Resources{} : amounts.front();
  for (const Resources& next : amounts)
    least = {std::min(least.gpus, next.gpus), std::min(least.milli_cpus, next.milli_cpus),
             std::min(least.memory_mib, next.memory_mib)};
  return least;
}

/// "4", "0.5" or "500m" cores, in thousandths.
Expected<std::int32_t> parse_cpus(std::string_view text);
/// "256GiB", "64G" (= GiB), "1.5TiB", "512MiB", or a plain number of GiB; in MiB, rounded up.
Expected<std::int32_t> parse_memory(std::string_view text);
/// "256GiB", "1.5TiB".
std::string format_memory(std::int64_t mib);

}  // namespace trainyard
