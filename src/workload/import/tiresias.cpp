// Workloads of the Tiresias simulator (github.com/SymbioticLab/Tiresias, simulator/60_job.csv):
// job_id, num_gpu, submit_time, iterations, model_name, duration, interval; times in seconds. Those
// of Muri (github.com/Rivendile/Muri, Zhao et al., SIGCOMM 2022), whose simulator came from it,
// have further columns, among them what a job takes of each resource, and times in milliseconds.
#include <limits>

#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {

bool recognise_muri(std::string_view text) {
  return names_columns(text, {}, {"num_gpu", "submit_time", "duration", "resource_time_0"});
}

bool recognise_tiresias(std::string_view text) {
  return names_columns(text, {}, {"num_gpu", "submit_time", "duration"}) && !recognise_muri(text);
}

/// Their unit is that of the format (read.cpp).
Expected<Import> parse_muri(const Source& source) {
  return parse_tiresias(source);
}

Expected<Import> parse_tiresias(const Source& source) {
  TraceTable table(source);
  const auto job_id = table.column("job_id");
  const auto num_gpu = table.need("num_gpu");
  const auto submit_time = table.need("submit_time");
  const auto iterations = table.column("iterations");
  const auto model_name = table.column("model_name");
  const auto duration = table.need("duration");
  ImportBuilder out(source.origin);
  while (table.next()) {
    Job job;
    job.submit = table.instant(submit_time);
    job.duration = table.seconds(duration);
    set_gang(job, table.whole(num_gpu, 0, kMostGpus));
    if (!table.text(iterations).empty())
      job.iterations = static_cast<std::uint64_t>(
          table.whole(iterations, 0, std::numeric_limits<std::int64_t>::max()));
    if (const std::string_view model = table.text(model_name); !model.empty())
      job.model = table.fields().take("model_name", add_model(out.workload, model));
    table.check(out.add(job, table.text(job_id)));
  }
  if (table.failed()) return tl::make_unexpected(*table.error());
  return std::move(out).finish();
}

}  // namespace trainyard
