// Microsoft's Philly trace as published (github.com/msr-fiddle/philly-traces, cluster_job_log): an
// array of jobs, each with the attempts to run it and the GPUs of each attempt.
#include <algorithm>

#include "workload/import/importers.h"
#include "workload/import/json_jobs.h"

namespace trainyard {
namespace {

using nlohmann::json;

struct Attempts {
  Duration ran;           // all attempts together
  std::int64_t gpus = 0;  // of the largest; a log line may lack some
  bool started = false, running = false;
};

/// The element's field when it is of the wanted type, else nullptr.
const json* field_of(const json& object, const char* field, json::value_t type) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(field);
  return found != object.end() && found->type() == type ? &*found : nullptr;
}

std::string time_of(const json& attempt, const char* field) {
  const json* found = field_of(attempt, field, json::value_t::string);
  return found == nullptr ? "" : found->get<std::string>();
}

std::int64_t gpus_of(const json& attempt) {
  const json* detail = field_of(attempt, "detail", json::value_t::array);
  if (detail == nullptr) return 0;
  std::int64_t gpus = 0;
  for (const json& machine : *detail)
    if (const json* list = field_of(machine, "gpus", json::value_t::array))
      gpus += static_cast<std::int64_t>(list->size());
  return gpus;
}

/// An attempt without a start never held GPUs. One that has a start and no end was running when
/// the log was taken if it is the last; otherwise the log lost its end, and it does not count.
Attempts read_attempts(const json& attempts, InputFields& fields) {
  Attempts sum;
  for (const json& attempt : attempts) {
    if (!attempt.is_object()) {
      fields.complain("attempts", "has an element that is not an object");
      break;
    }
    const std::string start = time_of(attempt, "start_time"), end = time_of(attempt, "end_time");
    sum.gpus = std::max(sum.gpus, gpus_of(attempt));
    sum.running = false;
    if (is_missing(start)) continue;
    sum.started = true;
    sum.running = is_missing(end);
    if (sum.running) continue;
    sum.ran += fields.between("end_time", fields.date_time("start_time", start),
                              fields.date_time("end_time", end));
  }
  return sum;
}

}  // namespace

bool recognise_philly_json(std::string_view text) {
  return begins_with_field(text, "attempts");
}

Expected<Import> parse_philly_json(const Source& source) {
  JsonJobs in(source);
  ImportBuilder out(source.origin);
  while (in.next()) {
    const json* list = field_of(in.job(), "attempts", json::value_t::array);
    if (list == nullptr) {
      in.fields().complain("attempts", "is missing or not an array");
      break;
    }
    const Attempts attempts = read_attempts(*list, in.fields());
    if (!attempts.started || attempts.running) {
      out.leave_out(attempts.started ? kStillRunning : kNeverStarted);
      continue;
    }
    Job job;
    job.submit = in.fields().date_time("submitted_time", in.text("submitted_time"));
    job.duration = attempts.ran;
    set_gang(job, attempts.gpus);
    job.user = UserId{out.workload.users.add(in.text("user"))};
    in.check(out.add(job, in.text("jobid")));
  }
  if (in.failed()) return tl::make_unexpected(*in.error());
  return std::move(out).finish();
}

}  // namespace trainyard
