#include "cli/answer_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

#include "base/time.h"
#include "cli/terminal.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string shortened(const std::string& text, std::size_t longest) {
  return width_of(text) <= longest ? text : clipped(text, longest - 3) + "...";
}

/// As the job tells it; else, with a "~", by how much of its time limit is used.
std::string progress_of(const json& job) {
  const json told = job.value("progress", json());
  if (told.is_object() && told.value("total", 0.0) > 0)
    return fmt::format("{:.0f}%",
                       100 * std::min(1.0, told.value("step", 0.0) / told.value("total", 0.0)));
  const double limit = job.at("time_s").get<double>();
  const double ran = job.at("state") == "running" ? age(job) : 0;
  return limit > 0 && ran > 0 ? fmt::format("~{:.0f}%", 100 * std::min(1.0, ran / limit)) : "-";
}

/// Where it runs, or in parentheses why it does not.
std::string where(const json& job) {
  const std::string waits = job.at("waits_by");
  if (waits.empty()) return places(job);
  const std::string start = expected(job.value("expected_start", json()));
  return "(" + waits + ")" + (start.empty() ? "" : " " + start);
}

/// Those that it has or would start with, and how many it may have.
std::string gpus_of(const json& job) {
  const auto each = job.at("per_worker").at("gpus").get<std::int64_t>();
  return std::to_string(job.at("workers").get<std::int64_t>() * each) + size_range(job, each);
}

std::vector<std::string> heading(std::vector<std::string> names) {
  for (std::string& name : names) name = coloured(name, Colour::bold);
  return names;
}

/// "17" of "slurm-17@1794888564": what the engine calls a job that was born there.
std::string engines_id(const json& job) {
  const std::string name = job.value("born_as", "");
  const std::size_t begin = name.find('-') + 1;
  return name.empty() ? "-" : name.substr(begin, name.find('@') - begin);
}

}  // namespace

std::string in_words(std::string_view state) {
  if (state == "failed") return "has " + coloured_state(state);
  if (state == "cancelled") return "was " + coloured_state(state);
  return "is " + coloured_state(state);
}

std::string ago(const json& seconds_since_epoch) {
  if (!seconds_since_epoch.is_number()) return "-";
  const double past = std::max(0.0, now() - seconds_since_epoch.get<double>());
  return span(std::floor(past)) + " ago";
}

std::string clock(const json& seconds_since_epoch) {
  const auto at = static_cast<std::time_t>(seconds_since_epoch.get<double>());
  std::tm parts{};
  char text[32];
  if (::localtime_r(&at, &parts) == nullptr) return "-";
  return {text, std::strftime(text, sizeof text, "%a %e %b %H:%M", &parts)};
}

std::string from_now(const json& seconds_since_epoch) {
  const double left = std::max(0.0, seconds_since_epoch.get<double>() - now());
  const double step = left < 120 ? 1 : 60;
  return "in about " + span(std::ceil(left / step) * step);
}

namespace {

/// As exactly as a guess is told: 7m, 35m, 2h 10m, 1d 5h.
std::string guessed(const json& seconds_since_epoch) {
  const double left = std::max(0.0, seconds_since_epoch.get<double>() - now());
  const double step = left < 600 ? 60 : left < 3600 ? 300 : left < 36'000 ? 600 : 3600;
  return span(std::max(std::round(left / step) * step, 60.0));
}

}  // namespace

std::string expected(const json& band) {
  if (!band.is_object()) return {};
  const std::string middle = guessed(band.at("p50"));
  const std::string text = middle == "1m" ? "within a minute or so" : "in about " + middle;
  if (band.at("p10") == band.at("p90")) return text;
  const std::string low = guessed(band.at("p10"));
  if (!band.at("p90").is_number()) return fmt::format("{} ({} or more)", text, low);
  const std::string high = guessed(band.at("p90"));
  return low == high ? text : fmt::format("{} ({} to {})", text, low, high);
}

double age(const json& job) {
  return job.at("since").is_number() ? std::max(0.0, now() - job["since"].get<double>()) : 0;
}

std::string span(const json& value) {
  if (!value.is_number()) return "-";
  const auto duration = duration_from_seconds(std::max(0.0, value.get<double>()));
  return duration ? format(*duration) : "-";
}

std::string places(const json& job) {
  std::string text;
  for (const json& share : job.at("placement"))
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", share.at("machine").get<std::string>(),
                        fmt::join(share.at("gpus").get<std::vector<int>>(), ","));
  return text.empty() ? "-" : text;
}

std::string size_range(const json& job, std::int64_t times) {
  const std::int64_t least = job.value("min_workers", std::int64_t{0});
  const std::int64_t most = job.value("max_workers", std::int64_t{0});
  return least == most ? "" : fmt::format(" ({}..{})", least * times, most * times);
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - width_of(row[i]) + 2, ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string job_table(const json& jobs) {
  const bool are_slurms =
      std::ranges::any_of(jobs, [](const json& job) { return job.contains("born_as"); });
  std::vector<std::string> columns{"JOB",  "NAME", "USER",  "CLASS",    "STATE",
                                   "GPUS", "FOR",  "LIMIT", "PROGRESS", "WHERE"};
  if (are_slurms) columns.emplace_back("SLURM");
  std::vector<std::vector<std::string>> rows{heading(columns)};
  for (const json& job : jobs) {
    rows.push_back({job.at("id"), shortened(job.at("name").get<std::string>(), 24), job.at("user"),
                    job.at("class"), coloured_state(state_in_queue(job)), gpus_of(job),
                    span(std::floor(age(job))), job.at("time_s") > 0 ? span(job["time_s"]) : "-",
                    progress_of(job), where(job)});
    if (are_slurms) rows.back().push_back(engines_id(job));
  }
  return table(rows);
}

namespace {

/// The flow classes of the jobs that send from there; nothing where there are none.
std::string flow_line(const json& machine) {
  const json classes = machine.value("flow_classes", json::object());
  if (classes.empty()) return {};
  std::vector<std::string> jobs;
  for (const auto& [job, flow_class] : classes.items())
    jobs.push_back(fmt::format("job {} in class {}", job, flow_class.get<int>()));
  return fmt::format(
      "flows of {}: {}{}\n", machine.at("name").get<std::string>(), fmt::join(jobs, ", "),
      machine.value("flow_agent", false) ? "" : " (no agent there carries them out)");
}

}  // namespace

std::string state_in_queue(const json& job) {
  return job.value("paused", false) ? "paused" : job.at("state").get<std::string>();
}

std::string pause_text(const json& pause) {
  std::string text = ago(pause.at("at"));
  text += pause.at("for").is_number()
              ? fmt::format(", to make room for job {}", pause["for"].get<std::int64_t>())
              : ", to go on elsewhere or with another size";
  if (pause.at("took_s").is_number()) text += "; it left after " + span(pause["took_s"]);
  if (pause.contains("lost_s"))
    text += fmt::format(", was killed, and lost {} of work", span(pause["lost_s"]));
  return text;
}

std::string machine_table(const json& cluster) {
  std::vector<std::vector<std::string>> rows{heading(
      {"MACHINE", "KIND", "STATE", "GPUS", "FREE", "CPUS FREE", "MEMORY FREE", "JOBS BY GPU"})};
  std::string reasons;
  for (const json& machine : cluster.at("machines")) {
    std::vector<std::string> holders;
    for (const json& job : machine.at("by_gpu"))
      holders.push_back(job.is_null() ? "?"
                        : job == 0    ? "."
                                      : std::to_string(job.get<std::int64_t>()));
    const json& all = machine.at("capacity");
    const json& free = machine.at("free");
    rows.push_back({machine.at("name"), machine.at("kind"),
                    coloured_state(machine.at("state").get<std::string>()),
                    std::to_string(all.at("gpus").get<int>()),
                    std::to_string(free.at("gpus").get<int>()),
                    fmt::format("{:g}", free.at("cpus").get<double>()),
                    fmt::format("{} MiB", free.at("memory_mib").get<std::int64_t>()),
                    fmt::format("{}", fmt::join(holders, " "))});
    reasons += flow_line(machine);
    if (const std::string reason = machine.value("reason", ""); !reason.empty())
      reasons += fmt::format("{} is {}: {}\n", machine.at("name").get<std::string>(),
                             machine.at("state").get<std::string>(), reason);
  }
  for (const json& notice : cluster.value("notices", json::array()))
    reasons += notice.get<std::string>() + "\n";
  return table(rows) + reasons;
}

}  // namespace trainyard::cli
