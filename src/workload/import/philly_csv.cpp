// Microsoft's Philly trace reduced to a table: timestamp, duration, num_gpus, gpu_time, cluster.
#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {

bool recognise_philly_csv(std::string_view text) {
  return names_columns(text, {}, {"timestamp", "duration", "num_gpus"});
}

Expected<Import> parse_philly_csv(const Source& source) {
  TraceTable table(source);
  const auto timestamp = table.need("timestamp");
  const auto duration = table.need("duration");
  const auto num_gpus = table.need("num_gpus");
  ImportBuilder out(source.origin);
  while (table.next()) {
    Job job;
    job.submit = table.date_time(timestamp);
    job.duration = table.seconds(duration);
    set_gang(job, table.whole(num_gpus, 0, kMostGpus));
    table.check(out.add(job, ""));
  }
  if (table.failed()) return tl::make_unexpected(*table.error());
  return std::move(out).finish();
}

}  // namespace trainyard
