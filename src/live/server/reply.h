// A request that has been let in, and its answer, without what is particular to HTTP's bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "live/job/identity.h"
#include "live/service/service.h"

namespace trainyard {

struct ServerStatus;

/// What an answer is counted to take of memory until it has been sent, at least.
inline constexpr std::size_t kSmallAnswer = std::size_t{64} << 10;

struct Call {
  Service& service;
  const ServerStatus& server;
  Identity who;
  std::vector<std::string> words;                 // what stands for {...} in the route's path
  std::multimap<std::string, std::string> query;  // decoded, names known to the route
  std::string body{};
  std::string last_event_id;
};

struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  /// An answer that comes in parts: appends the next one, waits a second at most (there may be none
  /// yet), and says whether more may follow. Takes the place of `body`. If it throws, the answer is
  /// cut off such that the client sees it.
  std::function<bool(std::string& part)> next_part{};
  /// The job, machine or policy that was changed, for the audit.
  std::string object{};
  /// The number of jobs beyond the first that the request added or cancelled: each counts as a
  /// request of its own (rate_limit.h).
  std::size_t further_jobs = 0;
  /// Kept until it has been sent: its part of a MemoryBudget.
  std::shared_ptr<void> held{};
};

/// {"error": {"kind": ..., "message": ...}}.
Reply error_reply(int status, std::string_view kind, std::string_view message);
Reply refusal_reply(const Refusal& refusal);

/// What the server counts of itself, for /metrics.
struct ServerStatus {
  virtual ~ServerStatus() = default;
  [[nodiscard]] virtual std::size_t connections() const = 0;
  /// Answers by the hundreds of their status: [2] are those from 200 to 299.
  [[nodiscard]] virtual std::array<std::uint64_t, 6> answers() const = 0;
};

}  // namespace trainyard
