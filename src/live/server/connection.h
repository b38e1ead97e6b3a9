// The socket of one client's connection, encrypted or not. Used by one thread. Nothing in it waits
// without a deadline.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "live/server/tls.h"
#include "live/system/files.h"

namespace trainyard {

class Connection {
 public:
  enum class Failure : std::uint8_t { none, timed_out, gone };

  Connection(Descriptor socket, TlsSession tls)
      : socket_(std::move(socket)), tls_(std::move(tls)) {}

  /// The TLS handshake, if there is one to do. Deadlines are of the steady clock.
  [[nodiscard]] bool begin(Time deadline);
  /// What has come, at least a byte; empty if nothing does, and failure() says why. Valid until the
  /// next call.
  [[nodiscard]] std::string_view receive(Time deadline);
  /// Sends some of it, and returns how much; 0 if nothing can be sent, and failure() says why.
  [[nodiscard]] std::size_t send(std::string_view bytes, Time deadline);
  /// Ends it. `drains`: reads what the client still sends, for a moment, so that it can read the
  /// last answer.
  void finish(bool drains);

  [[nodiscard]] Failure failure() const { return failure_; }
  /// True if nobody is there to read any more.
  [[nodiscard]] bool hung_up() const;
  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  /// Waits until the socket is ready for `events`; false at the deadline.
  bool wait(short events, Time deadline);
  /// What to do after a call of OpenSSL that did not succeed: wait and go on, or give up.
  bool wait_for_tls(int result, Time deadline);
  bool give_up(Failure why);

  Descriptor socket_;
  TlsSession tls_;
  std::array<char, 8192> buffer_{};
  Failure failure_ = Failure::none;
};

/// What the steady clock shows.
Time steady_now();

}  // namespace trainyard
