// Whose bytes go first where jobs share a network, and how the network treats those that wait.
#pragma once

#include <cstdint>

namespace trainyard {

/// Bytes of a smaller class go before those of a larger one, and within a class all alike.
enum class FlowClass : std::uint8_t {};
constexpr FlowClass kFirstFlow{0};

/// Whether the engine puts one job's bytes before another's. Where it does not, no flow stage is
/// made: it would wake the policy and change jobs to no effect.
enum class FlowClasses : std::uint8_t { ignored, carried_out };

/// What a policy asks of the network besides classes.
struct FlowRules {
  /// The share of every link that the last class in use always keeps, 0 to 1; 0: none.
  double floor = 0;
  /// At most so many jobs send over a link at once; the others wait, and the one of the smallest
  /// class goes first. 0: however many, and classes are priorities. Otherwise those that send share
  /// alike.
  std::int32_t at_most = 0;
  /// Of those, a second one joins a first only if it has so little to send that both together end
  /// sooner by it (AdaDUAL).
  bool by_size = false;

  bool operator==(const FlowRules&) const = default;
};

}  // namespace trainyard
