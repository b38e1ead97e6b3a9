// The one file that sees Slurm's headers. Its structures and calls change between releases; these
// are those of 22.05. The library ends the process when it cannot read its configuration: so that
// is tried in a process of its own first.
#include "live/engine/slurm/libslurm.h"

#include <grp.h>
#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "live/engine/slurm/tres.h"
#include "live/job/job_array.h"

namespace trainyard {
namespace {

std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

/// Slurm takes its texts as char*, and changes none of them.
char* as_slurm(const std::string& text) {
  return const_cast<char*>(text.c_str());
}

Time time_of(time_t seconds_since) {
  return seconds_since <= 0 ? Time{} : Time{} + seconds(seconds_since);
}

SlurmFailure failure() {
  const int code = errno;
  constexpr int kRefusals = 2000, kAfterRefusals = 5000;
  const bool is_standby = code == ESLURM_IN_STANDBY_MODE || code == ESLURM_IN_STANDBY_USE_BACKUP;
  const bool is_refusal = (code >= kRefusals && code < kAfterRefusals) || code == SLURM_ERROR;
  return {.is_away = !is_refusal || is_standby, .message = slurm_strerror(code)};
}

tl::unexpected<SlurmFailure> failed() {
  return tl::make_unexpected(failure());
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

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
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
  switch (job.state_reason) {
    case WAIT_NO_REASON:
      return "";
    case WAIT_PRIORITY:
      return "Priority";
    case WAIT_DEPENDENCY:
      return "Dependency";
    case WAIT_RESOURCES:
      return "Resources";
    case WAIT_HELD:
      return "JobHeldAdmin";
    case WAIT_HELD_USER:
      return "JobHeldUser";
    case WAIT_TIME:
      return "BeginTime";
    case WAIT_NODE_NOT_AVAIL:
      return "ReqNodeNotAvail";
    case WAIT_PART_DOWN:
      return "PartitionDown";
    case WAIT_PART_INACTIVE:
      return "PartitionInactive";
    case WAIT_PART_NODE_LIMIT:
      return "PartitionNodeLimit";
    case WAIT_PART_TIME_LIMIT:
      return "PartitionTimeLimit";
    case WAIT_ARRAY_TASK_LIMIT:
      return "JobArrayTaskLimit";
    default:
      return fmt::format("reason {} of Slurm's", job.state_reason);
  }
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

/// Tasks that wait together are one record of Slurm's. `only`: all but this one are left out.
void add_job(const slurm_job_info_t& info, bool memory_counts, std::vector<SlurmJob>& jobs,
             std::string_view only = {}) {
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

SlurmNode node_of(const node_info_t& node) {
  SlurmNode seen;
  seen.name = text_of(node.name);
  const SlurmGpus gpus = parse_tres_gpus(text_of(node.gres));
  seen.kind = kind_of(node, gpus);
  const auto memory =
      static_cast<std::int64_t>(node.real_memory - std::min(node.real_memory, node.mem_spec_limit));
  seen.capacity = {std::min(gpus.count, kMaxGpusPerMachine), node.cpus_efctv * 1000,
                   static_cast<std::int32_t>(std::min<std::int64_t>(memory, INT32_MAX))};
  set_state(node, seen);
  return seen;
}

// --- The calls -----------------------------------------------------------------------------------

class LibSlurm final : public SlurmController {
 public:
  explicit LibSlurm(std::string partition) : partition_(std::move(partition)) {}
  ~LibSlurm() override { slurm_fini(); }

  /// What holds until slurmctld is reconfigured.
  SlurmAnswer<void> read_configuration() {
    slurm_conf_t* conf = nullptr;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) return failed();
    memory_counts_ = (conf->select_type_param & CR_MEMORY) != 0;
    slurm_free_ctl_conf(conf);
    return read_layout();
  }

  SlurmAnswer<std::optional<std::vector<SlurmJob>>> jobs() override {
    job_info_msg_t* message = nullptr;
    // A dependency that is met is no change to Slurm: so all is read now and then.
    if (const time_t now = ::time(nullptr); now - all_read_ >= 5) jobs_read_ = 0, all_read_ = now;
    if (slurm_load_jobs(jobs_read_, &message, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
      if (errno == SLURM_NO_CHANGE_IN_DATA) return std::nullopt;
      return failed();
    }
    jobs_read_ = message->last_update;
    std::vector<SlurmJob> jobs;
    for (std::uint32_t i = 0; i < message->record_count; ++i)
      add_job(message->job_array[i], memory_counts_, jobs);
    slurm_free_job_info_msg(message);
    return jobs;
  }

  SlurmAnswer<std::optional<SlurmJob>> job(const std::string& id) override {
    job_info_msg_t* message = nullptr;
    const auto number = static_cast<std::uint32_t>(std::strtoul(id.c_str(), nullptr, 10));
    if (slurm_load_job(&message, number, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
      if (errno == ESLURM_INVALID_JOB_ID) return std::nullopt;
      return failed();
    }
    std::vector<SlurmJob> jobs;
    for (std::uint32_t i = 0; i < message->record_count; ++i)
      add_job(message->job_array[i], memory_counts_, jobs, id);
    slurm_free_job_info_msg(message);
    if (jobs.empty()) return std::nullopt;
    return std::move(jobs.front());
  }

  SlurmAnswer<std::optional<std::vector<SlurmNode>>> nodes() override {
    node_info_msg_t* message = nullptr;
    if (slurm_load_node(nodes_read_, &message, SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS) {
      if (errno == SLURM_NO_CHANGE_IN_DATA) return std::nullopt;
      return failed();
    }
    if (auto ok = read_layout(); !ok) {
      slurm_free_node_info_msg(message);
      return tl::make_unexpected(ok.error());
    }
    nodes_read_ = message->last_update;
    std::vector<SlurmNode> nodes;
    for (std::uint32_t i = 0; i < message->record_count; ++i) {
      const node_info_t& node = message->node_array[i];
      if (node.name == nullptr || !ours_.contains(node.name)) continue;
      SlurmNode seen = node_of(node);
      if (seen.capacity.gpus == 0) continue;
      if (const auto rack = racks_.find(seen.name); rack != racks_.end()) seen.rack = rack->second;
      nodes.push_back(std::move(seen));
    }
    slurm_free_node_info_msg(message);
    return nodes;
  }

  SlurmAnswer<void> update(const SlurmUpdate& update) override {
    job_desc_msg_t change;
    slurm_init_job_desc_msg(&change);
    change.job_id_str = as_slurm(update.id);
    std::string list;
    if (update.nodes) {
      list = joined(*update.nodes);
      change.req_nodes = as_slurm(list);
      change.begin_time = ::time(nullptr);
      if (!update.nodes->empty())
        change.min_nodes = change.max_nodes = static_cast<std::uint32_t>(update.nodes->size());
    }
    if (update.mark) change.admin_comment = as_slurm(*update.mark);
    if (update.hold == SlurmUpdate::Hold::hold) {
      change.priority = 0;
      change.alloc_sid = ALLOC_SID_ADMIN_HOLD;
    }
    if (update.hold == SlurmUpdate::Hold::release) {
      change.priority = INFINITE;
      change.alloc_sid = 0;
    }
    job_array_resp_msg_t* response = nullptr;
    const int done = slurm_update_job2(&change, &response);
    return settled(done, response);
  }

  SlurmAnswer<void> requeue_held(const std::string& id) override {
    job_array_resp_msg_t* response = nullptr;
    const int done = slurm_requeue2(as_slurm(id), JOB_REQUEUE_HOLD, &response);
    return settled(done, response);
  }

  SlurmAnswer<void> signal(const std::string& id, int number, SlurmTarget target) override {
    std::uint16_t flags = KILL_JOB_BATCH;
    if (target == SlurmTarget::workers) {
      const auto steps = has_steps(id);
      if (!steps) return tl::make_unexpected(steps.error());
      flags = *steps ? 0 : KILL_FULL_JOB;
    }
    if (slurm_kill_job2(id.c_str(), static_cast<std::uint16_t>(number), flags, nullptr) ==
        SLURM_SUCCESS)
      return {};
    return failed();
  }

  SlurmAnswer<void> cancel(const std::string& id) override {
    if (slurm_kill_job2(id.c_str(), SIGKILL, 0, nullptr) == SLURM_SUCCESS) return {};
    return failed();
  }

  SlurmAnswer<std::string> submit(const SlurmSubmission& job) override {
    job_desc_msg_t wanted;
    slurm_init_job_desc_msg(&wanted);
    std::vector<char*> environment, arguments;
    for (const std::string& variable : job.environment) environment.push_back(as_slurm(variable));
    for (const std::string& word : job.arguments) arguments.push_back(as_slurm(word));
    const std::string gpus = fmt::format("gres:gpu:{}", job.gpus_per_node);
    wanted.user_id = job.owner.uid;
    wanted.group_id = job.owner.gid;
    wanted.name = as_slurm(job.name);
    wanted.partition = as_slurm(partition_);
    wanted.comment = wanted.admin_comment = as_slurm(job.comment);
    wanted.script = as_slurm(job.script);
    wanted.work_dir = as_slurm(job.directory);
    wanted.std_out = job.output.empty() ? nullptr : as_slurm(job.output);
    wanted.std_err = job.error.empty() ? nullptr : as_slurm(job.error);
    wanted.open_mode = job.append ? OPEN_MODE_APPEND : OPEN_MODE_TRUNCATE;
    wanted.argc = static_cast<std::uint32_t>(arguments.size());
    wanted.argv = arguments.data();
    wanted.environment = environment.data();
    wanted.env_size = static_cast<std::uint32_t>(environment.size());
    wanted.min_nodes = wanted.max_nodes = static_cast<std::uint32_t>(job.nodes);
    wanted.num_tasks = static_cast<std::uint32_t>(job.nodes * job.tasks_per_node);
    wanted.ntasks_per_node = static_cast<std::uint16_t>(job.tasks_per_node);
    wanted.cpus_per_task = static_cast<std::uint16_t>(job.cpus_per_task);
    wanted.min_cpus = wanted.num_tasks * wanted.cpus_per_task;
    wanted.pn_min_memory = static_cast<std::uint64_t>(job.memory_per_node_mib);
    wanted.tres_per_node = as_slurm(gpus);
    if (job.time.us > 0)
      wanted.time_limit =
          static_cast<std::uint32_t>((job.time + minutes(1) - microseconds(1)) / minutes(1));
    wanted.priority = 0;
    wanted.requeue = 1;
    submit_response_msg_t* response = nullptr;
    if (slurm_submit_batch_job(&wanted, &response) != SLURM_SUCCESS) return failed();
    const std::string id = std::to_string(response->job_id);
    slurm_free_submit_response_response_msg(response);
    return id;
  }

 private:
  /// Of an array's task the answer may come for each of the records that it touched.
  static SlurmAnswer<void> settled(int done, job_array_resp_msg_t* response) {
    if (done != SLURM_SUCCESS) return failed();
    if (response == nullptr) return {};
    int code = SLURM_SUCCESS;
    for (std::uint32_t i = 0; i < response->job_array_count; ++i)
      if (response->error_code[i] != SLURM_SUCCESS)
        code = static_cast<int>(response->error_code[i]);
    slurm_free_job_array_resp(response);
    if (code == SLURM_SUCCESS) return {};
    errno = code;
    return failed();
  }

  /// Whether srun has started something in it.
  static SlurmAnswer<bool> has_steps(const std::string& id) {
    const std::uint32_t number = slurm_xlate_job_id(as_slurm(id));
    job_step_info_response_msg_t* message = nullptr;
    if (slurm_get_job_steps(0, number, NO_VAL, &message, SHOW_ALL) != SLURM_SUCCESS)
      return failed();
    bool found = false;
    for (std::uint32_t i = 0; i < message->job_step_count; ++i)
      found = found || message->job_steps[i].step_id.step_id <= SLURM_MAX_NORMAL_STEP_ID;
    slurm_free_job_step_info_response_msg(message);
    return found;
  }

  /// Which nodes the partition has, and the switch above each.
  SlurmAnswer<void> read_layout() {
    partition_info_msg_t* partitions = nullptr;
    if (slurm_load_partitions(0, &partitions, SHOW_ALL) != SLURM_SUCCESS) return failed();
    std::set<std::string> ours;
    for (std::uint32_t i = 0; i < partitions->record_count; ++i)
      if (text_of(partitions->partition_array[i].name) == partition_)
        for (std::string& node : hosts_of(partitions->partition_array[i].nodes))
          ours.insert(std::move(node));
    slurm_free_partition_info_msg(partitions);
    if (ours.empty())
      return tl::make_unexpected(SlurmFailure{
          false, fmt::format("there is no partition {} with nodes", quoted(partition_))});
    topo_info_response_msg_t* switches = nullptr;
    if (slurm_load_topo(&switches) != SLURM_SUCCESS) return failed();
    racks_.clear();
    for (std::uint32_t i = 0; i < switches->record_count; ++i) {
      const topo_info_t& one = switches->topo_array[i];
      if (one.level != 0) continue;
      for (const std::string& node : hosts_of(one.nodes)) racks_[node] = text_of(one.name);
    }
    slurm_free_topo_info_msg(switches);
    ours_ = std::move(ours);
    return {};
  }

  std::string partition_;
  time_t jobs_read_ = 0, all_read_ = 0, nodes_read_ = 0;
  bool memory_counts_ = false;
  std::set<std::string> ours_;
  std::map<std::string, std::string> racks_;
};

/// The library ends the process where it cannot begin: so a child tries.
Expected<void> try_to_begin() {
  const char* given = std::getenv("SLURM_CONF");
  const std::string conf = given != nullptr ? given : "/etc/slurm/slurm.conf";
  if (::access(conf.c_str(), R_OK) != 0)
    return fail("{}: Slurm's configuration cannot be read: {}; SLURM_CONF names it", conf,
                std::strerror(errno));
  const pid_t child = ::fork();
  if (child < 0) return fail("no process can be had: {}", std::strerror(errno));
  if (child == 0) {
    slurm_init(nullptr);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) return fail("{}: libslurm cannot begin with it (see above)", conf);
  return {};
}

}  // namespace

std::string libslurm_version() {
  return fmt::format("{}.{:02}.{}", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
                     SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
                     SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
}

Expected<std::unique_ptr<SlurmController>> open_libslurm(const std::string& partition) {
  ::setenv("SLURM_BITSTR_LEN", "0", 1);  // else the tasks of long arrays are cut off
  if (auto ok = try_to_begin(); !ok) return tl::make_unexpected(ok.error());
  slurm_init(nullptr);
  auto slurm = std::make_unique<LibSlurm>(partition);
  if (auto ok = slurm->read_configuration(); !ok)
    return fail("{}: {}", ok.error().is_away ? "slurmctld does not answer" : "Slurm",
                ok.error().message);
  return slurm;
}

}  // namespace trainyard
