#include "live/job/job_array.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

/// Digits only.
template <class T>
bool read_number(std::string_view text, T& value) {
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  return problem == std::errc{} && end == last && text[0] != '-';
}

/// "4", "1-9" or "1-9:2".
Expected<void> add_range(std::string_view text, std::vector<std::int32_t>& tasks) {
  const auto wrong = [&] {
    return fail("{} is not a task or a range of them; write 3, 0-9 or 0-9:2", quoted(text));
  };
  const std::size_t dash = text.find('-'), colon = text.find(':');
  std::int32_t first = 0, step = 1;
  if (!read_number(text.substr(0, std::min(dash, colon)), first)) return wrong();
  std::int32_t last = first;
  if (dash == std::string_view::npos && colon != std::string_view::npos) return wrong();
  if (dash != std::string_view::npos &&
      !read_number(
          text.substr(dash + 1, colon == std::string_view::npos ? colon : colon - dash - 1), last))
    return wrong();
  if (colon != std::string_view::npos && !read_number(text.substr(colon + 1), step)) return wrong();
  if (step < 1) return fail("{}: a step is 1 or more", quoted(text));
  if (last < first) return fail("{}: ends before it begins", quoted(text));
  if (last > kHighestTask)
    return fail("{}: tasks are numbered up to {}", quoted(text), kHighestTask);
  const auto count = static_cast<std::size_t>((last - first) / step) + 1;
  if (tasks.size() + count > kMostTasks) return fail("an array has at most {} tasks", kMostTasks);
  for (std::size_t i = 0; i < count; ++i)
    tasks.push_back(first + static_cast<std::int32_t>(i) * step);
  return {};
}

/// "1,3,5-9:2", ascending and each once.
Expected<std::vector<std::int32_t>> parse_tasks(std::string_view text) {
  if (text.size() > kLongestArray)
    return fail("{} bytes; {} are the most that is taken", text.size(), kLongestArray);
  std::vector<std::int32_t> tasks;
  for (;;) {
    const std::size_t end = text.find(',');
    if (auto ok = add_range(text.substr(0, end), tasks); !ok)
      return tl::make_unexpected(ok.error());
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  std::ranges::sort(tasks);
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  return tasks;
}

}  // namespace

Expected<JobArray> parse_job_array(std::string_view text) {
  JobArray array;
  const std::size_t percent = text.find('%');
  if (percent != std::string_view::npos &&
      (!read_number(text.substr(percent + 1), array.at_once) || array.at_once < 1))
    return fail("{}: after % stands how many may run at once, 1 or more", quoted(text));
  auto tasks = parse_tasks(text.substr(0, percent));
  if (!tasks) return tl::make_unexpected(tasks.error());
  array.tasks = *std::move(tasks);
  return array;
}

std::string format_tasks(std::span<const std::int32_t> tasks) {
  std::string text;
  for (std::size_t i = 0; i < tasks.size();) {
    // As far as the distance stays the same.
    const std::int32_t step = i + 1 < tasks.size() ? tasks[i + 1] - tasks[i] : 1;
    std::size_t last = i;
    while (last + 1 < tasks.size() && tasks[last + 1] - tasks[last] == step) ++last;
    if (last - i == 1 && step != 1) last = i;  // two of a distance are no range yet
    text += fmt::format("{}{}", text.empty() ? "" : ",", tasks[i]);
    if (last > i) text += fmt::format("-{}", tasks[last]);
    if (last > i && step != 1) text += fmt::format(":{}", step);
    i = last + 1;
  }
  return text;
}

nlohmann::json to_json(const ArrayTask& task) {
  return {{"array", task.array},    {"task", task.task},       {"count", task.count},
          {"lowest", task.lowest},  {"highest", task.highest}, {"step", task.step},
          {"at_once", task.at_once}};
}

ArrayTask array_task_from_json(const nlohmann::json& value) {
  return {value.at("array"),   value.at("task"), value.at("count"),  value.at("lowest"),
          value.at("highest"), value.at("step"), value.at("at_once")};
}

std::vector<ArrayTask> tasks_of(JobNumber number, const JobArray& array) {
  const auto& tasks = array.tasks;
  ArrayTask each{.array = number,
                 .count = static_cast<std::int32_t>(tasks.size()),
                 .lowest = tasks.front(),
                 .highest = tasks.back(),
                 .at_once = array.at_once};
  if (tasks.size() > 1) each.step = tasks[1] - tasks[0];
  for (std::size_t i = 1; i < tasks.size(); ++i)
    if (tasks[i] - tasks[i - 1] != each.step) each.step = 1;
  std::vector<ArrayTask> all;
  for (const std::int32_t task : tasks) all.push_back(each), all.back().task = task;
  return all;
}

Expected<JobName> parse_job_name(std::string_view text) {
  JobName name;
  const std::size_t bar = text.find('_');
  if (!read_number(text.substr(0, bar), name.number) || name.number < 1)
    return fail("{} is not a job; write its number, or a task of an array as 12_3 or 12_[3-5]",
                quoted(text));
  if (bar == std::string_view::npos) return name;
  std::string_view tasks = text.substr(bar + 1);
  if (tasks.starts_with('[') && tasks.ends_with(']')) tasks = tasks.substr(1, tasks.size() - 2);
  auto parsed = parse_tasks(tasks);
  if (!parsed) return fail_at(quoted(text), parsed.error());
  name.tasks = *std::move(parsed);
  return name;
}

}  // namespace trainyard
