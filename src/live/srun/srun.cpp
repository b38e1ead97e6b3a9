#include "live/srun/srun.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>

#include "live/srun/tasks.h"

namespace trainyard {
namespace {

/// As the supervisor has set them; a script that has changed them gets what it asked for.
Expected<std::string> required(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty())
    return fail("not inside a job: {} is not set", name);
  return found->second;
}

std::vector<std::string> gpus_of_job(const Variables& variables) {
  std::vector<std::string> gpus;
  const auto found = variables.find("SLURM_JOB_GPUS");
  std::string_view rest = found == variables.end() ? std::string_view() : found->second;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    gpus.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return gpus;
}

std::int64_t job_number(const Variables& variables) {
  const auto found = variables.find("TRAINYARD_JOB_ID");
  std::int64_t job = 0;
  if (found != variables.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), job);
  return job;
}

/// Where every worker runs the script, each would start all tasks once more.
Expected<void> check_place(const Variables& variables) {
  const auto tasks = variables.find("SLURM_STEP_NUM_TASKS");
  if (tasks == variables.end() || tasks->second == "1") return {};
  return fail(
      "this is one of {} tasks that run side by side already. A script with #SBATCH lines runs "
      "once, "
      "and srun in it starts the tasks; otherwise every worker runs the script, and needs no srun",
      tasks->second);
}

Expected<Step> make_step(std::span<const std::string> words, const Variables& variables) {
  const auto requeue_file = required(variables, "TRAINYARD_REQUEUE_FILE");
  if (!requeue_file) return tl::make_unexpected(requeue_file.error());
  if (auto ok = check_place(variables); !ok) return tl::make_unexpected(ok.error());
  auto options = parse_step_options(words, variables);
  if (!options) return tl::make_unexpected(options.error());
  const std::string directory = std::filesystem::path(*requeue_file).parent_path();
  auto gpus = take_gpus(*options, gpus_of_job(variables), directory);
  if (!gpus) return tl::make_unexpected(gpus.error());
  const auto number = next_step_number(directory);
  if (!number) return tl::make_unexpected(number.error());
  auto port = hold_port(job_number(variables) + *number + 1);
  if (!port) return tl::make_unexpected(port.error());
  return Step{.number = *number,
              .options = std::move(*options),
              .gpus = std::move(*gpus),
              .port = std::move(*port)};
}

int refuse(const Error& error) {
  fmt::print(stderr, "srun: error: {}\n", error.message);
  return 1;
}

}  // namespace

int srun(std::span<const std::string> words, const Variables& variables) {
  auto step = make_step(words, variables);
  if (!step) return refuse(step.error());
  Tasks tasks(std::move(*step), variables);
  if (auto ok = tasks.start(); !ok) return refuse(ok.error());
  return tasks.wait();
}

Variables own_variables() {
  Variables all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t sign = text.find('=');
    if (sign != std::string_view::npos && sign > 0)
      all[std::string(text.substr(0, sign))] = text.substr(sign + 1);
  }
  return all;
}

}  // namespace trainyard
