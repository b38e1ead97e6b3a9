#include "live/flow_agent/host_flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "live/job/bounded_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr double kMostSeconds = 3600, kMostFloor = 0.99;
constexpr std::size_t kLongestName = 1024, kMostGroups = 16;

const json* field(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

Expected<std::int64_t> whole(const json& object, const char* name, std::int64_t low,
                             std::int64_t high) {
  const json* value = field(object, name);
  if (value == nullptr || !value->is_number_integer())
    return fail("{}: is not a whole number", name);
  const bool fits = !value->is_number_unsigned() || value->get<std::uint64_t>() <= std::uint64_t{1}
                                                                                       << 62;
  if (!fits || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high)
    return fail("{}: is not from {} to {}", name, low, high);
  return value->get<std::int64_t>();
}

Expected<double> real(const json& object, const char* name, double high) {
  const json* value = field(object, name);
  if (value == nullptr || !value->is_number()) return fail("{}: is not a number", name);
  const double number = value->get<double>();
  if (!std::isfinite(number) || number < 0 || number > high)
    return fail("{}: is not from 0 to {}", name, high);
  return number;
}

Expected<Duration> seconds_of(const json& object, const char* name) {
  const auto s = real(object, name, kMostSeconds);
  if (!s) return tl::make_unexpected(s.error());
  return duration_from_seconds(*s).value_or(Duration{});
}

Expected<HostFlows::Job> job_of(const json& value, std::size_t classes) {
  if (!value.is_object()) return fail("jobs: has something that is no object");
  HostFlows::Job job;
  const auto number = whole(value, "job", 1, std::numeric_limits<std::int64_t>::max() / 4);
  const auto run = whole(value, "run", 0, std::numeric_limits<std::uint32_t>::max());
  const auto flow_class = whole(value, "class", 0, static_cast<std::int64_t>(classes) - 1);
  for (const auto* read : {&number, &run, &flow_class})
    if (!*read) return tl::make_unexpected(read->error());
  job.job = *number;
  job.run = static_cast<std::uint32_t>(*run);
  job.flow_class = static_cast<std::size_t>(*flow_class);
  if (field(value, "uid") != nullptr) {
    const auto user = whole(value, "uid", 0, std::numeric_limits<std::uint32_t>::max() - 1);
    if (!user) return tl::make_unexpected(user.error());
    job.user = static_cast<std::uint32_t>(*user);
  }
  const json* groups = field(value, "cgroups");
  if (groups == nullptr || !groups->is_array() || groups->size() > kMostGroups)
    return fail("cgroups: is not a list of at most {} names", kMostGroups);
  for (const json& group : *groups) {
    if (!group.is_string() || !is_cgroup_name(group.get_ref<const std::string&>()))
      return fail("cgroups: has something that is no name of a control group");
    job.cgroups.push_back(group.get<std::string>());
    if (!is_cgroup_of(job.cgroups.back(), job.job, job.run))
      return fail("cgroups: {} is no control group of job {}", job.cgroups.back(), job.job);
  }
  return job;
}

}  // namespace

bool is_cgroup_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.@:+-/").find(c) != std::string_view::npos;
  };
  if (name.empty() || name.size() > kLongestName || !std::ranges::all_of(name, is_plain))
    return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

bool is_cgroup_of(std::string_view name, std::int64_t job, std::uint32_t run) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view last = name.substr(slash + 1), above = name.substr(0, slash);
  if (last == fmt::format("{}.{}", job, run)) return true;
  const bool is_of_slurm =
      above.ends_with("/slurmstepd.scope") || above.ends_with("_slurmstepd.scope");
  return is_of_slurm && last.starts_with("job_");
}

Expected<HostFlows> parse_host_flows(std::string_view line) {
  const auto value = parse_bounded_json(line);
  if (!value) return tl::make_unexpected(value.error());
  if (!value->is_object()) return fail("is not an object");
  HostFlows flows;
  const json* machine = field(*value, "machine");
  if (machine == nullptr || !machine->is_string()) return fail("machine: is not a text");
  flows.machine = machine->get<std::string>();
  const auto age = seconds_of(*value, "age_s"), valid_for = seconds_of(*value, "valid_for_s");
  for (const auto* read : {&age, &valid_for})
    if (!*read) return tl::make_unexpected(read->error());
  const auto classes = whole(*value, "classes", 1, kMostFlowClasses);
  if (!classes) return tl::make_unexpected(classes.error());
  const auto floor = real(*value, "floor", kMostFloor);
  if (!floor) return tl::make_unexpected(floor.error());
  flows.age = *age, flows.valid_for = *valid_for;
  flows.classes = static_cast<std::size_t>(*classes);
  flows.floor = *floor;
  const json* jobs = field(*value, "jobs");
  if (jobs == nullptr || !jobs->is_array() || jobs->size() > kMostFlowJobs)
    return fail("jobs: is not a list of at most {} jobs", kMostFlowJobs);
  std::set<std::int64_t> numbers;
  for (const json& entry : *jobs) {
    auto job = job_of(entry, flows.classes);
    if (!job) return tl::make_unexpected(job.error());
    if (!numbers.insert(job->job).second) return fail("jobs: has job {} twice", job->job);
    flows.jobs.push_back(*std::move(job));
  }
  return flows;
}

}  // namespace trainyard
