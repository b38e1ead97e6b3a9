#include "live/job/bounded_json.h"

#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using nlohmann::json;

/// Refuses one level, or one value, too many. Up to the first byte that is wrong, texts begin and
/// end here where they do for the parser, and there the parser stops.
Expected<void> check_size(std::string_view text) {
  int depth = 0;
  std::size_t values = 1;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"')
      in_text = !in_text;
    else if (in_text)
      i += c == '\\' ? 1 : 0;
    else if (c == '[' || c == '{')
      ++depth;
    else if (c == ']' || c == '}')
      --depth;
    if (depth > kDeepestJson)
      return fail("byte {} of {} opens a list or object within {} others, which is one too many",
                  i + 1, text.size(), kDeepestJson);
    // Each value but the outermost is the first in a list or object, or follows a comma.
    if (!in_text && (c == '[' || c == '{' || c == ',') && ++values > kMostJsonValues)
      return fail("byte {} of {} begins value {}; {} are the most that is taken", i + 1,
                  text.size(), values, kMostJsonValues);
  }
  return {};
}

/// Texts become paths, names and arguments of other programs, for which a NUL byte ends them.
Expected<void> check_texts(const json& value) {
  const auto has_nul = [](const std::string& text) { return text.find('\0') != text.npos; };
  if (value.is_string() && has_nul(value.get_ref<const std::string&>()))
    return fail("a text has a NUL byte: {}",
                trainyard::quoted(value.get_ref<const std::string&>()));
  if (!value.is_structured()) return {};
  for (const auto& [key, part] : value.items()) {
    if (has_nul(key)) return fail("a name has a NUL byte: {}", trainyard::quoted(key));
    if (auto ok = check_texts(part); !ok) return ok;
  }
  return {};
}

}  // namespace

Expected<json> parse_bounded_json(std::string_view text) {
  if (auto ok = check_size(text); !ok) return tl::make_unexpected(ok.error());
  // The parser takes a NUL byte for the end, whatever follows it.
  if (const auto nul = text.find('\0'); nul != text.npos)
    return fail("not JSON: byte {} of {} is NUL", nul + 1, text.size());
  try {
    json value = json::parse(text);
    if (auto ok = check_texts(value); !ok) return tl::make_unexpected(ok.error());
    return value;
  } catch (const json::parse_error& error) {
    return fail("not JSON: byte {} of {} is not as it should be", error.byte, text.size());
  } catch (const json::exception& error) {
    // A number beyond all doubles: "[json.exception.out_of_range.406] number overflow ... '1e999'".
    const std::string_view what = error.what();
    return fail("cannot be taken: {}", trainyard::quoted(what.substr(what.find(']') + 2)));
  }
}

}  // namespace trainyard
