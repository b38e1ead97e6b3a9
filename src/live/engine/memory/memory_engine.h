// An engine that starts nothing: its runs are those of a world in memory. For tests, and for
// simulating the whole daemon; see memory_world.h. Making another one on the same world is what a
// restart of the daemon is.
#pragma once

#include "live/engine/engine.h"
#include "live/engine/memory/memory_world.h"
#include "live/system/system.h"

namespace trainyard {

class MemoryEngine : public Engine {
 public:
  /// One at a time. Both must outlive it.
  MemoryEngine(System& system, MemoryWorld& world);

  [[nodiscard]] const Cluster& cluster() const override { return cluster_; }
  [[nodiscard]] std::int64_t keeps_output() const override { return 1 << 20; }
  [[nodiscard]] std::map<JobNumber, Trace> traces() const override;
  Expected<void> start(const Launch& launch) override;
  Expected<void> stop(const Stop& stop) override;
  Expected<void> adopt(RunId id) override;
  void call(const std::string& born_as, JobNumber job) override;
  void forget(RunId id) override;
  Expected<void> erase_output(JobNumber job, std::uint32_t runs) override;
  Expected<void> erase_checkpoints(JobNumber job) override;
  [[nodiscard]] int descriptor() const override { return world_.wake_; }
  [[nodiscard]] std::vector<EngineReport> poll() override;
  [[nodiscard]] Expected<Output> output(RunId id, std::int32_t worker, std::uint64_t offset,
                                        std::size_t limit) const override;

 private:
  [[nodiscard]] Expected<Launch> in_the_world(Launch launch) const;

  System& system_;
  MemoryWorld& world_;
  Cluster cluster_;  // as it was when it was last told of
};

}  // namespace trainyard
