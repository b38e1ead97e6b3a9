// No byte that a user wrote is gone unless an option said so (audit.h, 8). What jobs write is in
// the memory world; this looks at all of it after every step, from outside:
//
//  1. Checkpoints are erased only with the option for it, and when they are older than it says;
//     output only when it is older than its option says. Age is time that a daemon was up since the
//     job's last run ended.
//  2. Nothing of a job that may still run is erased.
//  3. Nothing is erased while the wall clock is days away from where an operator last accepted it.
//  4. In a day of up time no more jobs lose something than two days of a daemon's own may.
//  5. Everything else that was written is there, as it was.
//  6. A daemon never counts more lived time than it was up.
#pragma once

#include <map>
#include <string>

#include "clients.h"
#include "machine.h"

namespace trainyard {

class WrittenAudit {
 public:
  WrittenAudit(SimulatedMachine& machine, const Clients& clients, SchedulingOptions options)
      : machine_(machine), clients_(clients), options_(std::move(options)) {}

  /// Returns what does not hold; empty if all does.
  [[nodiscard]] std::string look();

 private:
  using Erasure = MemoryWorld::Erasure;
  std::string look_at(const Erasure& erasure);
  std::string look_at_rate(const Erasure& last) const;
  std::string look_at_bytes();
  [[nodiscard]] Time last_end(JobNumber job) const;
  [[nodiscard]] bool is_erased(JobNumber job, bool is_checkpoints) const;

  SimulatedMachine& machine_;
  const Clients& clients_;
  SchedulingOptions options_;
  std::vector<Erasure> erasures_;  // that were looked at
  std::vector<MemoryWorld::Seen> runs_;
  std::map<RunId, std::string> output_;  // as it was last seen
  std::map<JobNumber, std::string> checkpoints_;
};

}  // namespace trainyard
