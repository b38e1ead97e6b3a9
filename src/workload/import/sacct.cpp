// What Slurm's accounting prints with `sacct --parsable2 --allusers --format=...`: columns by name,
// in any order. Needed: JobID, Submit, AllocTRES or ReqTRES, and Elapsed or Start and End. A
// Comment that is for Trainyard ("trainyard: class=trial model=resnet50") gives the class and the
// model.
#include <algorithm>
#include <array>

#include "base/split.h"
#include "workload/import/importers.h"
#include "workload/import/table.h"

namespace trainyard {
namespace {

constexpr std::string_view kCommentMark = "trainyard:";
constexpr LineStyle kSacctLine{.separator = '|', .quotes = false, .ends_free = true};

/// "billing=8,cpu=16,gres/gpu:v100=8,gres/gpu=8,mem=64G,node=1".
struct Tres {
  std::int64_t gpus = 0, cpus = 0;
  std::int32_t memory_mib = 0;
  std::string_view kind;  // the GPUs' type, when all are of one
};

Expected<Tres> parse_tres(std::string_view text) {
  Tres tres;
  std::int64_t typed_gpus = 0, kinds = 0;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view key = item.substr(0, equals);
    const std::string_view amount = item.substr(std::min(equals + 1, item.size()));
    if (key == "mem") {
      const auto memory = parse_memory(amount);
      if (!memory) return fail("value {}", memory.error().message);
      tres.memory_mib = *memory;
    } else if (key == "cpu" || key == "gres/gpu" || key.starts_with("gres/gpu:")) {
      const auto count = parse_whole(amount, 0, kMostGpus);
      if (!count) return tl::make_unexpected(count.error());
      if (key == "cpu") tres.cpus = *count;
      if (key == "gres/gpu") tres.gpus = *count;
      if (key.size() > std::string_view("gres/gpu:").size() && key.starts_with("gres/gpu:")) {
        typed_gpus += *count;
        tres.kind = ++kinds == 1 ? key.substr(std::string_view("gres/gpu:").size()) : "";
      }
    }
  }
  // Slurm lists the total beside the typed counts or, by configuration, the typed ones alone.
  if (tres.gpus == 0) tres.gpus = std::min(typed_gpus, kMostGpus);
  return tres;
}

bool begins_with_any(std::string_view state, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return state.starts_with(word); });
}

class SacctJobs {
 public:
  explicit SacctJobs(const Source& source)
      : table_(source, kSacctLine),
        job_id_(table_.need("JobID")),
        submit_(table_.need("Submit")),
        user_(table_.column("User")),
        start_(table_.column("Start")),
        end_(table_.column("End")),
        elapsed_(table_.column("Elapsed")),
        state_(table_.column("State")),
        time_limit_(table_.column("Timelimit")),
        allocated_(table_.column("AllocTRES")),
        requested_(table_.column("ReqTRES")),
        comment_(table_.column("Comment")),
        out_(source.origin) {
    if (!has(allocated_) && !has(requested_)) table_.need("AllocTRES");
    if (!has(elapsed_) && !(has(start_) && has(end_))) table_.need("Elapsed");
  }

  Expected<Import> read() {
    while (table_.next())
      if (!is_step()) read_job();
    if (table_.failed()) return tl::make_unexpected(*table_.error());
    return std::move(out_).finish();
  }

 private:
  [[nodiscard]] bool has(const TraceTable::Column& column) const {
    return column.index < table_.header().size();
  }
  /// "12.batch", "12.0": parts of job 12.
  [[nodiscard]] bool is_step() const {
    return table_.text(job_id_).find('.') != std::string_view::npos;
  }

  void read_job() {
    const std::string_view state = table_.text(state_);
    if (begins_with_any(state, {"PENDING", "REQUEUED"}) ||
        (has(start_) && is_missing(table_.text(start_))))
      return out_.leave_out(kNeverStarted);
    if (begins_with_any(state, {"RUNNING", "SUSPENDED", "COMPLETING", "RESIZING"}) ||
        (has(end_) && is_missing(table_.text(end_))))
      return out_.leave_out(kStillRunning);
    Job job;
    job.submit = table_.date_time(submit_);
    job.duration = duration();
    job.estimate = time_limit();
    const Tres requested = tres(requested_);
    const Tres used = table_.text(allocated_).empty() ? requested : tres(allocated_);
    set_gang(job, used.gpus, used.cpus * 1000, used.memory_mib);
    // The type that was asked for binds; the type it happened to get does not.
    if (!requested.kind.empty())
      job.kind = table_.fields().take("ReqTRES", add_kind(out_.workload, requested.kind));
    job.user = UserId{out_.workload.users.add(table_.text(user_))};
    read_comment(job);
    table_.check(out_.add(job, table_.text(job_id_), wait(job)));
  }

  /// Whatever else stands there is the user's own business.
  void read_comment(Job& job) {
    std::string_view text = table_.text(comment_);
    if (!text.starts_with(kCommentMark)) return;
    for (const std::string_view word : split(text.substr(kCommentMark.size()), " ")) {
      if (word == "class=trial") job.job_class = JobClass::trial;
      if (word.starts_with("model="))
        job.model = table_.fields().take("Comment", add_model(out_.workload, word.substr(6)));
    }
  }

  std::optional<Duration> wait(const Job& job) {
    if (!has(start_)) return {};
    const Time start = table_.date_time(start_);
    return start > job.submit ? start - job.submit : Duration{};
  }

  Tres tres(const TraceTable::Column& column) {
    return table_.fields().take(column.name, parse_tres(table_.text(column)));
  }

  Duration duration() {
    if (has(elapsed_))
      return table_.fields().take("Elapsed", parse_slurm_duration(table_.text(elapsed_)));
    return table_.fields().between("End", table_.date_time(start_), table_.date_time(end_));
  }

  /// 0 when there is none, which makes the duration the estimate.
  Duration time_limit() {
    const std::string_view limit = table_.text(time_limit_);
    if (is_missing(limit) || limit == "UNLIMITED" || limit == "Partition_Limit") return {};
    return table_.fields().take("Timelimit", parse_slurm_duration(limit));
  }

  TraceTable table_;
  TraceTable::Column job_id_, submit_, user_, start_, end_, elapsed_, state_, time_limit_,
      allocated_, requested_, comment_;
  ImportBuilder out_;
};

}  // namespace

bool recognise_sacct(std::string_view text) {
  return names_columns(text, kSacctLine, {"JobID", "Submit"});
}

Expected<Import> parse_sacct(const Source& source) {
  return SacctJobs(source).read();
}

}  // namespace trainyard
