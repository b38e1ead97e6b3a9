// Lines of a text file and the cells of a line. Nothing is copied unless a cell has doubled quotes;
// no more than kLongestLine is ever looked at without finding a line's end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trainyard {

/// Longer lines are refused: no trace has them, and a file that is one endless line is not text.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// How lines are made up.
struct LineStyle {
  char separator = ',';    // ' ': any run of blanks and tabs
  bool quotes = true;      // "a, ""b""" is one cell, also over line ends (RFC 4180)
  char comment = '#';      // a line that begins with it is passed over, as is an empty one
  bool ends_free = false;  // the last column may have the separator in it, and is cut there
};

class Records {
 public:
  /// Passes over a UTF-8 byte order mark.
  Records(std::string_view text, LineStyle style);

  /// The next line that is neither empty nor a comment, without its end (LF or CRLF). False at the
  /// end of the text; an error for a line that is too long or ends inside quotes.
  Expected<bool> next(std::string_view& record);

  /// Where the last record began, counted from 1.
  [[nodiscard]] std::size_t line() const { return line_; }
  /// Whether quotes of the last record need a look.
  [[nodiscard]] bool has_quotes() const { return has_quotes_; }
  [[nodiscard]] std::size_t bytes_read() const { return position_; }

 private:
  Expected<void> take_record(std::string_view& record);
  bool quote_before(std::size_t end);

  std::string_view text_;
  LineStyle style_;
  std::size_t position_ = 0;
  std::size_t line_ = 0, next_line_ = 1;
  std::size_t quote_free_ = 0;  // there is no quote from position_ up to here
  bool has_quotes_ = false;
};

/// The cells of one record. Views into it, or into storage of its own for cells with doubled
/// quotes; valid until the next split.
class Cells {
 public:
  Expected<void> split(std::string_view record, char separator, bool has_quotes);

  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t i) const { return cells_[i]; }

 private:
  void split_plain(std::string_view record, char separator);
  void split_blanks(std::string_view record);
  Expected<void> split_quoted(std::string_view record, char separator);
  Expected<std::size_t> quoted_cell(std::string_view record, std::size_t begin, char separator);

  std::vector<std::string_view> cells_;
  std::string unescaped_;
};

}  // namespace trainyard
