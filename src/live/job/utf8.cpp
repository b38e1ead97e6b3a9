#include "live/job/utf8.h"

#include <nlohmann/json.hpp>

namespace trainyard {

using nlohmann::json;

std::string as_utf8(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

bool is_utf8(const std::string& text) {
  return as_utf8(text) == text;
}

}  // namespace trainyard
