// Decides what of a foreign text may reach a terminal or a log. Job names, users' reasons and
// output are written by people who may mean harm: an escape sequence retitles or rewrites the
// reader's terminal, a bidirectional control shows a name backwards, and a zero-width character
// makes two names look the same.
//
// Shown as they are: printable characters of valid UTF-8. Escaped: control characters (C0, DEL,
// C1), line and paragraph separators, every code point that Unicode calls default-ignorable (which
// includes bidirectional controls and zero-width characters), and bytes that are not UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// Returns the text with what may not be shown written as \x1b (a byte) or \u{202e} (a character).
std::string visible(std::string_view text);

/// True if visible() would change nothing.
bool is_visible(std::string_view text);

/// Makes a stream of output safe for a terminal: lines, tabs, carriage returns and colours (SGR
/// sequences, except those that conceal text) pass, everything else is as visible() has it. The
/// parts of a stream may end anywhere.
class VisibleStream {
 public:
  /// Returns what can be shown so far; an unfinished character or sequence is kept for the next
  /// part.
  std::string take(std::string_view part);
  /// Returns what was kept, and ends colours.
  std::string finish();

 private:
  std::string pending_;
  bool is_coloured_ = false;
};

}  // namespace trainyard
