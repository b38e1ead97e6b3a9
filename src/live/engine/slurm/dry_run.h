// A Slurm that is watched and not touched: what would be changed is written to the log, and
// pretended. A job that would have been started is shown as running where it would run, until the
// real one has ended, however Slurm's own scheduler runs it; one that would have been paused is
// shown as waiting. So decisions go on as if they were carried out.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "live/engine/slurm/slurm_controller.h"
#include "live/system/system.h"

namespace trainyard {

class DryRun final : public SlurmController {
 public:
  /// `system` must outlive it.
  DryRun(System& system, std::unique_ptr<SlurmController> slurm)
      : system_(system), slurm_(std::move(slurm)) {}

  SlurmAnswer<std::optional<std::vector<SlurmJob>>> jobs() override;
  SlurmAnswer<std::optional<SlurmJob>> job(const std::string& id) override;
  SlurmAnswer<std::optional<std::vector<SlurmNode>>> nodes() override;
  SlurmAnswer<void> update(const SlurmUpdate& update) override;
  SlurmAnswer<void> requeue_held(const std::string& id) override;
  SlurmAnswer<void> signal(const std::string& id, int number, SlurmTarget target) override;
  SlurmAnswer<void> cancel(const std::string& id) override;
  SlurmAnswer<std::string> submit(const SlurmSubmission& job) override;

 private:
  struct Pretence {
    Time submitted;  // of the job that it is about
    bool is_held = false;
    bool is_decided = false;  // what follows is pretended; else it is as it is
    SlurmState state = SlurmState::pending;
    std::uint32_t restarts = 0;
    Time started;
    std::vector<SlurmPlace> places;
    std::string mark;
  };

  void say(const std::string& what);
  [[nodiscard]] SlurmJob as_pretended(SlurmJob job) const;
  Pretence& pretend(const SlurmJob& job);
  /// ... that its state is another.
  Pretence& decide(const SlurmJob& job, SlurmState state);
  [[nodiscard]] std::vector<SlurmPlace> room_on(const std::vector<std::string>& nodes,
                                                const SlurmJob& job) const;

  System& system_;
  std::unique_ptr<SlurmController> slurm_;
  std::map<std::string, SlurmJob> real_;  // as last read
  std::vector<SlurmNode> nodes_;
  std::map<std::string, Pretence> pretended_;
  bool has_changed_ = false;
};

}  // namespace trainyard
