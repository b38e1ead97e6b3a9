#include "live/job/bounded_json.h"

#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using nlohmann::json;

/// The byte (from 1) that opens one level too many; 0 if none does. Up to the first byte that is
/// wrong, texts begin and end here where they do for the parser, and there the parser stops.
std::size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"')
      in_text = !in_text;
    else if (in_text)
      i += c == '\\' ? 1 : 0;
    else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return i + 1;
    } else if (c == ']' || c == '}')
      --depth;
  }
  return 0;
}

}  // namespace

Expected<json> parse_bounded_json(std::string_view text) {
  if (const std::size_t byte = too_deep_at(text); byte != 0)
    return fail("byte {} of {} opens a list or object within {} others, which is one too many",
                byte, text.size(), kDeepestJson);
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    return fail("not JSON: byte {} of {} is not as it should be", error.byte, text.size());
  } catch (const json::exception& error) {
    // A number beyond all doubles: "[json.exception.out_of_range.406] number overflow ... '1e999'".
    const std::string_view what = error.what();
    return fail("cannot be taken: {}", trainyard::quoted(what.substr(what.find(']') + 2)));
  }
}

}  // namespace trainyard
