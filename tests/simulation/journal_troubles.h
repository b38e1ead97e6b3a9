// What happens to the journal as a file: bits of its rows flip, backups are made of it, and an
// older one is put in its place.
#pragma once

#include <optional>
#include <string>

#include "audit.h"
#include "clients.h"
#include "machine.h"

namespace trainyard {

class JournalTroubles {
 public:
  JournalTroubles(SimulatedMachine& machine, Clients& clients, Audit& audit, std::uint64_t seed)
      : machine_(machine), clients_(clients), audit_(audit), lots_(seed, 31) {}

  // Each returns a line of the trace.
  /// A bit of one row flips, and its checksum stays. The daemon may be down meanwhile.
  std::string damage();
  /// One is made, and checked; it or the daemon may die in it.
  std::string back_up();
  /// The daemon ends, and the journal is what it was when the last backup was made.
  std::string restore();

  /// What does not hold; empty: nothing.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  std::optional<Damage> flip_a_bit(bool daemon_is_down);

  SimulatedMachine& machine_;
  Clients& clients_;
  Audit& audit_;
  Random lots_;
  std::string backup_;  // its bytes; empty: there is none
  Clients::Promises promised_;
  std::set<JobNumber> damaged_;  // in the backup
  std::string wrong_;
};

}  // namespace trainyard
