#include "workload/write.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <ostream>
#include <span>
#include <vector>

#include "base/atomic_file.h"
#include "workload/native.h"

namespace trainyard {
namespace {

using Text = fmt::memory_buffer;

template <class... Args>
void put(Text& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

/// Seconds with as many decimals as it takes: exact, which a floating-point number would not be.
void put_seconds(Text& out, std::int64_t us) {
  put(out, "{}", us / 1'000'000);
  std::int64_t fraction = us % 1'000'000;
  if (fraction == 0) return;
  int digits = 6;
  for (; fraction % 10 == 0; fraction /= 10) --digits;
  put(out, ".{:0{}}", fraction, digits);
}

void put_text(Text& out, std::string_view text) {
  // A '#' in front would make the line a comment when the field is its first.
  if (text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with('#') &&
      !text.starts_with('\xef'))
    return out.append(text);
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

void put_cpus(Text& out, std::int32_t milli) {
  if (milli % 1000 == 0) return put(out, "{}", milli / 1000);
  put(out, "{}m", milli);
}

void put_memory(Text& out, std::int32_t mib) {
  if (mib % 1024 == 0) return put(out, "{}GiB", mib / 1024);
  put(out, "{}MiB", mib);
}

struct WrittenColumn {
  NativeColumn column;
  bool (*used)(const Workload& w, const Job& job);
  void (*put)(Text& out, const Workload& w, std::size_t i);
};

template <Duration Job::*member>
constexpr WrittenColumn duration_column(NativeColumn column) {
  return {column, [](const Workload&, const Job& job) { return (job.*member).us != 0; },
          [](Text& out, const Workload& w, std::size_t i) {
            put_seconds(out, (w.jobs[i].*member).us);
          }};
}

template <KindId Job::*member>
constexpr WrittenColumn kind_column(NativeColumn column) {
  return {column, [](const Workload&, const Job& job) { return job.*member != kAnyKind; },
          [](Text& out, const Workload& w, std::size_t i) {
            if (const KindId kind = w.jobs[i].*member; kind != kAnyKind)
              put_text(out, w.kinds[index(kind)]);
          }};
}

using W = const Workload&;
using J = const Job&;

constexpr std::array kWritten{
    WrittenColumn{NativeColumn::id, [](W w, J) { return !w.names.empty(); },
                  [](Text& out, W w, std::size_t i) { put_text(out, w.names[i]); }},
    WrittenColumn{
        NativeColumn::user, [](W w, J) { return w.users.size() > 0; },
        [](Text& out, W w, std::size_t i) { put_text(out, w.users[index(w.jobs[i].user)]); }},
    WrittenColumn{NativeColumn::job_class,
                  [](W, J job) { return job.job_class != JobClass::batch; },
                  [](Text& out, W w, std::size_t i) { out.append(name(w.jobs[i].job_class)); }},
    WrittenColumn{NativeColumn::submit, [](W, J) { return true; },
                  [](Text& out, W w, std::size_t i) { put_seconds(out, w.jobs[i].submit.us); }},
    duration_column<&Job::duration>(NativeColumn::duration),
    WrittenColumn{NativeColumn::estimate, [](W, J job) { return job.estimate != job.duration; },
                  [](Text& out, W w, std::size_t i) { put_seconds(out, w.jobs[i].estimate.us); }},
    WrittenColumn{NativeColumn::workers, [](W, J job) { return job.workers != 1; },
                  [](Text& out, W w, std::size_t i) { put(out, "{}", w.jobs[i].workers); }},
    WrittenColumn{NativeColumn::gpus, [](W, J job) { return job.per_worker.gpus != 1; },
                  [](Text& out, W w, std::size_t i) { put(out, "{}", w.jobs[i].per_worker.gpus); }},
    WrittenColumn{
        NativeColumn::cpus, [](W, J job) { return job.per_worker.milli_cpus != 0; },
        [](Text& out, W w, std::size_t i) { put_cpus(out, w.jobs[i].per_worker.milli_cpus); }},
    WrittenColumn{
        NativeColumn::memory, [](W, J job) { return job.per_worker.memory_mib != 0; },
        [](Text& out, W w, std::size_t i) { put_memory(out, w.jobs[i].per_worker.memory_mib); }},
    WrittenColumn{NativeColumn::min_workers,
                  [](W, J job) { return job.min_workers != job.workers; },
                  [](Text& out, W w, std::size_t i) { put(out, "{}", w.jobs[i].min_workers); }},
    WrittenColumn{NativeColumn::max_workers,
                  [](W, J job) { return job.max_workers != job.workers; },
                  [](Text& out, W w, std::size_t i) { put(out, "{}", w.jobs[i].max_workers); }},
    WrittenColumn{NativeColumn::model, [](W, J job) { return job.model != kNoModel; },
                  [](Text& out, W w, std::size_t i) {
                    if (const ModelId model = w.jobs[i].model; model != kNoModel)
                      put_text(out, w.models[index(model)]);
                  }},
    WrittenColumn{NativeColumn::iterations, [](W, J job) { return job.iterations != 0; },
                  [](Text& out, W w, std::size_t i) { put(out, "{}", w.jobs[i].iterations); }},
    kind_column<&Job::kind>(NativeColumn::kind),
    kind_column<&Job::measured_on>(NativeColumn::measured_on),
    WrittenColumn{NativeColumn::constraint, [](W, J job) { return job.terms != kNoTerms; },
                  [](Text& out, W w, std::size_t i) {
                    if (const TermsId terms = w.jobs[i].terms; terms != kNoTerms)
                      put_text(out, describe(w.terms[terms].constraint));
                  }},
    duration_column<&Job::grace>(NativeColumn::grace),
    // Also where it is 0 for all, if that is what pauses are known to cost.
    WrittenColumn{NativeColumn::save,
                  [](W w, J job) { return job.save.us != 0 || w.pause_costs == PauseCosts::given; },
                  [](Text& out, W w, std::size_t i) { put_seconds(out, w.jobs[i].save.us); }},
    WrittenColumn{NativeColumn::declared_pause, [](W, J job) { return job.declared_pause.us >= 0; },
                  [](Text& out, W w, std::size_t i) {
                    if (const Duration pause = w.jobs[i].declared_pause; pause.us >= 0)
                      put_seconds(out, pause.us);
                  }},
    duration_column<&Job::load>(NativeColumn::load),
    duration_column<&Job::checkpoint_interval>(NativeColumn::checkpoint_interval),
    duration_column<&Job::checkpoint_cost>(NativeColumn::checkpoint_cost)};

void put_head(Text& out, std::span<const WrittenColumn> columns) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    put(out, "{}{}", c == 0 ? "" : ",",
        kNativeColumns[static_cast<std::size_t>(columns[c].column)]);
  out.push_back('\n');
}

void put_row(Text& out, std::span<const WrittenColumn> columns, const Workload& w, std::size_t i) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) out.push_back(',');
    columns[c].put(out, w, i);
  }
  out.push_back('\n');
}

std::vector<WrittenColumn> used_columns(const Workload& workload) {
  std::vector<WrittenColumn> used;
  for (const WrittenColumn& column : kWritten) {
    const bool needed =
        column.column == NativeColumn::submit || column.column == NativeColumn::duration;
    if (needed || std::any_of(workload.jobs.begin(), workload.jobs.end(),
                              [&](const Job& job) { return column.used(workload, job); }))
      used.push_back(column);
  }
  return used;
}

}  // namespace

void write_native(const Workload& workload, std::ostream& out) {
  constexpr std::size_t kFlushAt = 1 << 16;
  const std::vector<WrittenColumn> columns = used_columns(workload);
  Text text;
  put_head(text, columns);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    put_row(text, columns, workload, i);
    if (text.size() < kFlushAt) continue;
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

std::string native_part(const Workload& workload, bool is_first) {
  Text text;
  if (is_first) put_head(text, kWritten);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) put_row(text, kWritten, workload, i);
  return fmt::to_string(text);
}

Expected<void> write_native_file(const Workload& workload, const std::string& path) {
  return write_file_atomically(path, [&](std::ostream& out) { write_native(workload, out); });
}

}  // namespace trainyard
