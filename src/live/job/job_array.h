// An array: one submission that becomes many jobs, its tasks, which differ in a number that they
// find in SLURM_ARRAY_TASK_ID. The array has a number of its own, and its tasks the numbers after
// it; people call a task by both: 12_3 is task 3 of array 12.
//
//   0-9        tasks 0 to 9        1,3,5-9:2   tasks 1, 3, 5, 7 and 9
//   0-9%2      at most two of them run at once
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "live/job/job_spec.h"

namespace trainyard {

constexpr std::int32_t kHighestTask = 4'000'000;  // as in Slurm
constexpr std::size_t kMostTasks = 10'000;        // of one array
constexpr std::size_t kLongestArray = 16 * 1024;  // bytes of its text

struct JobArray {
  std::vector<std::int32_t> tasks;  // ascending, each once; never empty
  std::int32_t at_once = 0;         // 0: all that there is room for

  bool operator==(const JobArray&) const = default;
};

Expected<JobArray> parse_job_array(std::string_view text);
/// "0-9", "1,3,5-9:2": what parse_job_array reads back. `tasks` are ascending, each once.
std::string format_tasks(std::span<const std::int32_t> tasks);

/// What a task knows of its array.
struct ArrayTask {
  JobNumber array = 0;  // 0: the job is not a task
  std::int32_t task = 0;
  std::int32_t count = 0, lowest = 0, highest = 0, step = 1;  // of all its tasks
  std::int32_t at_once = 0;                                   // 0: all

  bool operator==(const ArrayTask&) const = default;
};

nlohmann::json to_json(const ArrayTask& task);
/// Throws what nlohmann::json throws.
ArrayTask array_task_from_json(const nlohmann::json& value);

/// Of each task of an array, in order.
std::vector<ArrayTask> tasks_of(JobNumber number, const JobArray& array);

/// What people call jobs by: "7", "12_3", "12_[3-5,9]".
struct JobName {
  JobNumber number = 0;             // a job's, or an array's
  std::vector<std::int32_t> tasks;  // of the array; empty: the job, or the whole array

  bool operator==(const JobName&) const = default;
};

Expected<JobName> parse_job_name(std::string_view text);

}  // namespace trainyard
