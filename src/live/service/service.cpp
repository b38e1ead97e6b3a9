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

}  // namespace trainyard
