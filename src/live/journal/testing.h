// For tests of what reads the journal.
#pragma once

#include <fmt/format.h>

#include <string>

#include "live/journal/row_sum.h"

namespace trainyard {

/// Gives every row of the table the checksum that is right for what is in it now, as a faulty
/// program would that writes rows as this one does.
inline void sum_all_rows(SQLite::Database& db, const std::string& table) {
  SQLite::Statement rows(db, fmt::format("SELECT rowid, * FROM {}", table));
  SQLite::Statement write(db,
                          fmt::format("UPDATE {} SET {} = ? WHERE rowid = ?", table, kSumColumn));
  while (rows.executeStep()) {
    const StoredRow row{rows, 1, rows.getColumnCount()};
    write.bind(1, row.sum().value());
    write.bind(2, rows.getColumn(0).getInt64());
    write.exec();
    write.reset();
  }
}

}  // namespace trainyard
