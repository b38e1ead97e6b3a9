// Any bytes as a workload, in every format, compressed or not: an error or jobs that keep their
// promises, and what is read can be written and read back. The first byte picks the format (0: by
// recognition).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "workload/read.h"
#include "workload/write.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check_jobs(const Workload& workload) {
  require(workload.names.empty() || workload.names.size() == workload.jobs.size());
  Time last;
  for (const Job& job : workload.jobs) {
    require(job.submit >= last);
    last = job.submit;
    require(job.duration.us > 0 && job.estimate.us > 0);
    require(job.per_worker.gpus >= 1 && job.gpus() >= 1);
    require(job.per_worker.milli_cpus >= 0 && job.per_worker.memory_mib >= 0);
    require(1 <= job.min_workers && job.min_workers <= job.workers &&
            job.workers <= job.max_workers);
    require(workload.users.size() == 0 || index(job.user) < workload.users.size());
    require(job.model == kNoModel || index(job.model) < workload.models.size());
    for (const KindId kind : {job.kind, job.measured_on})
      require(kind == kAnyKind || index(kind) < workload.kinds.size());
  }
}

void check_round_trip(const Workload& workload) {
  std::ostringstream written;
  write_native(workload, written);
  const std::string text = written.str();
  const auto again = parse_workload(text, "again", {.format = "native"});
  require(again.has_value());
  check_jobs(*again);
  std::ostringstream rewritten;
  write_native(*again, rewritten);
  require(rewritten.str() == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t choice = data[0] % (formats().size() + 1);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string format;
  if (choice > 0) format = formats()[choice - 1].name;
  const auto workload = parse_workload(text, "input", {.format = format});
  if (!workload) return 0;
  check_jobs(*workload);
  check_round_trip(*workload);
  return 0;
}
