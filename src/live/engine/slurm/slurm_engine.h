// Has a Slurm cluster run the jobs (docs/slurm.md). What it does with Slurm's jobs is in
// slurm_runs.h; here it gets a thread of its own, which looks at Slurm several times a second and
// carries out orders as they come, so that the scheduler never waits for slurmctld.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "live/engine/engine.h"
#include "live/engine/slurm/slurm_runs.h"
#include "live/system/files.h"

namespace trainyard {

struct SlurmEngineOptions {
  SlurmRunsOptions runs;
  /// Looks are as frequent as slurmctld can well bear: the slower it answers, the rarer they are.
  Duration least_between_looks = microseconds(100'000);
  Duration least_in_transit = microseconds(50'000);  // ... while a job starts or leaves
  Duration most_between_looks = microseconds(400'000);
  /// False: whoever calls does the work, and poll() looks. For tests.
  bool has_thread = true;
};

class SlurmEngine : public Engine {
 public:
  /// Reads the cluster. `system` must outlive it.
  static Expected<std::unique_ptr<SlurmEngine>> open(System& system,
                                                     std::unique_ptr<SlurmController> slurm,
                                                     SlurmEngineOptions options);
  /// Jobs run on.
  ~SlurmEngine() override;

  [[nodiscard]] const Cluster& cluster() const override { return cluster_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool keeps_time_limits() const override { return true; }
  Expected<void> start(const Launch& launch) override;
  Expected<void> stop(const Stop& stop) override;
  Expected<void> adopt(RunId id) override;
  void call(const std::string& born_as, JobNumber job) override;
  void forget(RunId id) override;
  void end(JobNumber job) override;
  /// Drops what is remembered. Output and checkpoints are files of users' in their own directories,
  /// and stay.
  Expected<void> erase_output(JobNumber job, std::uint32_t runs) override;
  Expected<void> erase_checkpoints(JobNumber /*job*/) override { return {}; }
  [[nodiscard]] int descriptor() const override { return wake_.get(); }
  [[nodiscard]] std::vector<EngineReport> poll() override;
  /// Where Slurm's own plugin for cgroup v2 puts its processes.
  [[nodiscard]] std::vector<std::string> cgroups_of(RunId id, const std::string& machine,
                                                    const std::string& born_as) const override;
  /// Slurm writes it to the job's own files: the error says where.
  [[nodiscard]] Expected<Output> output(RunId id, std::int32_t worker, std::uint64_t offset,
                                        std::size_t limit) const override;

 private:
  using Order = std::function<void(SlurmRuns&)>;

  SlurmEngine(System& system, std::unique_ptr<SlurmController> slurm, SlurmEngineOptions options);
  void order(Order order);
  void work();
  void look();
  void carry_out(std::vector<Order> orders);
  void publish();

  System& system_;
  const SlurmEngineOptions options_;
  std::unique_ptr<SlurmController> slurm_;
  SlurmRuns runs_;                            // the thread's, once it runs
  Time next_look_;                            // the thread's
  Cluster cluster_;                           // as it was last told of
  std::map<JobNumber, std::uint32_t> begun_;  // the highest number of a run
  bool is_open_ = false;                      // the first poll() has been
  Descriptor wake_;

  mutable std::mutex mutex_;  // for all that follows
  std::condition_variable ordered_;
  std::vector<Order> orders_;
  std::vector<EngineReport> reports_;
  std::optional<Cluster> next_cluster_;
  std::map<JobNumber, std::pair<std::string, std::string>> outputs_;  // Slurm's id, and the file
  bool is_ending_ = false;
  std::jthread thread_;
};

}  // namespace trainyard
