// Any lines as the words behind `srun`, and the first as what the job's variables say: an error
// with a message, or a step of bounded size whose tasks can be given their GPUs, variables and
// files.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/split.h"
#include "live/srun/step_environment.h"

using namespace trainyard;

namespace {

constexpr std::int32_t kGpus = 8;  // of the job

void require(bool promise) {
  if (!promise) std::abort();
}

void check_task(const Step& step, std::int32_t task, const Variables& variables) {
  const auto lines = task_environment(step, task, variables);
  for (const std::string& line : lines) require(line.find('=') > 0);
  task_file(step.options.output, step, task, variables);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string_view> lines = split(text, "\n");
  const std::string given(lines[0]);
  const Variables variables{{"SLURM_JOB_ID", "17"},
                            {"SLURM_JOB_NODELIST", "node1"},
                            {"SLURM_NTASKS", given},
                            {"SLURM_GPUS_PER_TASK", given},
                            {"SLURM_ARRAY_TASK_ID", given}};
  const std::vector<std::string> words(lines.begin() + 1, lines.end());
  auto options = parse_step_options(words, variables);
  if (!options) return require(!options.error().message.empty()), 0;
  require(options->tasks >= 1 && options->tasks <= 4096 && !options->command.empty());
  const std::int32_t gpus = gpus_asked(*options).value_or(kGpus);
  require(gpus >= 0);
  if (gpus > kGpus) return 0;  // what take_gpus refuses
  Step step;
  step.options = *std::move(options);
  for (std::int32_t gpu = 0; gpu < gpus; ++gpu) step.gpus.all.push_back(std::to_string(gpu));
  step.gpus.by_task = share_out(step.gpus.all, step.options);
  step.gpus.named = gpus_asked(step.options).has_value();
  require(step.gpus.by_task.size() == static_cast<std::size_t>(step.options.tasks));
  for (const std::int32_t task : {0, step.options.tasks - 1}) check_task(step, task, variables);
  return 0;
}
