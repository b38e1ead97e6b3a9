// Any bytes as a script, and as the values of its options: an error with a message, or a job that
// could be submitted.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "live/job/job_array.h"
#include "live/job/output_path.h"
#include "live/sbatch/batch_script.h"
#include "model/constraint.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

/// Bounded, ascending, and read back as they are written.
void check_array(std::string_view text) {
  if (const auto array = parse_job_array(text)) {
    require(!array->tasks.empty() && array->tasks.size() <= kMostTasks && array->at_once >= 0);
    require(std::ranges::is_sorted(array->tasks));
    // What is written may be longer than what may be read.
    const std::string written = format_tasks(array->tasks);
    if (written.size() <= kLongestArray) require(parse_job_array(written)->tasks == array->tasks);
    require(tasks_of(1, *array).size() == array->tasks.size());
  }
  if (const auto name = parse_job_name(text)) require(name->number > 0);
  // A name of at most nine letters stands for two characters at least.
  require(output_path(text, {1, {}, "a-name", "user", "host", 0}).size() <= 10 * text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto time = parse_time_limit(text)) require(time->us >= 0);
  if (const auto memory = parse_sbatch_memory(text)) require(*memory >= 0);
  if (const auto rule = parse_export(text)) require(exported(*rule, {}).size() <= text.size());
  if (const auto constraint = parse_constraint(text)) require(!constraint->empty());
  check_array(text);
  const auto script = parse_batch_script(text, "input");
  if (!script) return require(!script.error().message.empty()), 0;
  require(script->spec.workers >= 1 && script->spec.per_worker.gpus >= 1);
  require(script->spec.script == text);
  return 0;
}
