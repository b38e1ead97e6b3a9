#include "sim/job_table.h"

namespace trainyard {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted_text = "\"";
  for (const char c : text) quoted_text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted_text + "\"";
}

std::string exact_seconds(std::int64_t us) {
  return us % 1'000'000 == 0 ? fmt::format("{}", us / 1'000'000)
                             : fmt::format("{:.6f}", static_cast<double>(us) / 1e6);
}

std::string seconds_or_empty(Time time) {
  return time == Time::never() ? "" : exact_seconds(time.us);
}

}  // namespace

void write_job_table(const Yard& yard, std::ostream& out) {
  const Workload& workload = yard.workload();
  out << "id,user,class,gpus,submit_s,start_s,end_s,jct_s,wait_s,slowdown,pauses,lost_s,state\n";
  for (std::size_t i = 0; i < yard.jobs(); ++i) {
    const JobId id{static_cast<std::uint32_t>(i)};
    const Job& job = yard.job(id);
    const JobState& state = yard.state(id);
    const bool done = state.phase == Phase::done;
    const Duration jct = state.end() - job.submit;
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(workload.job_name(id)),
                       workload.users.size() == 0 ? "" : csv_field(workload.users[index(job.user)]),
                       name(job.job_class), job.gpus(), exact_seconds(job.submit.us),
                       seconds_or_empty(state.first_start), seconds_or_empty(state.end()),
                       done ? exact_seconds(jct.us) : "", exact_seconds(state.waited.us),
                       done ? fmt::format("{:.6g}", jct.seconds() / job.duration.seconds()) : "",
                       state.pauses, exact_seconds(state.lost.us), name(state.phase));
  }
}

}  // namespace trainyard
