#include "live/supervisor/run_plan.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace trainyard {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json as_json(const StopOrder& order) {
  return {{"signal", order.signal},
          {"leader_only", order.leader_only},
          {"grace_ms", order.grace.us / 1000},
          {"kill_wait_ms", order.kill_wait.us / 1000}};
}

StopOrder stop_order_from(const json& value) {
  return {.signal = value.at("signal").get<int>(),
          .leader_only = value.at("leader_only").get<bool>(),
          .grace = microseconds(1000) * value.at("grace_ms").get<std::int64_t>(),
          .kill_wait = microseconds(1000) * value.at("kill_wait_ms").get<std::int64_t>()};
}

json as_json(const CgroupPlaces& places) {
  return {{"unified", places.unified},
          {"cpu", places.cpu},
          {"memory", places.memory},
          {"pids", places.pids},
          {"devices", places.devices},
          {"unified_cpu", places.unified_cpu},
          {"unified_memory", places.unified_memory},
          {"unified_pids", places.unified_pids},
          {"unified_devices", places.unified_devices}};
}

CgroupPlaces cgroup_places_from(const json& value) {
  return {.unified = value.at("unified").get<std::string>(),
          .cpu = value.at("cpu").get<std::string>(),
          .memory = value.at("memory").get<std::string>(),
          .pids = value.at("pids").get<std::string>(),
          .devices = value.value("devices", ""),  // older daemons did not write it
          .unified_cpu = value.at("unified_cpu").get<bool>(),
          .unified_memory = value.at("unified_memory").get<bool>(),
          .unified_pids = value.at("unified_pids").get<bool>(),
          .unified_devices = value.value("unified_devices", false)};
}

json as_json(const std::vector<DeviceRange>& devices) {
  json list = json::array();
  for (const DeviceRange& each : devices) list.push_back({each.major, each.first, each.last});
  return list;
}

std::vector<DeviceRange> devices_from(const json& list) {
  std::vector<DeviceRange> devices;
  for (const json& each : list)
    devices.push_back({each.at(0).get<std::uint32_t>(), each.at(1).get<std::uint32_t>(),
                       each.at(2).get<std::uint32_t>()});
  return devices;
}

template <class T>
void get(const json& from, const char* field, T& to) {
  from.at(field).get_to(to);
}

RunPlan run_plan_from(const json& value) {
  RunPlan plan;
  get(value, "job", plan.job), get(value, "run", plan.run), get(value, "name", plan.name);
  get(value, "state", plan.state), get(value, "host", plan.host);
  plan.runs = value.value("runs", plan.runs);
  plan.checkpoints = value.value("checkpoints", plan.checkpoints);
  get(value, "uid", plan.uid), get(value, "gid", plan.gid), get(value, "groups", plan.groups);
  get(value, "user", plan.user), get(value, "home", plan.home), get(value, "shell", plan.shell);
  get(value, "command", plan.command), get(value, "has_script", plan.has_script);
  get(value, "directory", plan.directory), get(value, "environment", plan.environment);
  get(value, "worker_gpus", plan.per_worker.gpus);
  get(value, "worker_milli_cpus", plan.per_worker.milli_cpus);
  get(value, "worker_memory_mib", plan.per_worker.memory_mib);
  get(value, "gpus", plan.gpus), get(value, "restarts", plan.restarts);
  plan.gpu_names = value.value("gpu_names", plan.gpu_names);
  plan.output = value.value("output", ""), plan.error = value.value("error", "");
  plan.append = value.value("append", false);
  if (value.contains("task")) plan.task = array_task_from_json(value["task"]);
  plan.hides_gpus = value.value("hides_gpus", false);  // older daemons did not write it
  plan.stop = stop_order_from(value.at("stop"));
  // What a later version added may be missing: it may have to take up a run of the one before.
  plan.runs_once = value.value("runs_once", false);
  plan.gpus_per_task = value.value("gpus_per_task", false);
  plan.master_port = value.value("master_port", 0);
  plan.processes = value.value("processes", std::int64_t{0});
  plan.user_processes = value.value("user_processes", std::int64_t{0});
  if (value.contains("denied_devices")) plan.denied_devices = devices_from(value["denied_devices"]);
  plan.output_limit = value.value("output_limit", plan.output_limit);
  plan.ask_after.us = value.value("ask_after_us", std::int64_t{0});
  plan.cgroups = cgroup_places_from(value.at("cgroups"));
  get(value, "cgroup", plan.cgroup);
  return plan;
}

/// These files are ours: one that is torn or of another version is all that can be wrong.
template <class From>
auto parse(std::string_view text, const char* what, From from) -> Expected<decltype(from(json()))> {
  try {
    return from(json::parse(text));
  } catch (const json::exception& error) {
    return fail("not {}: {}", what, error.what());
  }
}

}  // namespace

std::string run_directory(const RunPlan& plan) {
  return fmt::format("{}/{}/{}.{}", plan.state, plan.runs, plan.job, plan.run);
}

UserDirectory job_directory(const std::string& run_directory) {
  return {run_directory, "job"};
}

UserDirectory checkpoint_directory(const RunPlan& plan) {
  return {fmt::format("{}/{}", plan.state, plan.checkpoints), std::to_string(plan.job)};
}

std::string to_json(const RunPlan& plan) {
  return text_of({{"job", plan.job},
                  {"run", plan.run},
                  {"name", plan.name},
                  {"state", plan.state},
                  {"runs", plan.runs},
                  {"checkpoints", plan.checkpoints},
                  {"host", plan.host},
                  {"uid", plan.uid},
                  {"gid", plan.gid},
                  {"groups", plan.groups},
                  {"user", plan.user},
                  {"home", plan.home},
                  {"shell", plan.shell},
                  {"command", plan.command},
                  {"has_script", plan.has_script},
                  {"runs_once", plan.runs_once},
                  {"gpus_per_task", plan.gpus_per_task},
                  {"directory", plan.directory},
                  {"output", plan.output},
                  {"error", plan.error},
                  {"append", plan.append},
                  {"environment", plan.environment},
                  {"worker_gpus", plan.per_worker.gpus},
                  {"worker_milli_cpus", plan.per_worker.milli_cpus},
                  {"worker_memory_mib", plan.per_worker.memory_mib},
                  {"gpus", plan.gpus},
                  {"gpu_names", plan.gpu_names},
                  {"hides_gpus", plan.hides_gpus},
                  {"master_port", plan.master_port},
                  {"processes", plan.processes},
                  {"user_processes", plan.user_processes},
                  {"denied_devices", as_json(plan.denied_devices)},
                  {"restarts", plan.restarts},
                  {"task", to_json(plan.task)},
                  {"stop", as_json(plan.stop)},
                  {"output_limit", plan.output_limit},
                  {"ask_after_us", plan.ask_after.us},
                  {"cgroups", as_json(plan.cgroups)},
                  {"cgroup", plan.cgroup}});
}

std::string to_json(const StopOrder& order) {
  return text_of(as_json(order));
}

std::string to_json(const RunEnd& end) {
  return text_of({{"kind", static_cast<int>(end.kind)},
                  {"status", end.status},
                  {"asked_requeue", end.asked_requeue},
                  {"at_us", end.at.us},
                  {"steady_us", end.steady.us},
                  {"boot", end.boot},
                  {"ran_us", end.ran.us},
                  {"why", end.why},
                  {"was_killed", end.was_killed},
                  {"word", static_cast<int>(end.word.kind)},
                  {"word_why", end.word.why}});
}

Expected<RunPlan> parse_run_plan(std::string_view text) {
  return parse(text, "the description of a run", run_plan_from);
}

Expected<StopOrder> parse_stop_order(std::string_view text) {
  return parse(text, "an order to stop", stop_order_from);
}

Expected<RunEnd> parse_run_end(std::string_view text) {
  return parse(text, "the end of a run", [](const json& value) {
    // What a later version added may be missing, as above.
    return RunEnd{
        .kind = static_cast<RunEnd::Kind>(value.at("kind").get<std::uint8_t>()),
        .status = value.at("status").get<int>(),
        .asked_requeue = value.at("asked_requeue").get<bool>(),
        .at = {value.at("at_us").get<std::int64_t>()},
        .steady = {value.value("steady_us", std::int64_t{0})},
        .boot = value.value("boot", ""),
        .ran = {value.value("ran_us", std::int64_t{0})},
        .why = value.at("why").get<std::string>(),
        .was_killed = value.value("was_killed", false),
        .word = {JobWord::Kind{value.value("word", std::uint8_t{0})}, value.value("word_why", "")}};
  });
}

Time wall_clock_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

}  // namespace trainyard
