// Which requests are written to the audit (system/audit_log.h), and when. Every request that would
// change something has a line "asked" before it is carried out, so that what was done is there also
// after a crash, and a line "done" or "refused" with what became of it.
//
// Refusals cost a caller nothing, so their lines are bounded: kBurst, then one in ten seconds, for
// each caller. Of one who is refused more often, refusals are counted, and what succeeds is written
// down when it is done.
//
// When the audit cannot be written, as on a full disk, requests are refused, except those that end
// jobs: these are counted, and the next line that can be written says how many are missing.
//
// Safe to call from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "live/server/rate_limit.h"
#include "live/server/reply.h"
#include "live/system/audit_log.h"

namespace trainyard {

class RequestAudit {
 public:
  static constexpr double kBurst = 100, kPerSecond = 0.1;

  RequestAudit(System& system, const std::string& state_directory)
      : system_(system), log_(system, state_directory), refusals_(kBurst, kPerSecond) {}

  /// One request; `caller` is in whose name it is counted.
  struct Asked {
    AuditEntry entry;
    std::string caller;
    std::uint64_t line = 0;  // in which it was asked for; 0 if there is none
  };
  /// Before it is carried out. Fails if it cannot be written down; then only what ends jobs may go
  /// on.
  Expected<void> begin(Asked& asked);
  /// What became of it.
  void end(const Asked& asked, const Reply& reply);

 private:
  [[nodiscard]] bool is_muted(const std::string& caller);
  /// Whether one more refusal of the caller is written down.
  [[nodiscard]] bool takes_refusal(const std::string& caller);
  Expected<std::uint64_t> append(AuditEntry entry);

  System& system_;
  AuditLog log_;
  RateLimit refusals_;
  std::mutex mutex_;
  std::map<std::string, Time> muted_;  // callers, and until when
  std::uint64_t left_out_ = 0;
};

}  // namespace trainyard
