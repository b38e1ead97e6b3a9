// What each user's jobs take of the disk, as the journal counts it (table `disk_use`): scripts and
// environments, output, and history, which is everything else that is recorded of jobs.
//
// Triggers keep the table, so no statement that writes or removes a row can leave it wrong. They
// find a row's owner by its job: a job's own row is written before what belongs to it, and removed
// after.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

/// Bytes.
struct DiskUse {
  std::int64_t scripts = 0, output = 0, history = 0;

  [[nodiscard]] std::int64_t sum() const { return scripts + output + history; }
  DiskUse& operator+=(const DiskUse& more) {
    scripts += more.scripts, output += more.output, history += more.history;
    return *this;
  }
  bool operator==(const DiskUse&) const = default;
};

/// What all users take together.
struct AllDiskUse {
  DiskUse use;
  std::int64_t users = 0;
};

/// Makes the table and its triggers.
std::string sql_that_keeps_disk_use();
/// Selects the rows that the table should have, by what is in the others.
std::string sql_that_sums_disk_use();
/// Selects `uid` and by how many bytes each of its counts is too high, of users whose row is wrong.
std::string sql_that_finds_wrong_disk_use();

}  // namespace trainyard
