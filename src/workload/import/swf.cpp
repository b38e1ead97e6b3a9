// Standard Workload Format 2.2 of the Parallel Workloads Archive (cs.huji.ac.il/labs/parallel/
// workload/swf.html): 18 numbers a line, -1 for what is not known. Its processors are our GPUs.
#include <algorithm>
#include <array>
#include <cmath>

#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {
namespace {

constexpr LineStyle kSwfLine{.separator = ' ', .quotes = false, .comment = ';'};
constexpr std::array<std::string_view, 18> kSwfColumns{
    "job_number", "submit_time",   "wait_time",       "run_time",       "allocated_procs",
    "cpu_time",   "used_memory",   "requested_procs", "requested_time", "requested_memory",
    "status",     "user",          "group",           "executable",     "queue",
    "partition",  "preceding_job", "think_time"};

}  // namespace

bool recognise_swf(std::string_view text) {
  const std::vector<std::string> cells = first_line(text, kSwfLine);
  if (cells.size() != kSwfColumns.size()) return false;
  for (const std::string& cell : cells)
    if (!parse_real(cell, -1, 1e18)) return false;
  return true;
}

Expected<Import> parse_swf(const Source& source) {
  constexpr double kMostKib = 1e12;
  constexpr std::string_view kPart = "a part of a job that another line sums up (status 2 to 4)";
  TraceTable table(source, kSwfLine, kSwfColumns);
  const auto job_number = table.column("job_number");
  const auto submit_time = table.column("submit_time");
  const auto run_time = table.column("run_time");
  const auto allocated = table.column("allocated_procs");
  const auto requested = table.column("requested_procs");
  const auto requested_time = table.column("requested_time");
  const auto requested_memory = table.column("requested_memory");
  const auto status = table.column("status");
  const auto user = table.column("user");
  ImportBuilder out(source.origin);
  while (table.next()) {
    const std::string_view ended = table.text(status);
    if (ended == "2" || ended == "3" || ended == "4") {
      out.leave_out(kPart);
      continue;
    }
    if (table.text(run_time) == "-1") {
      out.leave_out(kNeverStarted);
      continue;
    }
    Job job;
    job.submit = table.instant(submit_time);
    job.duration = table.seconds(run_time);
    if (table.text(requested_time) != "-1") job.estimate = table.seconds(requested_time);
    const std::int64_t asked = table.whole(requested, -1, kMostGpus);
    set_gang(job,
             std::max<std::int64_t>(asked > 0 ? asked : table.whole(allocated, -1, kMostGpus), 0));
    const double kib = table.real(requested_memory, -1, kMostKib);
    job.per_worker.memory_mib = static_cast<std::int32_t>(std::ceil(std::max(kib, 0.0) / 1024));
    job.user = UserId{out.workload.users.add(table.text(user))};
    table.check(out.add(job, table.text(job_number)));
  }
  if (table.failed()) return tl::make_unexpected(*table.error());
  return std::move(out).finish();
}

}  // namespace trainyard
