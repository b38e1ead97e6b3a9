#include "base/visible_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

/// The character at the front of a text.
struct Character {
  enum class Kind : std::uint8_t { shown, escaped, invalid, unfinished } kind{};
  std::size_t bytes = 1;
  char32_t code = 0;
};

/// Controls, line and paragraph separators, interlinear annotations, and Unicode's property
/// Default_Ignorable_Code_Point; sorted.
constexpr std::array<std::pair<char32_t, char32_t>, 20> kEscaped{{
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
}};

bool is_escaped(char32_t code) {
  return std::ranges::any_of(
      kEscaped, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

Character first_of(std::string_view text) {
  using Kind = Character::Kind;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {is_escaped(byte(0)) ? Kind::escaped : Kind::shown, 1, byte(0)};
  const std::size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4) return {Kind::invalid};
  char32_t code = byte(0) & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size()) return {Kind::unfinished, i};
    if ((byte(i) & 0xc0) != 0x80) return {Kind::invalid};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  // Overlong forms, surrogates, and beyond Unicode.
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast.at(size) || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
    return {Kind::invalid};
  return {is_escaped(code) ? Kind::escaped : Kind::shown, size, code};
}

/// Appends the character at the front of `text`, and takes it from there.
void append_visible(const Character& first, std::string_view& text, std::string& shown) {
  const std::string_view bytes = text.substr(0, first.bytes);
  if (first.kind == Character::Kind::shown)
    shown += bytes;
  else if (first.kind == Character::Kind::escaped && first.code >= 0x80)
    shown += fmt::format("\\u{{{:04x}}}", static_cast<std::uint32_t>(first.code));
  else
    for (const char c : bytes) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  text.remove_prefix(first.bytes);
}

constexpr std::size_t kLongestColour = 32;

/// True unless a parameter conceals what follows. "38;5;8" is a colour, whose numbers are none.
bool is_harmless(std::string_view parameters) {
  std::size_t colour_numbers = 0;
  while (!parameters.empty()) {
    const std::size_t end = std::min(parameters.find_first_of(";:"), parameters.size());
    const std::string_view number = parameters.substr(0, end);
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
    if (colour_numbers == 1 && (number == "5" || number == "2")) {
      colour_numbers = number == "5" ? 2 : 4;
    } else if (colour_numbers > 1) {
      if (--colour_numbers == 1) colour_numbers = 0;
    } else if (number == "38" || number == "48" || number == "58") {
      colour_numbers = 1;
    } else if (number.size() > 2 || number == "8" || number == "08") {
      return false;
    }
  }
  return true;
}

/// The length of the SGR sequence at the front; 0 if there is none that is harmless, none if it is
/// not all there.
std::optional<std::size_t> colour_at_front(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  if (text[1] != '[') return 0;
  const std::size_t end = text.find_first_not_of("0123456789;:", 2);
  if (end == std::string_view::npos)
    return text.size() > kLongestColour ? std::optional<std::size_t>(0) : std::nullopt;
  if (text[end] != 'm' || end > kLongestColour || !is_harmless(text.substr(2, end - 2))) return 0;
  return end + 1;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string shown;
  while (!text.empty()) append_visible(first_of(text), text, shown);
  return shown;
}

bool is_visible(std::string_view text) {
  while (!text.empty()) {
    const Character first = first_of(text);
    if (first.kind != Character::Kind::shown) return false;
    text.remove_prefix(first.bytes);
  }
  return true;
}

std::string VisibleStream::take(std::string_view part) {
  const std::string all = std::exchange(pending_, {}) + std::string(part);
  std::string_view text = all;
  std::string shown;
  while (!text.empty()) {
    if (text[0] == '\x1b') {
      const auto colour = colour_at_front(text);
      if (!colour) break;
      if (*colour > 0) {
        shown += text.substr(0, *colour);
        text.remove_prefix(*colour);
        is_coloured_ = true;
        continue;
      }
    }
    if (text[0] == '\n' || text[0] == '\t' || text[0] == '\r') {
      shown += text[0];
      text.remove_prefix(1);
      continue;
    }
    const Character first = first_of(text);
    if (first.kind == Character::Kind::unfinished) break;
    append_visible(first, text, shown);
  }
  pending_ = text;
  return shown;
}

std::string VisibleStream::finish() {
  std::string rest = visible(std::exchange(pending_, {}));
  return std::exchange(is_coloured_, false) ? rest + "\x1b[0m" : rest;
}

}  // namespace trainyard
