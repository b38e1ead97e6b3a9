#include "live/batch_script.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "live/job_options.h"

namespace trainyard {
namespace {

Expected<std::int64_t> whole(std::string_view text, std::int64_t most = 1'000'000) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (problem != std::errc{} || end != last || value < 0 || value > most || text.starts_with('-'))
    return fail("{} is not a whole number up to {}", trainyard::quoted(text), most);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// What sbatch's options add up to, before workers and their parts are known.
struct Wishes {
  JobSpec spec;
  std::optional<std::int64_t> tasks, nodes, tasks_per_node;
  std::optional<std::int64_t> gpus, gpus_per_task, gpus_per_node;
  std::optional<std::int64_t> memory, memory_per_cpu, memory_per_gpu;  // MiB; `memory` of a node
};

using Set = Expected<void> (*)(Wishes& wishes, std::string_view value);

template <auto Member>
Expected<void> set_whole(Wishes& wishes, std::string_view value) {
  const auto number = whole(value);
  if (!number) return tl::make_unexpected(number.error());
  wishes.*Member = *number;
  return {};
}

template <auto Member>
Expected<void> set_memory(Wishes& wishes, std::string_view value) {
  const auto mib = parse_sbatch_memory(value);
  if (!mib) return tl::make_unexpected(mib.error());
  wishes.*Member = *mib;
  return {};
}

/// "[TYPE:]N".
template <auto Member>
Expected<void> set_gpus(Wishes& wishes, std::string_view value) {
  return set_whole<Member>(wishes, value.substr(value.rfind(':') + 1));
}

/// "gpu", "gpu:N", "gpu:TYPE:N", and others that mean nothing here.
Expected<void> set_gres(Wishes& wishes, std::string_view value) {
  for (const std::string_view entry : split(value, ',')) {
    const auto parts = split(entry, ':');
    if (parts[0] != "gpu") continue;
    const bool has_number = parts.size() > 1 && !parts.back().empty() &&
                            parts.back().find_first_not_of("0123456789") == std::string::npos;
    const auto number = has_number ? whole(parts.back()) : Expected<std::int64_t>(1);
    if (!number) return tl::make_unexpected(number.error());
    wishes.gpus_per_node = *number;
  }
  return {};
}

/// The message without the name of the field, which the option's stands for.
Expected<void> set_field(Wishes& wishes, std::string_view field, const nlohmann::json& value) {
  auto done = set_job_field(wishes.spec, field, value);
  if (!done) return fail("{}", done.error().message.substr(field.size() + 2));
  return done;
}

Expected<void> set_time(Wishes& wishes, std::string_view value) {
  return set_field(wishes, "time", value);
}

Expected<void> set_dependency(Wishes& wishes, std::string_view value) {
  nlohmann::json jobs = nlohmann::json::array();
  for (const std::string_view entry : split(value, ',')) {
    const auto parts = split(entry, ':');
    if (parts[0] != "afterok" || parts.size() < 2)
      return fail("{}: only afterok:JOB[:JOB...] is known here", trainyard::quoted(entry));
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto job = whole(parts[i], INT64_MAX);
      if (!job) return tl::make_unexpected(job.error());
      jobs.push_back(*job);
    }
  }
  return set_field(wishes, "after", jobs);
}

Expected<void> set_name(Wishes& wishes, std::string_view value) {
  return set_field(wishes, "name", value);
}
Expected<void> set_cpus(Wishes& wishes, std::string_view value) {
  return set_field(wishes, "cpus", value);
}
Expected<void> set_signal(Wishes& wishes, std::string_view value) {
  return set_field(wishes, "signal", value);
}
Expected<void> set_directory(Wishes& wishes, std::string_view value) {
  return set_field(wishes, "directory", value);
}

struct SbatchOption {
  std::string_view name;
  char letter;  // 0: none
  Set set;
};

constexpr std::array kSbatch{
    SbatchOption{"--job-name", 'J', set_name},
    SbatchOption{"--ntasks", 'n', set_whole<&Wishes::tasks>},
    SbatchOption{"--nodes", 'N', set_whole<&Wishes::nodes>},
    SbatchOption{"--ntasks-per-node", 0, set_whole<&Wishes::tasks_per_node>},
    SbatchOption{"--gpus", 'G', set_gpus<&Wishes::gpus>},
    SbatchOption{"--gpus-per-task", 0, set_gpus<&Wishes::gpus_per_task>},
    SbatchOption{"--gpus-per-node", 0, set_gpus<&Wishes::gpus_per_node>},
    SbatchOption{"--gres", 0, set_gres},
    SbatchOption{"--cpus-per-task", 'c', set_cpus},
    SbatchOption{"--mem", 0, set_memory<&Wishes::memory>},
    SbatchOption{"--mem-per-cpu", 0, set_memory<&Wishes::memory_per_cpu>},
    SbatchOption{"--mem-per-gpu", 0, set_memory<&Wishes::memory_per_gpu>},
    SbatchOption{"--time", 't', set_time},
    SbatchOption{"--signal", 0, set_signal},
    SbatchOption{"--dependency", 'd', set_dependency},
    SbatchOption{"--chdir", 'D', set_directory},
};

/// The number of workers, and each one's part of what was asked for in all or for each node.
Expected<JobSpec> add_up(Wishes wishes) {
  const std::int64_t nodes = wishes.nodes.value_or(1);
  const std::int64_t workers = wishes.tasks.value_or(nodes * wishes.tasks_per_node.value_or(1));
  if (auto ok = set_job_field(wishes.spec, "workers", workers); !ok)
    return fail("--ntasks: {}", ok.error().message.substr(9));
  auto total = wishes.gpus;
  if (!total && wishes.gpus_per_node) total = *wishes.gpus_per_node * nodes;
  if (!wishes.gpus_per_task && total) {
    if (*total % workers != 0)
      return fail("{} GPUs cannot be shared evenly by {} tasks; ask with --gpus-per-task", *total,
                  workers);
    wishes.gpus_per_task = *total / workers;
  }
  if (wishes.gpus_per_task)
    if (auto ok = set_job_field(wishes.spec, "gpus", *wishes.gpus_per_task); !ok)
      return fail("GPUs for each task: {}", ok.error().message.substr(6));
  Resources& each = wishes.spec.per_worker;
  std::int64_t mib = 0;
  if (wishes.memory) mib = (*wishes.memory * nodes + workers - 1) / workers;
  if (wishes.memory_per_gpu) mib = *wishes.memory_per_gpu * each.gpus;
  if (wishes.memory_per_cpu)
    mib = *wishes.memory_per_cpu * std::max<std::int64_t>(1, each.milli_cpus / 1000);
  if (auto ok = set_job_field(wishes.spec, "memory", fmt::format("{}MiB", mib)); !ok)
    return tl::make_unexpected(ok.error());
  return std::move(wishes.spec);
}

/// The words of a line: spaces part them unless quoted, and # begins a comment.
Expected<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\r')) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else if (quote == 0 && c == '#' && !in_word) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return fail("a quotation mark is not closed");
  if (in_word) words.push_back(word);
  return words;
}

/// The options of one line, one after the other, each with its value.
class OptionLine {
 public:
  explicit OptionLine(std::vector<std::string> words) : words_(std::move(words)) {}

  [[nodiscard]] bool done() const { return at_ == words_.size(); }
  /// "--x=1", "--x 1", "-x1" and "-x 1"; `value_` is empty when none follows.
  void next() {
    word_ = words_[at_++];
    value_.reset();
    if (const std::size_t sign = word_.find('='); word_.starts_with("--") && sign < word_.size()) {
      value_ = word_.substr(sign + 1);
      word_.resize(sign);
    } else if (word_.size() > 2 && word_[0] == '-' && word_[1] != '-') {
      value_ = word_.substr(2);
      word_.resize(2);
    } else if (!done() && !words_[at_].starts_with('-')) {
      value_ = words_[at_++];
    }
  }
  [[nodiscard]] const std::string& name() const { return word_; }
  [[nodiscard]] Expected<std::string> value() const {
    if (!value_ || value_->empty()) return fail("{}: its value is missing", word_);
    return *value_;
  }
  [[nodiscard]] bool is_for_all() const { return word_ == "--export" && value_ == "ALL"; }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  std::string word_;
  std::optional<std::string> value_;
};

std::string ignored(std::string_view where, const std::string& option) {
  constexpr std::array<std::string_view, 4> kOutput{"--output", "-o", "--error", "-e"};
  if (std::ranges::find(kOutput, option) != kOutput.end())
    return fmt::format("{}: {} is ignored: the output is kept for `trainyard logs`", where, option);
  return fmt::format("{}: {} means nothing here and is ignored", where, trainyard::quoted(option));
}

Expected<void> read_sbatch(OptionLine line, std::string_view where, Wishes& wishes,
                           std::vector<std::string>& warnings) {
  while (!line.done()) {
    line.next();
    const auto option = std::ranges::find_if(kSbatch, [&](const SbatchOption& known) {
      return known.name == line.name() ||
             (known.letter != 0 && line.name() == std::string{'-', known.letter});
    });
    // Paused jobs are always run again, and the environment goes along.
    if (line.name() == "--requeue" || line.is_for_all()) continue;
    if (option == kSbatch.end()) {
      warnings.push_back(ignored(where, line.name()));
      continue;
    }
    const auto value = line.value();
    if (!value) return tl::make_unexpected(value.error());
    if (auto ok = option->set(wishes, *value); !ok)
      return fail("{}: {}", option->name, ok.error().message);
  }
  return {};
}

struct OwnOption {
  const JobOption* option;
  std::string value, where;
};

Expected<void> read_own(OptionLine line, std::string_view where, std::vector<OwnOption>& found) {
  std::vector<std::string_view> known;
  for (const JobOption& option : job_options()) known.push_back(option.name);
  while (!line.done()) {
    line.next();
    const auto at = std::ranges::find(known, line.name());
    if (at == known.end())
      return fail("unknown option {}{}", trainyard::quoted(line.name()),
                  did_you_mean(line.name(), known));
    auto value = line.value();
    if (!value) return tl::make_unexpected(value.error());
    found.push_back({&job_options()[static_cast<std::size_t>(at - known.begin())],
                     *std::move(value), std::string(where)});
  }
  return {};
}

/// All lines at the top of a script.
struct Head {
  Wishes wishes;
  std::vector<OwnOption> own;
  std::vector<std::string> warnings;
};

Expected<Head> read_head(std::string_view text, std::string_view where) {
  Head head;
  head.wishes.spec.directory.clear();
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (const std::size_t begin = line.find_first_not_of(" \t\r"); begin == std::string_view::npos)
      continue;
    if (!line.starts_with('#')) break;
    const std::string here = fmt::format("{}:{}", where, number);
    const auto option_line = [&](std::string_view prefix) -> std::optional<std::string_view> {
      if (!line.starts_with(prefix) || line.size() == prefix.size()) return {};
      if (line[prefix.size()] != ' ' && line[prefix.size()] != '\t') return {};
      return line.substr(prefix.size());
    };
    const auto sbatch = option_line("#SBATCH"), own = option_line("#TRAINYARD");
    if (!sbatch && !own) continue;
    auto words = words_of(sbatch ? *sbatch : *own);
    if (!words) return fail_at(here, words.error());
    OptionLine options(*std::move(words));
    auto ok = sbatch ? read_sbatch(std::move(options), here, head.wishes, head.warnings)
                     : read_own(std::move(options), here, head.own);
    if (!ok) return fail_at(here, ok.error());
  }
  return head;
}

}  // namespace

Expected<BatchScript> parse_batch_script(std::string_view text, std::string_view where) {
  auto head = read_head(text, where);
  if (!head) return tl::make_unexpected(head.error());
  auto spec = add_up(std::move(head->wishes));
  if (!spec) return fail_at(where, spec.error());
  // What is said in our own words goes before what was said for Slurm.
  for (const OwnOption& own : head->own)
    if (auto ok = set_job_option(*spec, *own.option, own.value); !ok)
      return fail_at(own.where, ok.error());
  if (auto ok = set_job_field(*spec, "script", text); !ok)
    return fail("{}: {}", where, ok.error().message);
  if (spec->script.empty()) return fail("{}: is empty", where);
  return BatchScript{*std::move(spec), std::move(head->warnings)};
}

Expected<std::int32_t> parse_sbatch_memory(std::string_view text) {
  const bool has_unit = text.find_first_not_of("0123456789.") != std::string_view::npos;
  return parse_memory(has_unit ? std::string(text) : fmt::format("{}M", text));
}

}  // namespace trainyard
