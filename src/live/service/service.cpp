#include "live/service/service.h"

#include <nlohmann/json.hpp>

namespace trainyard {

LiveEvent public_part(const LiveEvent& event) {
  LiveEvent part = event;
  nlohmann::json shown = nlohmann::json::object();
  if (event.kind == name(Happening::submitted))
    if (const auto all = nlohmann::json::parse(event.details, nullptr, false); all.contains("name"))
      shown["name"] = all["name"];
  part.details = shown.dump();
  return part;
}

LiveEvent without_actor(const LiveEvent& event) {
  LiveEvent part = event;
  nlohmann::json details = nlohmann::json::parse(event.details, nullptr, false);
  if (!details.is_object()) return part;
  details.erase("by");
  details.erase("via");
  part.details = details.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return part;
}

}  // namespace trainyard
