// The checksum that every row of the journal carries in its column `sum`: a bit that flips on disk
// or in memory costs one row, and the row is named.
//
// It adds up, modulo 2^64, one hash for each column that is not null: of the column's name, the
// type of its value and the bytes of the value. It follows that
//
//  1. a column that is added to a table later is covered: no list of columns is kept anywhere;
//  2. rows from before that column have null there, and their checksums stay right;
//  3. a change within 8 bytes of one value (aligned, from its beginning) always shows, and any
//     other change but for one in 2^64.
//
// It guards against accidents, not against a person: whoever can write the file can write a sum.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard {

/// The name of the column that holds the checksum, last in each table when it is made.
constexpr std::string_view kSumColumn = "sum";

class RowSum {
 public:
  void add(std::string_view column, std::int64_t value);
  void add(std::string_view column, std::string_view text);
  /// A value of a type that the journal does not write; damage makes such values.
  void add_other(std::string_view column, std::string_view bytes);

  /// Of other columns of the same row.
  void add_up(std::int64_t other) { sum_ += static_cast<std::uint64_t>(other); }

  /// As SQLite keeps it.
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(sum_); }

 private:
  std::uint64_t sum_ = 0;
};

/// A whole row of one table, as columns [first, end) of a statement that stands on it.
struct StoredRow {
  const SQLite::Statement& statement;
  int first = 0, end = 0;

  /// The index of the column in the statement; `end` if it has none of this name.
  [[nodiscard]] int find(std::string_view column) const;
  [[nodiscard]] std::int64_t integer(std::string_view column) const;
  /// Empty if it is null.
  [[nodiscard]] std::string text(std::string_view column) const;
  [[nodiscard]] bool is_null(std::string_view column) const;

  [[nodiscard]] bool has_sum() const;
  /// Computes what its checksum should be.
  [[nodiscard]] RowSum sum() const;
  /// True also of a row that has no checksum: one that was written before format 5 of the journal,
  /// and has not changed since.
  [[nodiscard]] bool is_intact() const;
};

/// A statement that selects `table.*` of one table.
StoredRow whole_row(const SQLite::Statement& statement);

}  // namespace trainyard
