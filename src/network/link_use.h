// What a flow does on a link.
#pragma once

#include <cstdint>

namespace trainyard {

enum class LinkId : std::uint32_t {};

struct LinkUse {
  LinkId link{};
  double weight = 1;  // bytes on the link for each byte of a stream: how many streams cross it

  bool operator==(const LinkUse&) const = default;
};

}  // namespace trainyard
