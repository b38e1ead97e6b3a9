#include "live/journal/disk_use.h"

#include <fmt/format.h>

#include <string_view>

namespace trainyard {
namespace {

// A row counts with its text and a fixed part, which stands for its numbers and its entries in the
// indexes.

std::string job_bytes(std::string_view row) {
  return fmt::format(
      "(250 + 2 * length(CAST({0}.user || {0}.name AS BLOB)) + length(CAST({0}.life AS BLOB)))",
      row);
}

/// Of output that was not erased.
std::string output_bytes(std::string_view row) {
  return fmt::format("iif({0}.erased_output IS NULL, coalesce({0}.output, 0), 0)", row);
}

std::string spec_bytes(std::string_view row) {
  return fmt::format("(20 + length(CAST({}.spec AS BLOB)))", row);
}

std::string payload_bytes(std::string_view row) {
  return fmt::format("(20 + length(CAST({}.payload AS BLOB)))", row);
}

std::string event_bytes(std::string_view row) {
  return fmt::format("(50 + length(CAST({0}.kind || {0}.user || {0}.details AS BLOB)))", row);
}

std::string owner_of(std::string_view job) {
  return fmt::format("(SELECT uid FROM job WHERE number = {})", job);
}

/// Of a job, or of an array.
std::string owner_of_submission(std::string_view number) {
  return fmt::format("coalesce({}, (SELECT uid FROM job WHERE array = {} LIMIT 1))",
                     owner_of(number), number);
}

std::string add(std::string_view column, const std::string& bytes, const std::string& owner) {
  return fmt::format(" UPDATE disk_use SET {0} = {0} + {1} WHERE uid = {2};", column, bytes, owner);
}

/// Counts each row of a table that is inserted (NEW) or deleted (OLD).
template <class Bytes, class Owner>
std::string count_rows(std::string_view table, std::string_view key, std::string_view column,
                       Bytes bytes, Owner owner) {
  std::string sql;
  for (const auto& [row, event, sign] :
       {std::tuple{"NEW", "INSERT", ""}, std::tuple{"OLD", "DELETE", "-"}})
    sql += fmt::format("CREATE TRIGGER {0}_{1} AFTER {1} ON {0} BEGIN{2} END;\n", table, event,
                       add(column, sign + bytes(row), owner(fmt::format("{}.{}", row, key))));
  return sql;
}

}  // namespace

std::string sql_that_keeps_disk_use() {
  const std::string added = job_bytes("NEW"), removed = job_bytes("OLD");
  const auto job_trigger = [](const char* name, const char* event, const std::string& todo) {
    return fmt::format("CREATE TRIGGER {} AFTER {} ON job BEGIN{} END;\n", name, event, todo);
  };
  return "CREATE TABLE disk_use (uid INTEGER PRIMARY KEY, scripts INTEGER NOT NULL DEFAULT 0, "
         "output INTEGER NOT NULL DEFAULT 0, history INTEGER NOT NULL DEFAULT 0);\n" +
         job_trigger("job_INSERT", "INSERT",
                     " INSERT OR IGNORE INTO disk_use (uid) VALUES (NEW.uid);" +
                         add("history", added, "NEW.uid") +
                         add("output", output_bytes("NEW"), "NEW.uid")) +
         job_trigger(
             "job_UPDATE", "UPDATE OF life, output, erased_output",
             add("history", added + " - " + removed, "NEW.uid") +
                 add("output", output_bytes("NEW") + " - " + output_bytes("OLD"), "NEW.uid")) +
         job_trigger("job_DELETE", "DELETE",
                     add("history", "-" + removed, "OLD.uid") +
                         add("output", "-" + output_bytes("OLD"), "OLD.uid")) +
         count_rows("spec", "number", "history", spec_bytes, owner_of_submission) +
         count_rows("event", "job", "history", event_bytes, owner_of) +
         count_rows("payload", "number", "scripts", payload_bytes, owner_of_submission);
}

// total() and not sum(), which fails where damage has made a number so large that it overflows.
std::string sql_that_sums_disk_use() {
  constexpr auto total = [](const char* column) {
    return fmt::format("CAST(total({0}) AS INTEGER) AS {0}", column);
  };
  return fmt::format(
      "SELECT uid, {}, {}, {} FROM ("
      "SELECT uid, 0 AS scripts, {} AS output, {} AS history FROM job "
      "UNION ALL SELECT {}, 0, 0, {} FROM spec "
      "UNION ALL SELECT uid, 0, 0, {} FROM event JOIN job ON job.number = event.job "
      "UNION ALL SELECT {}, {}, 0, 0 FROM payload) WHERE uid IS NOT NULL GROUP BY uid",
      total("scripts"), total("output"), total("history"), output_bytes("job"), job_bytes("job"),
      owner_of_submission("spec.number"), spec_bytes("spec"), event_bytes("event"),
      owner_of_submission("payload.number"), payload_bytes("payload"));
}

std::string sql_that_finds_wrong_disk_use() {
  return fmt::format(
      "SELECT uid, total(scripts), total(output), total(history) FROM ("
      "SELECT uid, scripts, output, history FROM disk_use "
      "UNION ALL SELECT uid, -scripts, -output, -history FROM ({})) GROUP BY uid "
      "HAVING total(scripts) != 0 OR total(output) != 0 OR total(history) != 0",
      sql_that_sums_disk_use());
}

}  // namespace trainyard
