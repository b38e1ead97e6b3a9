// The calls of Slurm's library. Its structures and calls change between releases; these are those
// of 22.05. The library ends the process when it cannot read its configuration: so that is tried in
// a process of its own first.
#include "live/engine/slurm/libslurm.h"

#include <grp.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "live/engine/slurm/libslurm_records.h"
#include "live/engine/slurm/tres.h"

namespace trainyard {
namespace {

/// Slurm takes its texts as char*, and changes none of them.
char* as_slurm(const std::string& text) {
  return const_cast<char*>(text.c_str());
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

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ","));
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
