#include "live/sbatch/job_options.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::array kOptions{
    JobOption{"--name", "name", "TEXT", "what people see"},
    JobOption{"--gpus", "gpus", "N", "for each worker; 1 if not given"},
    JobOption{"--workers", "workers", "N[..MAX]",
              "equal processes that start together; 1 if not given; 2..8: as many as there is room "
              "for, from 2 on"},
    JobOption{"--class", "class", "{trial,batch}", "trial: small, somebody waits for it"},
    JobOption{"--time", "time", "TIME", "what each run may take: minutes, HH:MM:SS, D-HH, or 2h"},
    JobOption{"--cpus", "cpus", "N", "cores for each worker; else the machine's part for its GPUs"},
    JobOption{"--memory", "memory", "SIZE",
              "for each worker: 64GB, 512M, or GiB as a plain number; else as for --cpus"},
    JobOption{"--grace", "grace", "DURATION", "from being asked to save to SIGTERM; else 30s"},
    JobOption{"--signal", "signal", "[B:]USR1[@SECONDS]", "asks it to save; else SIGTERM"},
    JobOption{"--model", "model", "NAME", "of neural network (trainyard models lists them)"},
    JobOption{"--measured-on", "measured_on", "KIND",
              "of GPU that --time is said of; on others it may run faster or slower"},
    JobOption{"--after", "after", "JOB[,JOB...]", "starts when all of these are done"},
    JobOption{"--array", "array", "TASKS",
              "many jobs that differ in SLURM_ARRAY_TASK_ID: 0-9, 1,3,5-9:2; 0-9%2: two at once"},
    JobOption{"--chdir", "directory", "DIR", "where it runs; else where you are"},
    JobOption{"--output", "output", "FILE",
              "what it writes goes there, not to `trainyard logs`; %j, %A, %a, %x as in sbatch"},
    JobOption{"--error", "error", "FILE", "its standard error; else it goes where the output does"},
    JobOption{"--open-mode", "open_mode", "{truncate,append}",
              "append: to what these files hold; else the first run begins them anew"},
    JobOption{"--gpu-kind", "gpu_kind", "KIND",
              "of GPU, the only one that it takes: V100, as `trainyard nodes` has it; any, as if "
              "not given: whichever there is"},
    JobOption{"--constraint", "constraint", "FEATURES",
              "of the machine, as a100, a100&80gb, a100|h100: else it does not start"},
    JobOption{"--exclusive", "exclusive", "", "the whole machine, with all its GPUs"},
};

/// A whole number where it is one; else the text itself, which the field's reader will refuse.
json number_or_text(std::string_view text) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  return problem == std::errc{} && end == last ? json(value) : json(text);
}

json numbers(std::string_view text) {
  json list = json::array();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    list.push_back(number_or_text(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

}  // namespace

std::span<const JobOption> job_options() {
  return kOptions;
}

Expected<void> set_job_option(JobSpec& spec, const JobOption& option, std::string_view value) {
  json content = value;
  if (option.field == "gpus" || option.field == "workers") content = number_or_text(value);
  if (option.field == "after") content = numbers(value);
  if (option.is_switch()) content = true;
  if (auto ok = set_job_field(spec, option.field, content); !ok) {
    // The person knows the option, not the field.
    const std::string& message = ok.error().message;
    return fail("{}{}", option.name, message.substr(std::min(option.field.size(), message.size())));
  }
  return {};
}

}  // namespace trainyard
