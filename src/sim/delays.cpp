#include "sim/delays.h"

#include "base/split.h"

namespace trainyard {

Expected<EngineDelays> parse_delays(std::string_view text) {
  EngineDelays delays;
  if (text == "none") return delays;
  for (const std::string_view part : split(text, ",")) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    if (equals == part.size() || (name != "start" && name != "leave"))
      return fail("delays: {}: they are start=TIME and leave=TIME, as in start=1200ms,leave=700ms",
                  quoted(part));
    const auto time = parse_duration(part.substr(equals + 1));
    if (!time) return fail("delays: {}: {}", name, time.error().message);
    (name == "start" ? delays.start : delays.leave) = *time;
  }
  return delays;
}

}  // namespace trainyard
