// SenseTime's Helios: cluster_log.csv, one file for each cluster (github.com/S-Lab-System-Group/
// HeliosData). The counts of GPUs and CPUs are those of the whole job.
#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {

bool recognise_helios(std::string_view text) {
  return names_columns(text, {}, {"gpu_num", "submit_time", "duration"});
}

Expected<Import> parse_helios(const Source& source) {
  TraceTable table(source);
  const auto job_id = table.column("job_id");
  const auto user = table.column("user");
  const auto gpu_num = table.need("gpu_num");
  const auto cpu_num = table.column("cpu_num");
  const auto submit_time = table.need("submit_time");
  const auto start_time = table.column("start_time");
  const auto duration = table.need("duration");
  const bool says_start = table.column("start_time").index < table.header().size();
  ImportBuilder out(source.origin);
  while (table.next()) {
    if (says_start && is_missing(table.text(start_time))) {
      out.leave_out(kNeverStarted);
      continue;
    }
    Job job;
    job.submit = table.date_time(submit_time);
    job.duration = table.seconds(duration);
    const std::int64_t gpus = table.whole(gpu_num, 0, kMostGpus);
    const std::int64_t cpus =
        is_missing(table.text(cpu_num)) ? 0 : table.whole(cpu_num, 0, kMostGpus);
    set_gang(job, gpus, cpus * 1000);
    job.user = UserId{out.workload.users.add(table.text(user))};
    table.check(out.add(job, table.text(job_id)));
  }
  if (table.failed()) return tl::make_unexpected(*table.error());
  return std::move(out).finish();
}

}  // namespace trainyard
