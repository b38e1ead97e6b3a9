// Side tables by dense id grow as ids appear.
#pragma once

#include <algorithm>
#include <vector>

namespace trainyard {

/// Makes table[i] exist. At least `expected` entries are made at once, where their number is known.
template <class T>
void grow_to(std::vector<T>& table, std::size_t i, std::size_t expected) {
  if (i < table.size()) return;
  if (expected > i) {
    table.reserve(expected);
    table.resize(expected);
  } else {
    table.resize(std::max(i + 1, table.size() * 3 / 2));
  }
}

}  // namespace trainyard
