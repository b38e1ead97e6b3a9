// A text file as a table: a header names the columns (or the format fixes them), a row a line.
// The importers' view of CSV, of Slurm's `a|b|c` and of blank-separated columns alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/import/fields.h"
#include "workload/import/records.h"

namespace trainyard {

/// Once something is wrong, the error is kept, next() is false, and fields read as zero.
class TraceTable {
 public:
  /// Names a column of this table; default: a column the file does not have.
  struct Column {
    std::string_view name;
    std::size_t index = kAbsent;
  };

  /// The first line names the columns.
  explicit TraceTable(const Source& source, LineStyle style = {});
  /// The columns are fixed; a first line that repeats their names is passed over.
  TraceTable(const Source& source, LineStyle style, std::span<const std::string_view> columns);

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  /// The column of this name, or one that is absent and reads as empty.
  [[nodiscard]] Column column(std::string_view name) const;
  /// The same, and an error when it is absent.
  Column need(std::string_view name);

  /// Goes to the next row, which must have as many fields as there are columns.
  bool next();
  /// Goes to the next line without splitting it: for who reads the fields of line() on the way, as
  /// long as it is not quoted. Else, and when the fields do not match the columns: split().
  bool next_line();
  bool split();
  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] bool is_quoted() const { return records_.has_quotes(); }

  [[nodiscard]] std::string_view text(const Column& column) const {
    return column.index == kAbsent ? std::string_view{} : cells_[column.index];
  }
  [[nodiscard]] std::string_view cell(std::size_t index) const { return cells_[index]; }
  std::int64_t whole(const Column& column, std::int64_t low, std::int64_t high) {
    return fields_.whole(column.name, text(column), low, high);
  }
  double real(const Column& column, double low, double high) {
    return fields_.real(column.name, text(column), low, high);
  }
  Duration seconds(const Column& column) { return fields_.seconds(column.name, text(column)); }
  /// An instant given as a plain number.
  Time instant(const Column& column) { return Time{} + seconds(column); }
  Time date_time(const Column& column) { return fields_.date_time(column.name, text(column)); }

  /// For errors that concern the row: it is named in front.
  InputFields& fields() { return fields_; }
  void check(const Expected<void>& result) {
    if (!result) fields_.complain(result.error().message);
  }
  [[nodiscard]] bool failed() const { return fields_.failed(); }
  [[nodiscard]] const std::optional<Error>& error() const { return fields_.error(); }
  [[nodiscard]] std::size_t bytes_read() const { return records_.bytes_read(); }

 private:
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  Records records_;
  char separator_;
  bool ends_free_;
  InputFields fields_;
  std::string_view line_;
  Cells cells_;
  std::vector<std::string> header_;
  bool header_may_follow_ = false;
};

/// The cells of the first line; none when it cannot be split.
std::vector<std::string> first_line(std::string_view text, LineStyle style);

/// Whether the first line names all these columns.
bool names_columns(std::string_view text, LineStyle style,
                   std::initializer_list<std::string_view> columns);

}  // namespace trainyard
