#include "live/srun/step_options.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/split.h"

namespace trainyard {
namespace {

constexpr std::int32_t kMostTasks = 4096;

Expected<std::int32_t> whole(std::string_view text, std::int32_t low, std::int32_t high) {
  std::int32_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || value < low || value > high)
    return fail("{} is not a whole number from {} to {}", quoted(text), low, high);
  return value;
}

/// While the words are read, before defaults are filled in.
struct Reading {
  StepOptions step;
  const Variables& variables;
  std::optional<std::int32_t> tasks, tasks_per_node;

  [[nodiscard]] std::string variable(const std::string& name) const {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  }
};

using Value = std::string_view;
using Set = Expected<void> (*)(Reading& reading, Value value);

Expected<void> nothing(Reading& /*reading*/, Value /*value*/) {
  return {};
}

template <class Field>
Expected<void> keep_whole(Value text, std::int32_t low, std::int32_t high, Field& field) {
  const auto number = whole(text, low, high);
  if (!number) return tl::make_unexpected(number.error());
  field = *number;
  return {};
}

Expected<void> set_tasks(Reading& reading, Value value) {
  return keep_whole(value, 1, kMostTasks, reading.tasks);
}
Expected<void> set_tasks_per_node(Reading& reading, Value value) {
  return keep_whole(value, 1, kMostTasks, reading.tasks_per_node);
}
Expected<void> set_cpus(Reading& reading, Value value) {
  return keep_whole(value, 1, 1'000'000, reading.step.cpus_per_task);
}

/// "1", "1-1".
Expected<void> check_nodes(Reading& /*reading*/, Value value) {
  for (const Value bound : split(value, "-"))
    if (bound != "1") return fail("{}: the job has one node", quoted(value));
  return {};
}

Expected<void> check_node_list(Reading& reading, Value value) {
  const std::string host = reading.variable("SLURM_JOB_NODELIST");
  if (value == host) return {};
  return fail("{} is not the job's node, which is {}", quoted(value), host);
}

Expected<void> check_job(Reading& reading, Value value) {
  const std::string job = reading.variable("SLURM_JOB_ID");
  if (value == job) return {};
  return fail("this is job {}, not {}", job, quoted(value));
}

/// "[TYPE:]N": the machine's GPUs are of one kind.
Expected<void> set_gpus(Reading& reading, Value value) {
  return keep_whole(value.substr(value.rfind(':') + 1), 0, 4096, reading.step.gpus);
}
Expected<void> set_gpus_per_task(Reading& reading, Value value) {
  return keep_whole(value.substr(value.rfind(':') + 1), 0, 4096, reading.step.gpus_per_task);
}

/// "gpu", "gpu:N", "gpu:TYPE", "gpu:TYPE:N", "none".
Expected<void> set_gres(Reading& reading, Value value) {
  if (value == "none") return reading.step.gpus = 0, Expected<void>{};
  for (const Value entry : split(value, ",")) {
    const auto parts = split(entry, ":");
    if (parts[0] != "gpu") return fail("{}: only gpu[:TYPE][:N] and none are known", quoted(entry));
    const bool counts = parts.size() > 1 && !parts.back().empty() && parts.back()[0] >= '0' &&
                        parts.back()[0] <= '9';
    if (auto ok = set_gpus(reading, counts ? parts.back() : "1"); !ok) return ok;
  }
  return {};
}

Expected<void> check_gpu_bind(Reading& reading, Value value) {
  if (value != "none") return fail("{}: only none is known", quoted(value));
  reading.step.binds_gpus = false;
  return {};
}

Expected<void> check_mpi(Reading& /*reading*/, Value value) {
  if (value == "none") return {};
  return fail("{}: tasks are started without MPI; only none is known", quoted(value));
}

Expected<void> set_kill(Reading& reading, Value value) {
  const auto kills = whole(value.empty() ? "1" : value, 0, 1);
  if (!kills) return tl::make_unexpected(kills.error());
  reading.step.kill_on_bad_exit = *kills == 1;
  return {};
}

Expected<void> set_wait(Reading& reading, Value value) {
  const auto limit = whole(value, 0, 1'000'000'000);
  if (!limit) return tl::make_unexpected(limit.error());
  reading.step.wait = seconds(*limit);
  return {};
}

Expected<std::string> file_name(Value value) {
  if (value == "all") return std::string();
  if (value == "none") return std::string("/dev/null");
  if (value.find_first_not_of("0123456789") == Value::npos)
    return fail("{}: the output of one task alone cannot be chosen; write a file's name",
                quoted(value));
  return std::string(value);
}

Expected<void> keep_file(Value value, std::string& field) {
  auto name = file_name(value);
  if (!name) return tl::make_unexpected(name.error());
  field = *std::move(name);
  return {};
}

Expected<void> set_output(Reading& reading, Value value) {
  return keep_file(value, reading.step.output);
}
Expected<void> set_error(Reading& reading, Value value) {
  return keep_file(value, reading.step.error);
}
Expected<void> set_directory(Reading& reading, Value value) {
  reading.step.directory = value;
  return {};
}

Expected<void> check_input(Reading& /*reading*/, Value value) {
  if (value == "none" || value == "all") return {};
  return fail("{}: write srun ... <FILE", quoted(value));
}

Expected<void> set_open_mode(Reading& reading, Value value) {
  if (value != "append" && value != "truncate" && value != "a" && value != "t")
    return fail("{} is neither append nor truncate", quoted(value));
  reading.step.append = value[0] == 'a';
  return {};
}

/// "ALL", "NONE", "ALL,A=1", "A=1,B": the last alone means no others.
Expected<void> set_exports(Reading& reading, Value value) {
  reading.step.exports_all = false;
  reading.step.exports.clear();
  for (const Value entry : split(value, ",")) {
    const std::size_t sign = entry.find('=');
    const std::string name(entry.substr(0, sign));
    if (entry == "ALL")
      reading.step.exports_all = true;
    else if (entry == "NONE" || entry == "NIL")
      continue;
    else if (name.empty())
      return fail("{}: a variable has no name", quoted(value));
    else if (sign != Value::npos)
      reading.step.exports[name] = entry.substr(sign + 1);
    else if (reading.variables.contains(name))
      reading.step.exports[name] = reading.variable(name);
  }
  return {};
}

Expected<void> set_overlap(Reading& reading, Value /*value*/) {
  reading.step.overlap = true;
  return {};
}
Expected<void> set_label(Reading& reading, Value /*value*/) {
  reading.step.label = true;
  return {};
}

enum class Takes : std::uint8_t { nothing, value, perhaps };  // perhaps: only behind "="

struct SrunOption {
  std::string_view name;
  char letter;  // 0: none
  Takes takes;
  Set set;
};

constexpr std::array kOptions{
    SrunOption{"--ntasks", 'n', Takes::value, set_tasks},
    SrunOption{"--ntasks-per-node", 0, Takes::value, set_tasks_per_node},
    SrunOption{"--nodes", 'N', Takes::value, check_nodes},
    SrunOption{"--nodelist", 'w', Takes::value, check_node_list},
    SrunOption{"--jobid", 0, Takes::value, check_job},
    SrunOption{"--gpus", 'G', Takes::value, set_gpus},
    SrunOption{"--gpus-per-node", 0, Takes::value, set_gpus},
    SrunOption{"--gpus-per-task", 0, Takes::value, set_gpus_per_task},
    SrunOption{"--gres", 0, Takes::value, set_gres},
    SrunOption{"--gpu-bind", 0, Takes::value, check_gpu_bind},
    SrunOption{"--cpus-per-task", 'c', Takes::value, set_cpus},
    SrunOption{"--kill-on-bad-exit", 'K', Takes::perhaps, set_kill},
    SrunOption{"--wait", 'W', Takes::value, set_wait},
    SrunOption{"--output", 'o', Takes::value, set_output},
    SrunOption{"--error", 'e', Takes::value, set_error},
    SrunOption{"--input", 'i', Takes::value, check_input},
    SrunOption{"--open-mode", 0, Takes::value, set_open_mode},
    SrunOption{"--chdir", 'D', Takes::value, set_directory},
    SrunOption{"--export", 0, Takes::value, set_exports},
    SrunOption{"--overlap", 0, Takes::nothing, set_overlap},
    SrunOption{"--label", 'l', Takes::nothing, set_label},
    SrunOption{"--mpi", 0, Takes::value, check_mpi},
    // Means nothing on one machine, or is so anyway.
    SrunOption{"--exclusive", 0, Takes::perhaps, nothing},
    SrunOption{"--exact", 0, Takes::nothing, nothing},
    SrunOption{"--unbuffered", 'u', Takes::nothing, nothing},
    SrunOption{"--verbose", 'v', Takes::nothing, nothing},
    SrunOption{"--quiet", 'Q', Takes::nothing, nothing},
    SrunOption{"--job-name", 'J', Takes::value, nothing},
    SrunOption{"--partition", 'p', Takes::value, nothing},
    SrunOption{"--account", 'A', Takes::value, nothing},
    SrunOption{"--mem", 0, Takes::value, nothing},
    SrunOption{"--mem-per-cpu", 0, Takes::value, nothing},
    SrunOption{"--mem-per-gpu", 0, Takes::value, nothing},
    SrunOption{"--cpu-bind", 0, Takes::value, nothing},
    SrunOption{"--mem-bind", 0, Takes::value, nothing},
    SrunOption{"--hint", 0, Takes::value, nothing},
    SrunOption{"--distribution", 'm', Takes::value, nothing},
    SrunOption{"--threads-per-core", 0, Takes::value, nothing},
    SrunOption{"--cpu-freq", 0, Takes::value, nothing},
};

class Words {
 public:
  Words(std::span<const std::string> words, Reading& reading) : words_(words), reading_(reading) {}

  Expected<void> read() {
    while (at_ < words_.size() && words_[at_].size() > 1 && words_[at_][0] == '-') {
      const std::string& word = words_[at_++];
      if (word == "--") break;
      if (auto ok = word[1] == '-' ? read_long(word) : read_letters(word); !ok) return ok;
    }
    const auto rest = words_.subspan(at_);
    reading_.step.command.assign(rest.begin(), rest.end());
    return {};
  }

 private:
  Expected<void> set(const SrunOption& option, Value value) {
    auto ok = option.set(reading_, value);
    if (!ok) return fail("{}: {}", option.name, ok.error().message);
    return ok;
  }

  Expected<void> set_from_next(const SrunOption& option) {
    if (at_ == words_.size()) return fail("{}: its value is missing", option.name);
    return set(option, words_[at_++]);
  }

  Expected<void> read_long(const std::string& word) {
    const std::size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    const auto* option = std::ranges::find(kOptions, name, &SrunOption::name);
    if (option == kOptions.end()) return unknown(name);
    if (sign != std::string::npos) {
      if (option->takes == Takes::nothing) return fail("{}: takes no value", name);
      return set(*option, Value(word).substr(sign + 1));
    }
    return option->takes == Takes::value ? set_from_next(*option) : set(*option, "");
  }

  /// "-n4", "-n 4", "-lu".
  Expected<void> read_letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const auto* option = std::ranges::find(kOptions, word[i], &SrunOption::letter);
      if (option == kOptions.end()) return unknown(std::string{'-', word[i]});
      if (option->takes == Takes::nothing) {
        if (auto ok = set(*option, ""); !ok) return ok;
        continue;
      }
      if (i + 1 < word.size()) return set(*option, Value(word).substr(i + 1));
      return option->takes == Takes::value ? set_from_next(*option) : set(*option, "");
    }
    return {};
  }

  static tl::unexpected<Error> unknown(const std::string& name) {
    std::vector<std::string_view> known;
    for (const SrunOption& option : kOptions) known.push_back(option.name);
    return fail("{} is not supported here{}", quoted(name), did_you_mean(name, known));
  }

  std::span<const std::string> words_;
  Reading& reading_;
  std::size_t at_ = 0;
};

/// Slurm's own variables say what the command line leaves out.
Expected<void> fill_in(Reading& reading) {
  StepOptions& step = reading.step;
  if (!reading.tasks) reading.tasks = reading.tasks_per_node;
  if (const std::string given = reading.variable("SLURM_NTASKS"); !reading.tasks && !given.empty())
    if (auto ok = set_tasks(reading, given); !ok)
      return fail("SLURM_NTASKS: {}", ok.error().message);
  step.tasks = reading.tasks.value_or(1);
  const std::string each = reading.variable("SLURM_GPUS_PER_TASK");
  if (!step.gpus && !step.gpus_per_task && !each.empty())
    if (auto ok = set_gpus_per_task(reading, each); !ok)
      return fail("SLURM_GPUS_PER_TASK: {}", ok.error().message);
  return {};
}

}  // namespace

Expected<StepOptions> parse_step_options(std::span<const std::string> words,
                                         const Variables& variables) {
  Reading reading{.step = {}, .variables = variables, .tasks = {}, .tasks_per_node = {}};
  // An earlier run of the job may have written to the same files.
  const std::string run = reading.variable("TRAINYARD_RUN");
  reading.step.append = !run.empty() && run != "1";
  reading.step.kill_on_bad_exit = reading.variable("SLURM_KILL_BAD_EXIT") == "1";
  if (auto ok = Words(words, reading).read(); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = fill_in(reading); !ok) return tl::make_unexpected(ok.error());
  if (reading.step.command.empty())
    return fail("the command is missing; write srun [OPTION...] COMMAND");
  return std::move(reading.step);
}

}  // namespace trainyard
