// Colour, and how wide a text is on a terminal. There is none where standard output is no terminal,
// where NO_COLOR is set to anything (no-color.org), or where TERM says that it could not be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard::cli {

enum class Colour : int {
  red = 31,
  green = 32,
  yellow = 33,
  magenta = 35,
  cyan = 36,
  bold = 1,
  faint = 2
};

/// The text in that colour, or as it is.
std::string coloured(std::string_view text, Colour colour);
/// The name of a job's or a machine's state in its colour.
std::string coloured_state(std::string_view state);

/// How many columns it takes: colours none, a character of several bytes one.
std::size_t width_of(std::string_view text);
/// As much of it as fits, with colours ended.
std::string clipped(std::string_view text, std::size_t columns);

}  // namespace trainyard::cli
