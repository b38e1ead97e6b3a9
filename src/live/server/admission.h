// How many connections may be open, and whose. Connections are known by numbers, so that it knows
// nothing of sockets. Safe to call from any thread.
//
// Over TCP a connection is a stranger's until it shows a token. Strangers make room for whoever
// comes after them, the oldest first: a caller with a token has shown it before its turn comes, so
// idle connections keep nobody out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "live/job/identity.h"

namespace trainyard {

struct AdmissionLimits {
  std::size_t connections = 2048;   // when as many are open, a new one is refused
  std::size_t reserved = 16;        // of them, for operators on the Unix socket
  std::size_t of_one_user = 1280;   // of them, by one user of the Unix socket who is no operator
  std::size_t of_tcp = 512;         // of them, by all who have shown a token over TCP
  std::size_t of_one_bearer = 256;  // of these, by one user who is no operator
  std::size_t strangers = 128;      // of them, by all who have shown none: the oldest gives way
};

class Admission {
 public:
  using Id = std::uint64_t;
  explicit Admission(const AdmissionLimits& limits) : limits_(limits) {}

  struct Verdict {
    std::optional<Id> id;         // of the new connection; none if it is refused
    std::optional<Id> gives_way;  // the stranger's connection to be ended for it
  };
  /// `peer` is the user of a Unix socket, none over TCP. A connection counts until leave().
  [[nodiscard]] Verdict admit(const std::optional<Identity>& peer);
  void leave(Id id);
  /// The connection has shown a token. Returns false if there is no room for one more of these.
  [[nodiscard]] bool recognise(Id id, const Identity& bearer);
  [[nodiscard]] std::size_t open() const;

 private:
  AdmissionLimits limits_;
  mutable std::mutex mutex_;
  Id last_ = 0;
  std::map<Id, std::optional<uid_t>> open_;  // with the user, for a Unix socket
  std::map<uid_t, std::size_t> held_;        // by user of the Unix socket
  std::deque<Id> strangers_;                 // over TCP, from the oldest on
  std::map<Id, uid_t> recognised_;           // over TCP, with a token
};

}  // namespace trainyard
