// Checks a journal, or a backup of one, without a daemon:
//
//  1. SQLite's own structure: pages, b-trees, indexes (PRAGMA integrity_check);
//  2. the checksum of every row (row_sum.h);
//  3. what the rows of a job say of each other: its state and its life, its columns and its
//     specification, its array, its payload while it has not ended; and that all tasks of an array
//     have rows, unless they are marked as still to be written;
//  4. what jobs say of each other: no GPU of a machine is held by two of them;
//     and, where all of this is right, the rows of each user add up to its row in disk_use;
//  5. the head (journal_head.h): no commit is missing.
//
// It only reads. A daemon that writes the same journal goes on; its write-ahead log grows for as
// long as the check of the structure takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace trainyard {

struct Verification {
  int format = 0;
  std::uint64_t rows = 0, jobs = 0, unfinished = 0;
  std::uint64_t unsummed = 0;          // rows from before format 5, which have no checksum
  std::vector<std::string> structure;  // what SQLite finds wrong, and triggers and views of others
  std::vector<std::string> problems;   // of rows: "job 7: table spec, row 7: its checksum is wrong"

  [[nodiscard]] bool is_right() const { return structure.empty() && problems.empty(); }
};

/// An error: it cannot be opened, is no journal, or has a newer format than this program reads.
Expected<Verification> verify_journal(const std::string& path);

}  // namespace trainyard
