// A FlowKernel by nft and tc, on this machine and in the network namespace of this process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "live/flow_agent/flow_agent.h"
#include "live/flow_agent/resident_nft.h"

namespace trainyard {

class LinuxFlowKernel final : public FlowKernel {
 public:
  /// Makes the table and the queue. Refuses what is not ours: a table of another agent, a queue
  /// that somebody made (unless `takes_over`), a kernel that cannot tell control groups apart.
  static Expected<std::unique_ptr<LinuxFlowKernel>> open(FlowHost host, double floor,
                                                         bool takes_over);
  /// Removes both.
  ~LinuxFlowKernel() override;

  [[nodiscard]] std::optional<std::uint64_t> find_cgroup(const std::string& name) const override;
  Expected<void> mark(const Marks& marks) override;
  Expected<void> keep_floor(double floor) override;
  [[nodiscard]] bool is_alive() override { return nft_.is_alive(); }
  [[nodiscard]] Expected<FlowBytes> bytes();

 private:
  LinuxFlowKernel(FlowHost host, std::optional<CgroupMount> mount)
      : host_(std::move(host)), mount_(std::move(mount)) {}

  const FlowHost host_;
  const std::optional<CgroupMount> mount_;  // none: jobs are marked by user alone
  ResidentNft nft_;
  Marks marks_;
  bool has_queue_ = false;
};

/// Where cgroup v2 is mounted on this machine; none where it is not and jobs may be marked by user.
Expected<std::optional<CgroupMount>> cgroup_mount(const FlowHost& host);
/// The number of a control group there; none if there is no such group.
std::optional<std::uint64_t> find_cgroup(const std::optional<CgroupMount>& mount,
                                         const std::string& name);
/// Makes the table and removes it again: whether this kernel can.
Expected<void> try_table(const FlowHost& host);
/// True if there is a table of an agent's, whoever has it.
bool has_flow_table();
/// Who made the interface's root queue.
Expected<RootQueueFound> look_at_queue(const std::string& interface);
/// Removes our queue, where one was left.
Expected<void> clean_queue(const std::string& interface);

}  // namespace trainyard
