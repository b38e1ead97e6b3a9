// The one seam between the live scheduler and the machine: what time it is, where operators are
// told what happens, and a question before every act that leaves a mark on disk or among processes.
// The real one lets all of them happen;
// a test's refuses some (a full disk), ends the process at the n-th (kill -9), or turns the clock.
//
// Who acts asks first, and asks again when it is done, so that a test can strike on either side:
//
//   if (auto ok = system.before("journal.commit"); !ok) return ok;
//   ... commit ...
//   system.after("journal.commit");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "live/system/log.h"

namespace trainyard {

class System {
 public:
  virtual ~System() = default;

  /// Since the epoch. Somebody may set it, also back.
  [[nodiscard]] virtual Time wall_clock() const = 0;
  /// Never goes back; its zero means nothing.
  [[nodiscard]] virtual Time steady_clock() const = 0;
  /// Which start of the machine its steady clock counts from: within one, times of different
  /// processes can be compared.
  [[nodiscard]] virtual std::string boot() const = 0;

  [[nodiscard]] virtual Log& log() { return silent_log(); }

  /// Of the file system that a path is on: its size, and what we may still write, in bytes.
  struct Disk {
    std::uint64_t size = 0, free = 0;
  };
  [[nodiscard]] virtual Disk disk(const std::string& path) const = 0;

  /// `act` is "part.verb": journal.commit, engine.start, engine.stop, engine.forget ...
  [[nodiscard]] virtual Expected<void> before(std::string_view /*act*/) { return {}; }
  virtual void after(std::string_view /*act*/) {}

  /// Whether the parts of the daemon have threads of their own. Where they have none, as in a
  /// simulation, who made them gives them their turns (Yardmaster::take_turn, Journal::checkpoint).
  [[nodiscard]] virtual bool has_threads() const { return true; }
  /// Without threads: called for as long as somebody waits for an answer, until a turn has been
  /// taken.
  virtual void await_turn() {}
};

/// The machine as it is.
class RealSystem : public System {
 public:
  /// `log` must outlive it.
  explicit RealSystem(Log& log = silent_log()) : log_(log) {}

  [[nodiscard]] Time wall_clock() const override;
  [[nodiscard]] Time steady_clock() const override;
  [[nodiscard]] std::string boot() const override;
  [[nodiscard]] Log& log() override { return log_; }
  [[nodiscard]] Disk disk(const std::string& path) const override;

 private:
  Log& log_;
};

}  // namespace trainyard
