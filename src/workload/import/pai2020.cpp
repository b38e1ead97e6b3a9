// Alibaba PAI 2020: pai_task_table.csv (github.com/alibaba/clusterdata, cluster-trace-gpu-v2020),
// which has no header. A job is one or more tasks (roles), a task a number of equal instances.
// The tasks of a job that ask for GPUs become its workers; parameter servers without one are left
// to the machines' CPUs, as they hold nothing a job waits for.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, 10> kPaiColumns{
    "job_name", "task_name", "inst_num", "status",   "start_time",
    "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};

struct PaiJob {
  std::string name;
  Time start, end;
  std::int64_t workers = 0;
  Resources largest;  // what the most demanding of its workers asks for
  bool started = false, ended = true;
};

std::int32_t rounded_up(double amount) {
  return static_cast<std::int32_t>(std::ceil(amount));
}

class PaiTasks {
 public:
  explicit PaiTasks(const Source& source)
      : table_(source, {}, kPaiColumns),
        job_name_(table_.column("job_name")),
        inst_num_(table_.column("inst_num")),
        start_time_(table_.column("start_time")),
        end_time_(table_.column("end_time")),
        plan_cpu_(table_.column("plan_cpu")),
        plan_mem_(table_.column("plan_mem")),
        plan_gpu_(table_.column("plan_gpu")) {}

  Expected<std::vector<PaiJob>> read() {
    while (table_.next()) add_task(job(table_.text(job_name_)));
    if (table_.failed()) return tl::make_unexpected(*table_.error());
    return std::move(jobs_);
  }

 private:
  PaiJob& job(std::string_view name) {
    const auto [found, is_new] = numbers_.try_emplace(std::string(name), jobs_.size());
    if (is_new) jobs_.emplace_back().name = name;
    return jobs_[found->second];
  }

  /// An amount that may be left empty, in our unit.
  std::int32_t amount(const TraceTable::Column& column, double units) {
    if (is_missing(table_.text(column))) return 0;
    return rounded_up(table_.real(column, 0, 1e9 / units) * units);
  }

  void add_task(PaiJob& job) {
    const Resources each{.gpus = amount(plan_gpu_, 0.01),
                         .milli_cpus = amount(plan_cpu_, 10),
                         .memory_mib = amount(plan_mem_, 1024)};
    if (each.gpus == 0) return;
    job.workers += is_missing(table_.text(inst_num_)) ? 1 : table_.whole(inst_num_, 0, kMostGpus);
    if (job.workers > kMostGpus) table_.fields().complain("inst_num", "makes the job too large");
    job.largest = {.gpus = std::max(job.largest.gpus, each.gpus),
                   .milli_cpus = std::max(job.largest.milli_cpus, each.milli_cpus),
                   .memory_mib = std::max(job.largest.memory_mib, each.memory_mib)};
    if (is_missing(table_.text(start_time_))) return;
    const Time start = table_.instant(start_time_);
    job.start = job.started ? std::min(job.start, start) : start;
    job.started = true;
    if (is_missing(table_.text(end_time_))) {
      job.ended = false;
    } else {
      const Time end = table_.instant(end_time_);
      table_.fields().between("end_time", start, end);
      job.end = std::max(job.end, end);
    }
  }

  TraceTable table_;
  TraceTable::Column job_name_, inst_num_, start_time_, end_time_, plan_cpu_, plan_mem_, plan_gpu_;
  std::vector<PaiJob> jobs_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace

bool recognise_pai2020(std::string_view text) {
  const std::vector<std::string> cells = first_line(text, {});
  if (cells.size() != kPaiColumns.size()) return false;
  if (cells[0] == kPaiColumns[0]) return cells[1] == kPaiColumns[1];
  for (const std::size_t i : {2, 4, 5, 6, 7, 8})
    if (!is_missing(cells[i]) && !parse_real(cells[i], 0, 1e15)) return false;
  return true;
}

Expected<Import> parse_pai2020(const Source& source) {
  auto jobs = PaiTasks(source).read();
  if (!jobs) return tl::make_unexpected(jobs.error());
  ImportBuilder out(source.origin);
  for (const PaiJob& pai : *jobs) {
    if (pai.workers > 0 && !pai.started) {
      out.leave_out(kNeverStarted);
      continue;
    }
    if (!pai.ended) {
      out.leave_out(kStillRunning);
      continue;
    }
    Job job;
    job.submit = pai.start;
    job.duration = pai.end - pai.start;
    job.workers = static_cast<std::int32_t>(pai.workers);
    job.per_worker = pai.largest;
    if (auto ok = out.add(job, pai.name); !ok)
      return fail("{}: job {}: {}", source.origin, trainyard::quoted(pai.name), ok.error().message);
  }
  return std::move(out).finish();
}

}  // namespace trainyard
