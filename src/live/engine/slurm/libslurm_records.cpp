#include "live/engine/slurm/libslurm_records.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include "base/split.h"
#include "live/engine/slurm/tres.h"
#include "live/job/job_array.h"

// The library has it, and its headers do not.
extern "C" char* slurm_job_reason_string(enum job_state_reason reason);

namespace trainyard {

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

std::vector<std::string> hosts_of(const char* list) {
  std::vector<std::string> hosts;
  if (list == nullptr || *list == '\0') return hosts;
  hostlist_t expanded = slurm_hostlist_create(list);
  if (expanded == nullptr) return hosts;
  while (char* host = slurm_hostlist_shift(expanded)) {
    hosts.emplace_back(host);
    std::free(host);
  }
  slurm_hostlist_destroy(expanded);
  return hosts;
}

namespace {

Time time_of(time_t seconds_since) {
  return seconds_since <= 0 ? Time{} : Time{} + seconds(seconds_since);
}

// --- Jobs ----------------------------------------------------------------------------------------

SlurmState state_of(const slurm_job_info_t& job) {
  switch (job.job_state & JOB_STATE_BASE) {
    case JOB_PENDING:
      return SlurmState::pending;
    case JOB_RUNNING:
      return SlurmState::running;
    case JOB_SUSPENDED:
      return SlurmState::suspended;
    case JOB_COMPLETE:
      return SlurmState::completed;
    case JOB_CANCELLED:
      return SlurmState::cancelled;
    case JOB_TIMEOUT:
      return SlurmState::timeout;
    case JOB_NODE_FAIL:
      return SlurmState::node_fail;
    case JOB_PREEMPTED:
      return SlurmState::preempted;
    case JOB_BOOT_FAIL:
      return SlurmState::boot_fail;
    case JOB_DEADLINE:
      return SlurmState::deadline;
    case JOB_OOM:
      return SlurmState::out_of_memory;
    default:
      return SlurmState::failed;
  }
}

std::string reason_of(const slurm_job_info_t& job) {
  if (job.state_desc != nullptr) return job.state_desc;
  return job.state_reason == WAIT_NO_REASON
             ? ""
             : text_of(slurm_job_reason_string(static_cast<job_state_reason>(job.state_reason)));
}

int exit_status_of(std::uint32_t wait_status) {
  const int status = static_cast<int>(wait_status);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string user_name(uid_t uid) {
  std::vector<char> buffer(16 * 1024);
  passwd entry{};
  passwd* found = nullptr;
  const bool is_known =
      ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return is_known ? std::string(found->pw_name) : std::to_string(uid);
}

std::int32_t known(std::uint32_t number, std::int32_t otherwise) {
  const bool is_set = number != NO_VAL && number != INFINITE && number <= 1'000'000;
  return is_set ? static_cast<std::int32_t>(number) : otherwise;
}

std::int32_t known16(std::uint16_t number) {
  return number == NO_VAL16 || number == INFINITE16 ? 0 : number;
}

/// What our own pin says of nodes is not the user's.
SlurmRequest request_of(const slurm_job_info_t& job, bool memory_counts) {
  SlurmRequest request;
  request.nodes = std::max(known(job.num_nodes, 1), 1);
  request.tasks = std::max(known(job.num_tasks, 1), 1);
  request.tasks_per_node = known16(job.ntasks_per_node);
  request.cpus = std::max({known(job.num_cpus, 1), known16(job.pn_min_cpus) * request.nodes, 1});
  request.memory_per_cpu = (job.pn_min_memory & MEM_PER_CPU) != 0;
  request.memory_mib = static_cast<std::int64_t>(job.pn_min_memory & ~MEM_PER_CPU);
  if (!memory_counts) request.memory_mib = 1;
  request.per_node = parse_tres_gpus(text_of(job.tres_per_node));
  request.per_job = parse_tres_gpus(text_of(job.tres_per_job));
  request.per_task = parse_tres_gpus(text_of(job.tres_per_task));
  request.cpus_per_gpu = parse_tres_gpus(text_of(job.cpus_per_tres)).count;
  request.memory_per_gpu = memory_counts ? parse_tres_gpus(text_of(job.mem_per_tres)).count : 0;
  request.is_exclusive = job.shared == JOB_SHARED_NONE;
  request.features = text_of(job.features);
  request.nodes_excluded = text_of(job.exc_nodes);
  request.nodes_wanted = text_of(job.req_nodes);
  if (job.tres_per_socket != nullptr) request.unknown = "GPUs of a socket (--gpus-per-socket)";
  if (job.resv_name != nullptr) request.unknown = "a reservation (--reservation)";
  if (job.het_job_id != 0) request.unknown = "several components (a heterogeneous job)";
  return request;
}

std::vector<SlurmPlace> places_of(const slurm_job_info_t& job) {
  std::vector<SlurmPlace> places;
  for (std::string& node : hosts_of(job.nodes)) {
    const std::size_t i = places.size();
    std::vector<std::int32_t> gpus;
    if (i < job.gres_detail_cnt) gpus = parse_gpu_numbers(text_of(job.gres_detail_str[i]));
    places.push_back({std::move(node), std::move(gpus)});
  }
  return places;
}

/// With Slurm's default where its user has said nothing.
std::string output_of(const slurm_job_info_t& job) {
  std::array<char, 4096> path{};
  slurm_get_job_stdout(path.data(), static_cast<int>(path.size()),
                       const_cast<slurm_job_info_t*>(&job));
  return path.data();
}

SlurmJob job_of(const slurm_job_info_t& info, bool memory_counts) {
  SlurmJob job;
  job.id = std::to_string(info.job_id);
  job.state = state_of(info);
  job.is_completing = (info.job_state & JOB_COMPLETING) != 0;
  job.is_configuring = (info.job_state & (JOB_CONFIGURING | JOB_POWER_UP_NODE)) != 0;
  job.is_held = info.priority == 0;
  job.is_batch = info.batch_flag != 0;
  job.may_requeue = info.requeue != 0;
  job.reason = reason_of(info);
  job.submitted = time_of(info.submit_time);
  job.eligible = time_of(info.eligible_time);
  job.started = time_of(info.start_time);
  job.ended = time_of(info.end_time);
  job.restarts = info.restart_cnt;
  job.exit_status = exit_status_of(info.exit_code);
  job.owner = {.user = info.user_name != nullptr ? info.user_name : user_name(info.user_id),
               .uid = info.user_id,
               .gid = info.group_id};
  job.name = text_of(info.name);
  job.partition = text_of(info.partition);
  job.comment = text_of(info.comment);
  job.mark = text_of(info.admin_comment);
  job.dependency = text_of(info.dependency);
  job.request = request_of(info, memory_counts);
  if (info.time_limit != INFINITE && info.time_limit != NO_VAL)
    job.time_limit = minutes(info.time_limit);
  job.directory = text_of(info.work_dir);
  job.output = output_of(info);
  if (job.state != SlurmState::pending || job.is_completing) job.places = places_of(info);
  if (info.array_job_id != 0) {
    job.array = std::to_string(info.array_job_id);
    job.at_once = known(info.array_max_tasks, 0);
    if (info.array_task_id != NO_VAL) job.id = fmt::format("{}_{}", job.array, info.array_task_id);
  }
  return job;
}

}  // namespace

void add_job(const slurm_job_info_t& info, bool memory_counts, std::vector<SlurmJob>& jobs,
             std::string_view only) {
  SlurmJob job = job_of(info, memory_counts);
  const auto add = [&](std::string id) {
    if (!only.empty() && id != only) return;
    jobs.push_back(job);
    jobs.back().id = std::move(id);
  };
  const bool is_many = info.array_job_id != 0 && info.array_task_id == NO_VAL;
  if (!is_many) return add(job.id);
  const auto array = parse_job_array(text_of(info.array_task_str));
  if (!array) return;
  for (const std::int32_t task : array->tasks) add(fmt::format("{}_{}", job.array, task));
}

// --- Nodes ---------------------------------------------------------------------------------------

namespace {

void set_state(const node_info_t& node, SlurmNode& seen) {
  using State = MachineReport::State;
  const std::uint32_t base = node.node_state & NODE_STATE_BASE;
  const auto has = [&](std::uint32_t flag) { return (node.node_state & flag) != 0; };
  const auto is = [&](State state, const char* why) {
    seen.state = state;
    seen.why = node.reason != nullptr ? fmt::format("{}: {}", why, node.reason) : why;
  };
  seen.state = State::up;
  if (base == NODE_STATE_DOWN || base == NODE_STATE_ERROR) return is(State::down, "down in Slurm");
  if (has(NODE_STATE_POWERED_DOWN | NODE_STATE_POWERING_DOWN))
    return is(State::closed, "powered down by Slurm");
  if (has(NODE_STATE_DRAIN | NODE_STATE_FAIL)) return is(State::closed, "drained in Slurm");
  if (has(NODE_STATE_MAINT)) return is(State::closed, "in maintenance in Slurm");
  if (has(NODE_STATE_NO_RESPOND)) return is(State::closed, "not responding to Slurm");
  if (has(NODE_STATE_REBOOT_REQUESTED | NODE_STATE_REBOOT_ISSUED | NODE_STATE_INVALID_REG))
    return is(State::closed, "not ready in Slurm");
  if (base == NODE_STATE_UNKNOWN) return is(State::closed, "not known to Slurm yet");
}

/// The type of its GPUs, else the first of its features.
std::string kind_of(const node_info_t& node, const SlurmGpus& gpus) {
  if (!gpus.kind.empty()) return gpus.kind;
  const std::string features = text_of(node.features);
  const std::string first = features.substr(0, features.find(','));
  return first.empty() ? "gpu" : first;
}

}  // namespace

SlurmNode node_of(const node_info_t& node) {
  SlurmNode seen;
  seen.name = text_of(node.name);
  const SlurmGpus gpus = parse_tres_gpus(text_of(node.gres));
  seen.kind = kind_of(node, gpus);
  const std::string active = text_of(node.features_act);
  const std::string features = active.empty() ? text_of(node.features) : active;
  for (const std::string_view feature : split(features, ","))
    if (!feature.empty()) seen.features.emplace_back(feature);
  const auto memory =
      static_cast<std::int64_t>(node.real_memory - std::min(node.real_memory, node.mem_spec_limit));
  seen.capacity = {std::min(gpus.count, kMaxGpusPerMachine), node.cpus_efctv * 1000,
                   static_cast<std::int32_t>(std::min<std::int64_t>(memory, INT32_MAX))};
  set_state(node, seen);
  return seen;
}

}  // namespace trainyard
