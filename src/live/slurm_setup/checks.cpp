#include "live/slurm_setup/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace trainyard {
namespace {

using Kind = SlurmFinding::Kind;

/// Node lists that are longer are not compared with others.
constexpr std::size_t kMostNodes = 100'000;
/// Trainyard polls more often, but slurmctld may be away in between.
constexpr int kShortestJobAge = 60;

class Checker {
 public:
  Checker(const SlurmConf* conf, std::string_view partition)
      : conf_(conf),
        name_(partition),
        partition_(conf == nullptr ? nullptr : conf->partition(partition)) {}

  std::vector<SlurmFinding> check() {
    check_needed();
    check_partition();
    if (conf_ != nullptr) check_harmful();
    check_advisable();
    return std::move(found_);
  }

 private:
  [[nodiscard]] const SlurmConf::Setting* setting(std::string_view name) const {
    return conf_ == nullptr ? nullptr : conf_->find(name);
  }
  /// Of the partition, or else of all.
  [[nodiscard]] const SlurmConf::Setting* narrowest(std::string_view name) const {
    const auto* own = partition_ == nullptr ? nullptr : partition_->find(name);
    return own == nullptr ? setting(name) : own;
  }
  [[nodiscard]] std::string value(std::string_view name) const {
    const auto* found = narrowest(name);
    return found == nullptr ? "" : found->value;
  }

  /// NAME has `word` in its list; else it is `kind`.
  void want(Kind kind, std::string_view name, std::string_view word, std::string_view why) {
    const auto* found = setting(name);
    const bool is_good = found != nullptr && has_word(found->value, word.substr(0, word.find('=')));
    const bool goes_along = found != nullptr && !found->value.empty() && !is_type(name);
    const std::string text = is_good || !goes_along
                                 ? fmt::format("{}={}", name, is_good ? found->value : word)
                                 : fmt::format("{}={},{}", name, found->value, word);
    found_.push_back(
        {is_good ? Kind::good : kind, found == nullptr ? 0 : found->line, text, std::string(why)});
  }
  /// Takes one word, no list.
  static bool is_type(std::string_view name) {
    return name.ends_with("Type") || name == "TopologyPlugin";
  }

  void harmful(const SlurmConf::Setting& at, std::string why) {
    found_.push_back(
        {Kind::harmful, at.line, fmt::format("{}={}", at.name, at.value), std::move(why)});
  }

  void check_needed() {
    want(Kind::missing, "JobSubmitPlugins", "lua",
         "the script holds what is submitted to the partition; without it Slurm starts the jobs "
         "itself");
    want(Kind::missing, "SelectType", "select/cons_tres",
         "gives out single GPUs; with select/linear a job takes whole nodes");
    want(Kind::missing, "GresTypes", "gpu",
         "Slurm counts GPUs, which every node line has as Gres=gpu:N; their kind is its Feature");
    const bool counts_memory =
        conf_ == nullptr || value("SelectTypeParameters").find("Memory") != std::string::npos;
    const bool has_default = std::ranges::any_of(
        std::initializer_list<std::string_view>{"DefMemPerGPU", "DefMemPerCPU", "DefMemPerNode"},
        [&](std::string_view name) { return narrowest(name) != nullptr; });
    if (counts_memory && !has_default)
      found_.push_back({Kind::missing, 0, "DefMemPerGPU=16000",
                        "where memory is counted, a job that names none takes all of its node's; "
                        "the number is of MB, choose yours"});
  }

  void check_partition() {
    if (partition_ != nullptr) {
      found_.push_back({Kind::good, partition_->line, fmt::format("PartitionName={}", name_),
                        "the partition that Trainyard steers"});
      return;
    }
    found_.push_back({Kind::missing, 0,
                      fmt::format("PartitionName={} Nodes=NODES MaxTime=INFINITE State=UP "
                                  "PreemptMode=OFF",
                                  name_),
                      "the partition that Trainyard steers, of nodes that no other partition has"});
  }

  void check_harmful() {
    check_preemption();
    check_sharing();
    if (const auto* at = setting("JobRequeue"); at != nullptr && at->value == "0")
      harmful(*at, "a job that is paused has to be queued again: set it to 1");
    check_job_age();
    const auto* parameters = setting("SchedulerParameters");
    if (parameters != nullptr &&
        (has_word(parameters->value, "defer") || has_word(parameters->value, "defer_batch")))
      harmful(
          *parameters,
          "with defer a released job waits up to a minute for Slurm's next round: leave it out");
    const auto* controller = setting("SlurmctldParameters");
    if (controller != nullptr && has_word(controller->value, "enable_user_top"))
      harmful(*controller,
              "users change priorities, and with them what is held: leave enable_user_top out");
    check_reports();
  }

  /// A job tells its progress by `scontrol update` of its comment, every 10 s.
  void check_reports() {
    const auto* controller = setting("SlurmctldParameters");
    if (controller != nullptr && has_word(controller->value, "rl_enable"))
      harmful(*controller,
              "jobs tell their progress with a call of their user's every 10 s each, and by itself "
              "Slurm takes 2 a second: set rl_refill_rate to a tenth of the jobs that a user runs "
              "at a time, or leave rl_enable out");
    const auto* plugins = setting("JobSubmitPlugins");
    if (plugins == nullptr || same_word(plugins->value, "lua")) return;
    found_.push_back(
        {Kind::advice, plugins->line, fmt::format("{}={}", plugins->name, plugins->value),
         "jobs tell their progress in their comment while they run: see that no plugin "
         "but lua refuses that (`scontrol update JobId=N Comment=...` by its user)"});
  }

  void check_preemption() {
    const auto* type = setting("PreemptType");
    if (type == nullptr || same_word(type->value, "preempt/none")) return;
    if (same_word(value("PreemptMode"), "OFF")) return;
    harmful(*type,
            fmt::format("Slurm would pause jobs behind Trainyard's back: write PreemptMode=OFF "
                        "into the line of partition {}",
                        name_));
  }

  void check_job_age() {
    const auto* age = setting("MinJobAge");
    if (age == nullptr) return;
    int seconds = 0;
    std::from_chars(age->value.data(), age->value.data() + age->value.size(), seconds);
    if (seconds > 0 && seconds < kShortestJobAge)
      harmful(*age,
              fmt::format("how a job ended is forgotten after that; keep it for {} s at least",
                          kShortestJobAge));
  }

  /// Of GPUs, cores and nodes with others.
  void check_sharing() {
    if (partition_ == nullptr) return;
    const auto* shared = partition_->find("OverSubscribe");
    if (shared != nullptr && !same_word(shared->value, "NO") && !same_word(shared->value, "YES"))
      harmful(*shared, "nodes are given out whole, or several times over: write OverSubscribe=NO");
    for (const SlurmConf::Partition& other : conf_->partitions())
      if (other.name != name_ && overlap(*partition_, other))
        found_.push_back({Kind::harmful, other.line, fmt::format("PartitionName={}", other.name),
                          fmt::format("it has nodes of partition {}, where its jobs take GPUs that "
                                      "Trainyard counts on: give it nodes of its own",
                                      name_)});
  }

  static bool overlap(const SlurmConf::Partition& a, const SlurmConf::Partition& b) {
    const auto* of_a = a.find("Nodes");
    const auto* of_b = b.find("Nodes");
    if (of_a == nullptr || of_b == nullptr) return false;
    if (same_word(of_a->value, "ALL") || same_word(of_b->value, "ALL")) return true;
    auto names = expand_node_names(of_a->value, kMostNodes);
    auto others = expand_node_names(of_b->value, kMostNodes);
    if (!names || !others) return false;
    std::ranges::sort(*names);
    return std::ranges::any_of(
        *others, [&](const std::string& one) { return std::ranges::binary_search(*names, one); });
  }

  void check_advisable() {
    want(Kind::advice, "SchedulerParameters", "batch_sched_delay=0",
         "a released job starts within a second; by itself Slurm collects changes for 3 s");
    want(Kind::advice, "TopologyPlugin", "topology/tree",
         "racks are the switches of topology.conf; without it all nodes count as one rack");
    want(Kind::advice, "AccountingStorageTRES", "gres/gpu",
         "sacct then tells how many GPUs a job had, which `trainyard whatif --sacct` replays");
    want(Kind::advice, "AccountingStoreFlags", "job_comment",
         "sacct then keeps comments, and with them the classes and models of jobs");
  }

  const SlurmConf* conf_;
  std::string name_;
  const SlurmConf::Partition* partition_;
  std::vector<SlurmFinding> found_;
};

}  // namespace

std::string_view name(SlurmFinding::Kind kind) {
  switch (kind) {
    case Kind::good:
      return "good";
    case Kind::missing:
      return "missing";
    case Kind::harmful:
      return "harmful";
    case Kind::advice:
      return "advice";
  }
  return "";
}

std::vector<SlurmFinding> check_slurm_conf(const SlurmConf* conf, std::string_view partition) {
  return Checker(conf, partition).check();
}

}  // namespace trainyard
