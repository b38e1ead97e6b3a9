#include "network/levels.h"

#include <algorithm>

namespace trainyard {

void LevelFinder::find(std::vector<Demand>& demands) {
  const std::size_t count = demands.size();
  std::ranges::sort(demands, {}, &Demand::limit);
  used_.resize(count + 1);
  open_.resize(count + 1);
  used_[0] = 0;
  open_[count] = 0;
  double room = 0;
  for (std::size_t i = 0; i < count; ++i) {
    used_[i + 1] = used_[i] + demands[i].average * demands[i].limit;
    room = std::max(room, demands[i].room);
  }
  for (std::size_t i = count; i-- > 0;) open_[i] = open_[i + 1] + demands[i].average;
  // No level is above that at which all flows, sending as they do on average, use all room.
  std::size_t limited = 0;
  while (limited < count && used_[limited] + open_[limited] * demands[limited].limit < room)
    ++limited;
  for (std::size_t i = 0; i < count; ++i) demands[i].level = level(demands, i, limited);
}

/// Of one demand, at which at most the first `limited` are below it.
double LevelFinder::level(const std::vector<Demand>& demands, std::size_t which,
                          std::size_t limited) const {
  const Demand& own = demands[which];
  for (;; --limited) {
    const double level =
        which < limited
            ? (own.room - used_[limited] + own.average * own.limit) / (open_[limited] + own.weight)
            : (own.room - used_[limited]) / (open_[limited] + (own.weight - own.average));
    if (limited == 0 || level >= demands[limited - 1].limit) return level;
  }
}

}  // namespace trainyard
