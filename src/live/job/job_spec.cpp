#include "live/job/job_spec.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/visible_text.h"
#include "live/job/bounded_json.h"
#include "live/job/job_array.h"
#include "model/cluster.h"
#include "model/constraint.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = kMostEnvironmentBytes;   // also of script or arguments
constexpr std::size_t kMostOfOne = std::size_t{128} << 10;  // what execve takes as one string
constexpr std::size_t kLongestName = 256, kLongestPath = 4095, kMostAfter = 64;
constexpr std::size_t kLongestGuessedName = 64;  // names beyond resemble none, and cost time
constexpr std::int64_t kMostWorkers = 4096, kMostGpus = kMaxGpusPerMachine;
constexpr Duration kLongestTime = days(36'500), kLongestGrace = hours(1);

/// Lists and objects are only named: they may be of any size and depth.
std::string shown(const json& value) {
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return trainyard::quoted(value.is_string() ? value.get_ref<const std::string&>() : value.dump());
}

Expected<std::string> read_text(const json& value, std::size_t longest) {
  if (!value.is_string()) return fail("{} is not a text", shown(value));
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > longest)
    return fail("{} bytes; {} are the most that is taken", text.size(), longest);
  if (text.find('\0') != std::string::npos) return fail("has a NUL byte");
  return text;
}

Expected<std::string> read_line(const json& value, std::size_t longest) {
  auto text = read_text(value, longest);
  if (!text) return text;
  for (const char c : *text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return fail("{} has a character that cannot be printed", trainyard::quoted(*text));
  return text;
}

Expected<std::int64_t> read_whole(const json& value, std::int64_t low, std::int64_t high) {
  const bool is_whole = value.is_number_integer();
  const bool is_huge = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  if (!is_whole || is_huge || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
    return fail("{} is not a whole number from {} to {}", shown(value), low, high);
  return value.get<std::int64_t>();
}

Expected<Duration> read_duration(const json& value, Duration longest,
                                 Expected<Duration> (*parse)(std::string_view)) {
  Expected<Duration> duration;
  if (value.is_number())
    duration = duration_from_seconds(value.get<double>());
  else if (value.is_string())
    duration = parse(value.get_ref<const std::string&>());
  else
    return fail("{} is neither a duration (\"1h30m\") nor a number of seconds", shown(value));
  if (duration && *duration > longest)
    return fail("{} is longer than {}", shown(value), format(longest));
  return duration;
}

/// Numbers are as good as the texts that people type.
Expected<std::int32_t> read_amount(const json& value,
                                   Expected<std::int32_t> (*parse)(std::string_view)) {
  if (value.is_number()) return parse(value.dump());
  if (value.is_string()) return parse(value.get_ref<const std::string&>());
  return fail("{} is neither a number nor a text", shown(value));
}

Expected<void> read_command(const json& value, JobSpec& spec) {
  if (!value.is_array()) return fail("{} is not a list of texts", shown(value));
  std::size_t bytes = 0;
  spec.command.clear();
  for (const json& word : value) {
    auto text = read_text(word, kMostOfOne - 1);
    if (!text) return fail_at(fmt::format("word {}", spec.command.size()), text.error());
    if ((bytes += text->size() + 1) > kMostBytes)
      return fail("is longer than the {} bytes that are taken", kMostBytes);
    spec.command.push_back(*std::move(text));
  }
  return {};
}

Expected<void> read_environment(const json& value, JobSpec& spec) {
  if (!value.is_object()) return fail("{} is not an object of texts", shown(value));
  std::size_t bytes = 0;
  spec.environment.clear();
  for (const auto& [name, content] : value.items()) {
    if (!is_variable_name(name))
      return fail("{} is not a name of a variable (letters, digits and _)",
                  trainyard::quoted(name));
    auto text = read_text(content, kMostOfOne - 1);
    if (text && name.size() + text->size() + 2 > kMostOfOne) text = fail("is too long");
    if (!text) return fail_at(trainyard::quoted(name), text.error());
    if ((bytes += name.size() + text->size() + 2) > kMostBytes)
      return fail("is larger than the {} bytes that are taken", kMostBytes);
    spec.environment[name] = *std::move(text);
  }
  return {};
}

Expected<void> read_directory(const json& value, JobSpec& spec) {
  auto path = read_text(value, kLongestPath);
  if (!path) return tl::make_unexpected(path.error());
  if (!path->starts_with('/')) return fail("{} does not begin with /", trainyard::quoted(*path));
  spec.directory = *std::move(path);
  return {};
}

Expected<void> read_script(const json& value, JobSpec& spec) {
  auto script = read_text(value, kMostBytes);
  if (!script) return tl::make_unexpected(script.error());
  if (!script->empty() && !script->starts_with("#!"))
    return fail("its first line does not name its interpreter; begin it with #!/bin/sh");
  spec.script = *std::move(script);
  return {};
}

Expected<bool> read_bool(const json& value) {
  if (!value.is_boolean()) return fail("{} is neither true nor false", shown(value));
  return value.get<bool>();
}

Expected<void> read_class(const json& value, JobSpec& spec) {
  for (const JobClass known : {JobClass::trial, JobClass::batch})
    if (value == name(known)) return spec.job_class = known, Expected<void>{};
  return fail("{} is neither trial nor batch", shown(value));
}

/// A number, or a text: "2..8".
Expected<void> read_workers(const json& value, JobSpec& spec) {
  if (!value.is_string()) {
    const auto workers = read_whole(value, 1, kMostWorkers);
    if (!workers) return tl::make_unexpected(workers.error());
    spec.workers = static_cast<std::int32_t>(*workers), spec.max_workers = 0;
    return {};
  }
  const auto range = parse_worker_range(value.get_ref<const std::string&>(), kMostWorkers);
  if (!range) return tl::make_unexpected(range.error());
  spec.workers = range->min;
  spec.max_workers = range->max > range->min ? range->max : 0;
  return {};
}

Expected<void> read_after(const json& value, JobSpec& spec) {
  if (!value.is_array() || value.size() > kMostAfter)
    return fail("is not a list of at most {} job numbers", kMostAfter);
  spec.after.clear();
  for (const json& number : value) {
    const auto job = read_whole(number, 1, INT64_MAX);
    if (!job)
      return fail("{} is not the number of a job or an array; trainyard show tells that of a task",
                  shown(number));
    if (std::ranges::find(spec.after, *job) == spec.after.end()) spec.after.push_back(*job);
  }
  return {};
}

Expected<void> read_open_mode(const json& value, JobSpec& spec) {
  if (value != "append" && value != "truncate")
    return fail("{} is neither append nor truncate", shown(value));
  spec.append = value == "append";
  return {};
}

Expected<void> read_array(const json& value, JobSpec& spec) {
  auto text = read_line(value, kLongestArray);
  if (!text) return tl::make_unexpected(text.error());
  if (!text->empty())
    if (const auto array = parse_job_array(*text); !array)
      return tl::make_unexpected(array.error());
  spec.array = *std::move(text);
  return {};
}

Expected<void> read_exclusive(const json& value, JobSpec& spec) {
  if (!value.is_boolean()) return fail("{} is neither true nor false", shown(value));
  spec.exclusive = value.get<bool>();
  return {};
}

/// ["whole", "alone", "all_memory"], or some of these.
Expected<void> read_node(const json& value, JobSpec& spec) {
  spec.node = {};
  if (!value.is_array()) return fail("{} is not a list", shown(value));
  for (const json& word : value) {
    if (word == "whole") {
      spec.node.whole = true;
    } else if (word == "alone") {
      spec.node.alone = true;
    } else if (word == "all_memory") {
      spec.node.all_memory = true;
    } else {
      return fail("{} is none of whole, alone, all_memory", shown(word));
    }
  }
  return {};
}

json node_to_json(const NodeDemand& node) {
  json words = json::array();
  if (node.whole) words.push_back("whole");
  if (node.alone) words.push_back("alone");
  if (node.all_memory) words.push_back("all_memory");
  return words;
}

Expected<void> read_constraint(const json& value, JobSpec& spec) {
  auto text = read_line(value, kLongestName);
  if (!text) return tl::make_unexpected(text.error());
  if (!text->empty())
    if (const auto constraint = parse_constraint(*text); !constraint)
      return tl::make_unexpected(constraint.error());
  spec.constraint = *std::move(text);
  return {};
}

/// "any" is what it is when nothing is said.
Expected<void> read_gpu_kind(const json& value, JobSpec& spec) {
  auto text = read_line(value, kLongestName);
  if (!text) return tl::make_unexpected(text.error());
  if (*text == "any") text->clear();
  if (!text->empty())
    if (const auto kind = parse_constraint(*text);
        !kind || kind->size() != 1 || kind->front().size() != 1)
      return fail("{} is not a kind of GPU; write one, as V100, or any", trainyard::quoted(*text));
  spec.gpu_kind = *std::move(text);
  return {};
}

Expected<void> read_signal(const json& value, JobSpec& spec) {
  const auto text = read_line(value, 64);
  if (!text) return tl::make_unexpected(text.error());
  spec.signal = {};
  if (text->empty()) return {};
  const auto signal = parse_stop_signal(*text);
  if (!signal) return tl::make_unexpected(signal.error());
  spec.signal = *signal;
  return {};
}

template <class T, class U>
Expected<void> keep(Expected<T> value, U& where) {
  if (!value) return tl::make_unexpected(value.error());
  where = static_cast<U>(*std::move(value));
  return {};
}

struct Field {
  std::string_view name;
  Expected<void> (*read)(const json& value, JobSpec& spec);
};

constexpr std::array kFields{
    Field{"name",
          [](const json& v, JobSpec& s) { return keep(read_line(v, kLongestName), s.name); }},
    Field{"command", read_command},
    Field{"script", read_script},
    Field{"directory", read_directory},
    Field{"output",
          [](const json& v, JobSpec& s) { return keep(read_line(v, kLongestPath), s.output); }},
    Field{"error",
          [](const json& v, JobSpec& s) { return keep(read_line(v, kLongestPath), s.error); }},
    Field{"open_mode", read_open_mode},
    Field{"environment", read_environment},
    Field{"class", read_class},
    Field{"runs_once", [](const json& v, JobSpec& s) { return keep(read_bool(v), s.runs_once); }},
    Field{"gpus_per_task",
          [](const json& v, JobSpec& s) { return keep(read_bool(v), s.gpus_per_task); }},
    Field{"workers", read_workers},
    Field{"gpus", [](const json& v,
                     JobSpec& s) { return keep(read_whole(v, 1, kMostGpus), s.per_worker.gpus); }},
    Field{"cpus",
          [](const json& v, JobSpec& s) {
            return keep(read_amount(v, parse_cpus), s.per_worker.milli_cpus);
          }},
    Field{"memory",
          [](const json& v, JobSpec& s) {
            return keep(read_amount(v, parse_memory), s.per_worker.memory_mib);
          }},
    Field{"exclusive", read_exclusive},
    Field{"node", read_node},
    Field{"gpu_kind", read_gpu_kind},
    Field{"constraint", read_constraint},
    Field{"time",
          [](const json& v, JobSpec& s) {
            return keep(read_duration(v, kLongestTime, parse_time_limit), s.time);
          }},
    Field{"grace",
          [](const json& v, JobSpec& s) {
            return keep(read_duration(v, kLongestGrace, parse_duration), s.grace);
          }},
    Field{"signal", read_signal},
    Field{"model",
          [](const json& v, JobSpec& s) { return keep(read_line(v, kLongestName), s.model); }},
    Field{
        "measured_on",
        [](const json& v, JobSpec& s) { return keep(read_line(v, kLongestName), s.measured_on); }},
    Field{"after", read_after},
    Field{"array", read_array},
};

/// What people will see it as when they gave it no name.
std::string default_name(const JobSpec& spec) {
  if (!spec.script.empty()) return "script";
  const std::string& program = spec.command.front();
  const std::string name = program.substr(program.rfind('/') + 1);
  return name.empty() || name.size() > kLongestName || !is_visible(name) ? "job" : name;
}

/// Refuses names that a reader could be misled by.
Expected<void> check_visible(const JobSpec& spec) {
  const std::array<std::pair<std::string_view, std::string_view>, 5> names{
      {{"name", spec.name},
       {"model", spec.model},
       {"measured_on", spec.measured_on},
       {"output", spec.output},
       {"error", spec.error}}};
  for (const auto& [field, text] : names)
    if (!is_visible(text))
      return fail("{}: '{}' has a character that is not visible; leave it out", field,
                  visible(text));
  return {};
}

}  // namespace

bool is_variable_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  for (const char c : name)
    if (!is_letter(c) && (c < '0' || c > '9')) return false;
  return true;
}

Expected<void> set_job_field(JobSpec& spec, std::string_view field, const json& value) {
  std::vector<std::string_view> known;
  for (const Field& candidate : kFields) {
    known.push_back(candidate.name);
    if (candidate.name != field) continue;
    auto done = candidate.read(value, spec);
    if (!done) return fail_at(field, done.error());
    return done;
  }
  return fail("unknown field {}{}", trainyard::quoted(field),
              field.size() > kLongestGuessedName ? "" : did_you_mean(field, known));
}

Expected<JobSpec> job_spec_from_json(const json& value) {
  if (!value.is_object()) return fail("a job is a JSON object, not {}", shown(value));
  JobSpec spec;
  for (const auto& [name, content] : value.items())
    if (auto ok = set_job_field(spec, name, content); !ok) return tl::make_unexpected(ok.error());
  if (spec.script.empty() && (spec.command.empty() || spec.command[0].empty()))
    return fail("nothing to run: give `command`, or a `script`");
  if (spec.runs_once && spec.script.empty()) return fail("runs_once: only a `script` can");
  if (spec.gpus_per_task && !spec.runs_once)
    return fail("gpus_per_task: only of a script that `runs_once`");
  if (spec.is_elastic() && (spec.runs_once || spec.exclusive))
    return fail("workers: {} is a range, and a job that {} has a fixed number of them",
                format(spec.sizes()),
                spec.runs_once ? "starts its workers itself (`runs_once`)"
                               : "takes the whole machine (`exclusive`)");
  if (!value.contains("name")) spec.name = default_name(spec);
  return spec;
}

Expected<JobSpec> parse_job_spec(std::string_view text) {
  const auto value = parse_bounded_json(text);
  if (!value) return tl::make_unexpected(value.error());
  return job_spec_from_json(*value);
}

Expected<JobSpec> parse_submission(std::string_view text) {
  auto spec = parse_job_spec(text);
  if (!spec) return spec;
  if (auto ok = check_visible(*spec); !ok) return tl::make_unexpected(ok.error());
  return spec;
}

json to_json(const JobSpec& spec) {
  const std::int32_t mib = spec.per_worker.memory_mib;
  json value{{"name", spec.name},
             {"command", spec.command},
             {"directory", spec.directory},
             {"environment", spec.environment},
             {"class", name(spec.job_class)},
             {"workers", spec.is_elastic() ? json(format(spec.sizes())) : json(spec.workers)},
             {"gpus", spec.per_worker.gpus},
             {"cpus", spec.per_worker.milli_cpus / 1000.0},
             {"memory", fmt::format("{}MiB", mib)},
             {"time", format_exact(spec.time)},
             {"grace", format_exact(spec.grace)},
             {"model", spec.model},
             {"after", spec.after}};
  if (!spec.script.empty()) value["script"] = spec.script;
  if (spec.runs_once) value["runs_once"] = true;
  if (spec.gpus_per_task) value["gpus_per_task"] = true;
  if (spec.signal.number != 0) value["signal"] = format(spec.signal);
  if (!spec.output.empty()) value["output"] = spec.output;
  if (!spec.error.empty()) value["error"] = spec.error;
  if (spec.append) value["open_mode"] = "append";
  if (spec.exclusive) value["exclusive"] = true;
  if (spec.node != NodeDemand{}) value["node"] = node_to_json(spec.node);
  if (!spec.gpu_kind.empty()) value["gpu_kind"] = spec.gpu_kind;
  if (!spec.constraint.empty()) value["constraint"] = spec.constraint;
  if (!spec.array.empty()) value["array"] = spec.array;
  if (!spec.measured_on.empty()) value["measured_on"] = spec.measured_on;
  return value;
}

Duration asked_after(const JobSpec& spec) {
  constexpr Duration kUsualAhead = seconds(60);
  if (spec.signal.number == 0) return {};
  const Duration ahead = spec.signal.ahead.us > 0 ? spec.signal.ahead : kUsualAhead;
  return std::max(spec.time - ahead, Duration{});
}

std::vector<std::string> warnings(const JobSpec& spec) {
  std::vector<std::string> found;
  if (spec.grace < spec.signal.ahead)
    found.push_back(fmt::format(
        "a grace of {} is shorter than the {} of {}: the job may be ended before it has saved",
        format(spec.grace), format(spec.signal.ahead), format(spec.signal)));
  if (spec.signal.ahead.us > 0 && spec.time.us > 0 && asked_after(spec).us == 0)
    found.push_back(
        fmt::format("{} cannot come {} before a limit of {}: it comes when the limit is reached",
                    format(spec.signal), format(spec.signal.ahead), format(spec.time)));
  if (spec.runs_once && spec.workers > 1 && spec.script.find("srun") == std::string::npos)
    found.push_back(fmt::format(
        "a script with #SBATCH lines runs once, and this one has no srun to start its {} tasks; "
        "with #TRAINYARD lines alone every worker runs the script",
        spec.workers));
  if (spec.grace.us == 0 && spec.signal.number != 0)
    found.push_back(
        fmt::format("with a grace of 0 there is no time to act on {}", format(spec.signal)));
  return found;
}

}  // namespace trainyard
