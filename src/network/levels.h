// The levels of the flows of one class on one link: the rate that the link lets each have, if
// nothing else limits it. Flow f's level solves
//
//   weight_f level + sum over the others of average min(level, limit)  =  room_f
//
// The left side is a line with a kink at each limit. For all limits in order, sums of those below
// and above each are made once; then a level is found from the line between its two limits, which
// is searched for from the highest that can be downwards.
//
// Example: room 10, and three flows of weight 1, always sending, with limits 1, none and none. The
// two latter share 9 and have level 4.5; the first one would have 10 / 3.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard {

struct Demand {
  double limit = 0;        // what the flow can have elsewhere; may be infinite
  double weight = 1;       // > 0: what its rate costs here while it sends
  double average = 1;      // of that over time, in (0, weight]
  double room = 0;         // at least 0: what the flow and the others of its class may use
  std::uint32_t name = 0;  // the caller's
  double level = 0;        // what is sought
};

class LevelFinder {
 public:
  /// Fills in the levels, and leaves the demands in order of their limits.
  void find(std::vector<Demand>& demands);

 private:
  [[nodiscard]] double level(const std::vector<Demand>& demands, std::size_t which,
                             std::size_t limited) const;

  // Of the demands in order, for the first i: what they use at their limits, and the averages of
  // all others.
  std::vector<double> used_, open_;
};

}  // namespace trainyard
