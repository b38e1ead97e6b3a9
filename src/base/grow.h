// Side tables by dense id grow as ids appear.
#pragma once

#include <algorithm>
#include <vector>

namespace trainyard {

/// What grow_to does where the table is too short: apart, so that the look at its size is inlined.
/// Nothing is reserved: a daemon expects one entry more each time, and would copy all each time.
template <class T>
void grow_beyond(std::vector<T>& table, std::size_t i, std::size_t expected) {
  table.resize(expected > i ? expected : std::max(i + 1, table.size() * 3 / 2));
}

/// Makes table[i] exist. At least `expected` entries are made at once, where their number is known.
template <class T>
void grow_to(std::vector<T>& table, std::size_t i, std::size_t expected) {
  if (i >= table.size()) grow_beyond(table, i, expected);
}

}  // namespace trainyard
