// Alibaba PAI 2023: openb_pod_list_*.csv (github.com/alibaba/clusterdata, cluster-trace-gpu-v2023).
// A pod is one worker: its GPUs are on one machine.
#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {
namespace {

/// LS is latency-sensitive: a person or a service waits for it. BE is best effort; Burstable and
/// Guaranteed say how much of what it asked for a pod is sure to get, not that anybody waits.
JobClass class_of(std::string_view qos) {
  return qos == "LS" ? JobClass::trial : JobClass::batch;
}

}  // namespace

bool recognise_openb(std::string_view text) {
  return names_columns(text, {}, {"num_gpu", "creation_time", "deletion_time", "scheduled_time"});
}

Expected<Import> parse_openb(const Source& source) {
  constexpr std::int64_t kMost = 1'000'000'000;
  TraceTable table(source);
  const auto name = table.column("name");
  const auto cpu_milli = table.need("cpu_milli");
  const auto memory_mib = table.need("memory_mib");
  const auto num_gpu = table.need("num_gpu");
  const auto gpu_spec = table.column("gpu_spec");
  const auto qos = table.column("qos");
  const auto creation_time = table.need("creation_time");
  const auto deletion_time = table.need("deletion_time");
  const auto scheduled_time = table.need("scheduled_time");
  std::size_t several_kinds = 0;
  ImportBuilder out(source.origin);
  while (table.next()) {
    if (is_missing(table.text(scheduled_time))) {
      out.leave_out(kNeverStarted);
      continue;
    }
    if (is_missing(table.text(deletion_time))) {
      out.leave_out(kStillRunning);
      continue;
    }
    Job job;
    job.submit = table.instant(creation_time);
    job.duration = table.fields().between("deletion_time", table.instant(scheduled_time),
                                          table.instant(deletion_time));
    // A share of one GPU (gpu_milli) counts as the GPU: num_gpu is 1 for those.
    job.per_worker = {.gpus = static_cast<std::int32_t>(table.whole(num_gpu, 0, kMostGpus)),
                      .milli_cpus = static_cast<std::int32_t>(table.whole(cpu_milli, 0, kMost)),
                      .memory_mib = static_cast<std::int32_t>(table.whole(memory_mib, 0, kMost))};
    job.job_class = class_of(table.text(qos));
    const std::string_view kinds = table.text(gpu_spec);
    if (kinds.find('|') != std::string_view::npos) {
      ++several_kinds;
    } else if (!is_missing(kinds)) {
      job.kind = table.fields().take("gpu_spec", add_kind(out.workload, kinds));
    }
    table.check(out.add(job, table.text(name)));
  }
  if (table.failed()) return tl::make_unexpected(*table.error());
  if (several_kinds > 0)
    out.note(fmt::format("jobs that name several kinds of GPU and take any kind here: {}",
                         several_kinds));
  return std::move(out).finish();
}

}  // namespace trainyard
