#include "cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace trainyard::cli {
namespace {

constexpr std::string_view kPlain = "\x1b[0m";

bool has_colours() {
  static const bool has = [] {
    const char* no = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) != 0 && (no == nullptr || *no == '\0') && terminal != nullptr &&
           std::string_view(terminal) != "dumb";
  }();
  return has;
}

/// How many bytes the escape sequence or the character at the front has.
std::size_t length_of_first(std::string_view text) {
  if (text.starts_with("\x1b[")) return std::min(text.find('m'), text.size() - 1) + 1;
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    ++length;
  return length;
}

}  // namespace

std::string coloured(std::string_view text, Colour colour) {
  if (!has_colours() || text.empty()) return std::string(text);
  return "\x1b[" + std::to_string(static_cast<int>(colour)) + "m" + std::string(text) +
         std::string(kPlain);
}

std::string coloured_state(std::string_view state) {
  constexpr std::array<std::pair<std::string_view, Colour>, 13> kColours{
      {{"running", Colour::green},
       {"up", Colour::green},
       {"starting", Colour::cyan},
       {"reserved", Colour::cyan},
       {"draining", Colour::cyan},
       {"queued", Colour::yellow},
       {"paused", Colour::yellow},
       {"held", Colour::yellow},
       {"closed", Colour::yellow},
       {"done", Colour::faint},
       {"cancelled", Colour::magenta},
       {"failed", Colour::red},
       {"down", Colour::red}}};
  for (const auto& [name, colour] : kColours)
    if (name == state) return coloured(state, colour);
  return std::string(state);
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t length = length_of_first(text);
    if (text.front() != '\x1b') ++width;
    text.remove_prefix(length);
  }
  return width;
}

std::string clipped(std::string_view text, std::size_t columns) {
  std::string kept;
  bool is_coloured = false;
  for (std::size_t width = 0; !text.empty();) {
    const std::size_t length = length_of_first(text);
    if (text.front() == '\x1b')
      is_coloured = true;
    else if (++width > columns)
      break;
    kept += text.substr(0, length);
    text.remove_prefix(length);
  }
  return is_coloured ? kept + std::string(kPlain) : kept;
}

}  // namespace trainyard::cli
