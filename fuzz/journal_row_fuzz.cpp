// Any bytes as the rows of a job in the journal, with checksums that are right or wrong: the job is
// read as it was written, or it has failed and says which row is damaged. The first byte chooses,
// and up to the first line feed it is the life, from there on the specification.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "live/journal/tables.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

Journal::Tables& tables() {
  static Journal::Tables made(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  static const bool is_made = (made.create(), true);
  (void)is_made;
  return made;
}

void put(bool is_ended, bool has_spec, const std::string& life, const std::string& spec) {
  RowField::Value end;
  if (is_ended) end = std::int64_t{9};
  tables().db.exec("DELETE FROM job; DELETE FROM spec");
  tables().put("INSERT", "job",
               {{"number", std::int64_t{7}},
                {"user", "ada"},
                {"uid", std::int64_t{1}},
                {"gid", std::int64_t{1}},
                {"name", "n"},
                {"class", "batch"},
                {"state", "queued"},
                {"submitted", std::int64_t{1}},
                {"ended", end},
                {"life", life},
                {"lived", end}});
  if (has_spec) tables().put("INSERT", "spec", {{"number", std::int64_t{7}}, {"spec", spec}});
}

JobRecord read() {
  SQLite::Statement row(tables().db, Journal::Tables::select_jobs());
  require(row.executeStep());
  return tables().read_job(row);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t lot = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string life(text.substr(0, end)), spec(text.substr(std::min(end + 1, text.size())));
  const bool is_right = (lot & 1U) != 0;
  put((lot & 2U) != 0, (lot & 4U) == 0, life, spec);
  if (!is_right) tables().db.exec("UPDATE job SET sum = sum + 1");
  tables().damaged.clear();
  const JobRecord job = read();
  require(job.number == 7);
  if (!is_right) require(!tables().damaged.empty());
  if (job.phase() == Phase::failed && !tables().damaged.empty() && !is_right)
    require(job.reason.find("table job, row 7") != std::string::npos);
  // What was read can be written, and read again.
  JobRecord again;
  require(static_cast<bool>(life_from_json(life_to_json(job), again)));
  require(again.phase() == job.phase() && again.runs == job.runs);
  return 0;
}
