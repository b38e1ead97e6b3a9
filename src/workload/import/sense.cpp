#include "workload/import/sense.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace trainyard {
namespace {

constexpr std::size_t kMostLookedAt = 10'000;
constexpr std::size_t kFew = 10;  // what holds for so few jobs may be chance

/// Every job, or every so many.
std::vector<Job> sample(const std::vector<Job>& jobs) {
  const std::size_t step = jobs.size() / kMostLookedAt + 1;
  std::vector<Job> some;
  for (std::size_t i = 0; i < jobs.size(); i += step) some.push_back(jobs[i]);
  return some;
}

Duration median_duration(std::vector<Job> jobs) {
  const auto middle = jobs.begin() + static_cast<std::ptrdiff_t>(jobs.size() / 2);
  std::ranges::nth_element(jobs, middle, {}, &Job::duration);
  return middle->duration;
}

bool are_multiples_of_thousand(const std::vector<Job>& jobs) {
  constexpr std::int64_t kThousand = 1000 * 1'000'000LL;
  return std::ranges::all_of(jobs, [&](const Job& job) {
    return job.duration.us % kThousand == 0 &&
           (job.submit - jobs.front().submit).us % kThousand == 0;
  });
}

/// What is wrong with the times; empty: nothing.
std::string absurdity(Duration median, Duration span) {
  if (median > days(365)) return fmt::format("half of the jobs run for {} or more", format(median));
  if (span > days(3650)) return fmt::format("the jobs are submitted over {}", format(span));
  return {};
}

std::string oddity(const std::vector<Job>& jobs, Duration median) {
  if (median < seconds(1)) return "half of the jobs run for less than a second";
  if (jobs.size() >= kFew && are_multiples_of_thousand(jobs))
    return "all times are multiples of 1000";
  return {};
}

}  // namespace

Expected<void> check_ids(const Workload& workload) {
  // Most traces count their jobs: numbers that only rise are seen to be different without a table.
  const auto rises = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  const std::vector<std::string>& names = workload.names;
  if (std::ranges::adjacent_find(names, std::not_fn(rises)) == names.end()) return {};
  std::unordered_set<std::string_view> seen;
  seen.reserve(names.size());
  for (const std::string& name : names)
    if (!name.empty() && !seen.insert(name).second)
      return fail("{}: two jobs have the id {}; give each its own, or leave the column out",
                  workload.source, quoted(name));
  return {};
}

Expected<void> check_sense(Import& import, bool unit_is_given, bool is_ours) {
  const std::vector<Job>& all = import.workload.jobs;
  if (all.empty()) return {};
  const std::vector<Job> jobs = sample(all);
  if (jobs.size() >= kFew &&
      std::ranges::all_of(jobs, [](const Job& job) { return job.gpus() % 100 == 0; }))
    import.notes.emplace_back(
        "all jobs ask for multiples of 100 GPUs; are these hundredths of one?");
  if (unit_is_given) return {};
  const Duration median = median_duration(jobs);
  const std::string absurd = absurdity(median, all.back().submit - all.front().submit);
  if (!absurd.empty() && !is_ours)
    return fail(
        "{}: {}; are its times in milliseconds? --time-unit ms (or us, s, m, h) says what a plain "
        "number counts",
        import.workload.source, absurd);
  const std::string odd = absurd.empty() ? oddity(jobs, median) : absurd;
  if (!odd.empty())
    import.notes.push_back(fmt::format(
        "{}; if a plain number does not count seconds, --time-unit says what it does", odd));
  if (is_ours && all.front().submit > Time{} + days(3650))
    import.notes.push_back(
        fmt::format("the first job is submitted {} after the start of the trace; submit counts "
                    "from there",
                    format(all.front().submit - Time{})));
  return {};
}

}  // namespace trainyard
