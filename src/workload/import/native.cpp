#include "workload/native.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "model/worker_range.h"
#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {
namespace {

/// Reads millions of rows: a cell is a view into the file, a job is filled in place.
class NativeReader {
 public:
  explicit NativeReader(const Source& source)
      : table_(source), size_(source.text.size()), in_seconds_(source.unit == seconds(1)) {
    workload_.source = source.origin;
    for (const std::string& name : table_.header()) add_column(name);
    const bool has_duration = has(NativeColumn::duration);
    const bool has_iterations = has(NativeColumn::iterations) && has(NativeColumn::iteration_time);
    for (const NativeColumn cost : {NativeColumn::grace, NativeColumn::save, NativeColumn::load,
                                    NativeColumn::declared_pause})
      if (has(cost)) workload_.pause_costs = PauseCosts::given;
    if (!has(NativeColumn::submit)) table_.need("submit");
    if (!has_duration && !has_iterations)
      table_.fields().complain(
          "the column 'duration' is missing; name it, or iterations and iteration_time");
  }

  Expected<Import> read() {
    while (table_.next_line()) {
      if (workload_.jobs.size() == kSample) reserve();
      if (workload_.jobs.size() >= kMostJobs)
        table_.fields().complain(fmt::format("there are more than {} jobs", kMostJobs));
      read_row();
    }
    if (table_.failed()) return tl::make_unexpected(*table_.error());
    if (!in_order_) sort_by_submission(workload_);
    return Import{std::move(workload_), {}};
  }

 private:
  static constexpr std::size_t kSample = 1000;
  /// A job before its row is read. Copied, because g++ zeroes a new one with an instruction that
  /// takes longer than reading a field.
  static constexpr Job kBlank = [] {
    Job job;
    job.workers = job.min_workers = job.max_workers = 0;  // not given
    return job;
  }();

  void add_column(const std::string& name) {
    const auto found = std::find(kNativeColumns.begin(), kNativeColumns.end(), name);
    if (found == kNativeColumns.end()) {
      table_.fields().complain(
          fmt::format("unknown column {}{}", trainyard::quoted(name),
                      did_you_mean(std::string_view(name).substr(0, 40), kNativeColumns)));
      return;
    }
    columns_.push_back(static_cast<NativeColumn>(found - kNativeColumns.begin()));
  }

  [[nodiscard]] bool has(NativeColumn column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }

  /// From the first rows' length, how many there will be: growing a vector of gigabytes is slow.
  void reserve() {
    constexpr std::size_t kMost = 20'000'000;
    const std::size_t rows = std::min(kMost, size_ / (table_.bytes_read() / kSample) + kSample);
    workload_.jobs.reserve(rows);
    if (has(NativeColumn::id)) workload_.names.reserve(rows);
  }

  void read_row() {
    workload_.jobs.push_back(kBlank);
    Job& job = workload_.jobs.back();
    iteration_time_.reset();
    range_.reset();
    if (table_.is_quoted()) {
      read_split(job);
    } else {
      read_in_passing(job);
    }
    if (!table_.failed()) complete(job);
  }

  void read_split(Job& job) {
    if (!table_.split()) return;
    for (std::size_t i = 0; i < columns_.size(); ++i) read_cell(job, columns_[i], table_.cell(i));
  }

  /// One pass over the line: a number ends where its digits do.
  void read_in_passing(Job& job) {
    const char* at = table_.line().data();
    const char* const stop = at + table_.line().size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const char* end = take_plain(job, columns_[i], at, stop);
      if (end == nullptr) {
        end = std::find(at, stop, ',');
        read_cell(job, columns_[i], std::string_view(at, static_cast<std::size_t>(end - at)));
      }
      const bool is_last = i + 1 == columns_.size();
      if ((end == stop) != is_last) return void(table_.split());  // it says what is wrong
      at = end + 1;
    }
  }

  /// The columns that every row has, as nearly every row has them; null for all others.
  const char* take_plain(Job& job, NativeColumn column, const char* at, const char* stop) {
    const bool is_time = column == NativeColumn::submit || column == NativeColumn::duration;
    if (!is_time || !in_seconds_) return nullptr;
    Duration seconds;
    const char* const end = take_plain_seconds(at, stop, seconds);
    if (end == nullptr || (end != stop && *end != ',')) return nullptr;
    if (column == NativeColumn::submit) return set_submit(job, seconds), end;
    if (seconds.us == 0) return nullptr;
    job.duration = seconds;
    return end;
  }

  void set_submit(Job& job, Duration seconds) {
    job.submit = Time{} + seconds;
    in_order_ = in_order_ && job.submit >= last_submit_;
    last_submit_ = job.submit;
  }

  void read_cell(Job& job, NativeColumn column, std::string_view cell) {
    const auto name = kNativeColumns[static_cast<std::size_t>(column)];
    InputFields& in = table_.fields();
    if (column == NativeColumn::id) return void(workload_.names.emplace_back(cell));
    if (column == NativeColumn::user) {
      job.user = UserId{workload_.users.add(cell)};
      return;
    }
    if (cell.empty()) return;
    switch (column) {
      case NativeColumn::job_class:
        return read_class(job, cell);
      case NativeColumn::submit:
        return set_submit(job, in.seconds(name, cell));
      case NativeColumn::duration:
        job.duration = positive(name, cell);
        return;
      case NativeColumn::estimate:
        job.estimate = positive(name, cell);
        return;
      case NativeColumn::workers:
        return read_workers(job, cell);
      case NativeColumn::gpus:
        job.per_worker.gpus = count(name, cell);
        return;
      case NativeColumn::min_workers:
        job.min_workers = count(name, cell);
        return;
      case NativeColumn::max_workers:
        job.max_workers = count(name, cell);
        return;
      case NativeColumn::cpus:
        job.per_worker.milli_cpus = amount(name, parse_cpus(cell));
        return;
      case NativeColumn::memory:
        job.per_worker.memory_mib = amount(name, parse_memory(cell));
        return;
      case NativeColumn::model:
        job.model = in.take(name, add_model(workload_, cell));
        return;
      case NativeColumn::kind:
        job.kind = in.take(name, add_kind(workload_, cell));
        return;
      case NativeColumn::measured_on:
        job.measured_on = in.take(name, add_kind(workload_, cell));
        return;
      case NativeColumn::constraint:
        return read_constraint(job, cell);
      case NativeColumn::iterations:
        return read_iterations(job, cell);
      case NativeColumn::iteration_time:
        iteration_time_ = exact_seconds(name, cell);
        return;
      default:
        return set_cost(job, column, in.seconds(name, cell));
    }
  }

  /// What pauses and checkpoints cost.
  static void set_cost(Job& job, NativeColumn column, Duration value) {
    if (column == NativeColumn::grace) job.grace = value;
    if (column == NativeColumn::save) job.save = value;
    if (column == NativeColumn::declared_pause) job.declared_pause = value;
    if (column == NativeColumn::load) job.load = value;
    if (column == NativeColumn::checkpoint_interval) job.checkpoint_interval = value;
    if (column == NativeColumn::checkpoint_cost) job.checkpoint_cost = value;
  }

  void read_class(Job& job, std::string_view cell) {
    if (cell == name(JobClass::trial)) {
      job.job_class = JobClass::trial;
    } else if (cell != name(JobClass::batch)) {
      table_.fields().complain("class",
                               fmt::format("value {} is neither trial nor batch", quoted(cell)));
    }
  }

  void read_constraint(Job& job, std::string_view cell) {
    if (const auto constraint = parse_constraint(cell)) {
      job.terms = workload_.terms.add({.constraint = *constraint});
    } else {
      table_.fields().complain("constraint", "value " + constraint.error().message);
    }
  }

  /// "4", or a range "2..8".
  void read_workers(Job& job, std::string_view cell) {
    if (cell.find("..") == std::string_view::npos) {
      job.workers = count("workers", cell);
      return;
    }
    const auto range = parse_worker_range(cell, kMostGpus);
    if (!range) return table_.fields().complain("workers", "value " + range.error().message);
    range_ = *range;
  }

  void read_iterations(Job& job, std::string_view cell) {
    const char* const stop = cell.data() + cell.size();
    const auto [end, status] = std::from_chars(cell.data(), stop, job.iterations);
    if (status != std::errc{} || end != stop)
      table_.fields().complain(
          "iterations",
          fmt::format("value {} is not a whole number of at most 64 bits", quoted(cell)));
  }

  Duration positive(std::string_view field, std::string_view cell) {
    const Duration value = table_.fields().seconds(field, cell);
    if (value.us == 0 && !table_.failed())
      table_.fields().complain(field, fmt::format("value {} is not longer than 0", quoted(cell)));
    return value;
  }

  /// Iterations take less than a microsecond's rounding allows, so plain numbers stay as they are.
  double exact_seconds(std::string_view field, std::string_view cell) {
    if (const auto plain = parse_real(cell, 0, kLongestDuration.seconds()))
      return *plain * table_.fields().unit().seconds();
    return table_.fields().seconds(field, cell).seconds();
  }

  std::int32_t count(std::string_view field, std::string_view cell) {
    std::int32_t value = 0;
    const char* const stop = cell.data() + cell.size();
    const auto [end, status] = std::from_chars(cell.data(), stop, value);
    if (status == std::errc{} && end == stop && value >= 1 && value <= kMostGpus) return value;
    return static_cast<std::int32_t>(table_.fields().whole(field, cell, 1, kMostGpus));
  }

  std::int32_t amount(std::string_view field, const Expected<std::int32_t>& value) {
    if (!value) table_.fields().complain(field, fmt::format("value {}", value.error().message));
    return value.value_or(0);
  }

  /// What the row left out, and what its fields must be to each other.
  void complete(Job& job) {
    InputFields& in = table_.fields();
    if (iteration_time_) {
      if (job.duration.us != 0)
        in.complain("iteration_time", "is given beside a duration; leave one of them empty");
      job.duration =
          in.take("iteration_time",
                  duration_from_seconds(static_cast<double>(job.iterations) * *iteration_time_));
    }
    if (job.duration.us == 0)
      in.complain("duration",
                  "value '' is missing or 0; give it, or iterations and iteration_time");
    if (job.estimate.us == 0) job.estimate = job.duration;
    complete_sizes(job);
    if (job.max_workers > 1) table_.check(check_demand(job));
  }

  /// The duration holds for the least size, unless `workers` is another.
  void complete_sizes(Job& job) {
    InputFields& in = table_.fields();
    if (range_ && (job.min_workers != 0 || job.max_workers != 0))
      in.complain("workers",
                  fmt::format("value '{}' is a range beside min_workers or max_workers; leave "
                              "them empty, or write the size that the duration holds for",
                              format(*range_)));
    if (job.max_workers != 0 && job.min_workers > job.max_workers)
      in.complain("min_workers", fmt::format("value '{}' is more than max_workers {}",
                                             job.min_workers, job.max_workers));
    if (range_) job.min_workers = range_->min, job.max_workers = range_->max;
    if (job.workers == 0) job.workers = std::max(job.min_workers, 1);
    if (job.min_workers == 0) job.min_workers = job.workers;
    if (job.max_workers == 0) job.max_workers = job.workers;
    if (job.min_workers > job.workers || job.max_workers < job.workers)
      in.complain("workers", fmt::format("value '{}' does not lie between min_workers {} and "
                                         "max_workers {}",
                                         job.workers, job.min_workers, job.max_workers));
  }

  TraceTable table_;
  std::size_t size_;
  bool in_seconds_;  // what plain numbers count
  std::vector<NativeColumn> columns_;
  Workload workload_;
  std::optional<double> iteration_time_;
  std::optional<WorkerRange> range_;  // that `workers` gives
  Time last_submit_;  // seen so far; most files are in order, and another pass over all is not free
  bool in_order_ = true;
};

}  // namespace

bool recognise_native(std::string_view text) {
  return names_columns(text, {}, {"submit", "duration"}) ||
         names_columns(text, {}, {"submit", "iterations"});
}

Expected<Import> parse_native(const Source& source) {
  return NativeReader(source).read();
}

}  // namespace trainyard
