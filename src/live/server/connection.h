// One client's connection: bytes of requests in, bytes of answers out, encrypted or not. Used by
// one thread. Nothing in it waits without a deadline: a request's head must have come whole within
// one time and its body within another, whatever trickles in, and an answer must be taken.
//
// It watches the head pass by (what is read through httplib::Stream is the head, and only that) so
// that neither its length nor its time is without bound. The body is read by read_body, never by
// httplib.
#pragma once

#include <httplib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "live/job/identity.h"
#include "live/server/tls.h"
#include "live/system/files.h"

namespace trainyard {

struct ConnectionLimits {
  std::chrono::milliseconds idle{30'000};   // between two requests
  std::chrono::milliseconds head{10'000};   // of a request, from its first byte
  std::chrono::milliseconds body{30'000};   // of a request, from the end of its head
  std::chrono::milliseconds write{30'000};  // without a byte of the answer being taken
  /// Of one who has not shown a token yet, instead of `idle` and `head`.
  std::chrono::milliseconds stranger{5'000};
  std::size_t head_bytes = 32 << 10;
};

class Connection : public httplib::Stream {
 public:
  enum class Failure : std::uint8_t { none, timed_out, head_too_large, gone };

  /// `peer`: who the kernel says is at the other end, for a Unix socket. `address` for others.
  Connection(Descriptor socket, std::optional<Identity> peer, std::string address, TlsSession tls,
             const ConnectionLimits& limits);

  /// The TLS handshake, if there is one to do.
  [[nodiscard]] bool begin();
  /// Whether the first byte of a request has come. The next head begins with it.
  [[nodiscard]] bool await_request(bool is_first);
  /// After the head: the whole body. Else failure() says why not.
  [[nodiscard]] bool read_body(std::size_t size, std::string& body);
  /// Ends it so that the client can still read the last answer.
  void finish();

  [[nodiscard]] Failure failure() const { return failure_; }
  /// Whether anything was written since the last await_request.
  [[nodiscard]] bool has_answered() const { return answered_; }
  [[nodiscard]] const std::optional<Identity>& peer() const { return peer_; }
  [[nodiscard]] const std::string& address() const { return address_; }
  /// Who has shown a token, on a connection without a peer. The last one's role counts.
  void recognise(const Identity& who) { shown_ = who; }
  [[nodiscard]] const std::optional<Identity>& shown() const { return shown_; }
  /// Nobody is there to read any more.
  [[nodiscard]] bool hung_up() const;

  /// Whether the connection ends with the present answer: a body was not read, or may not be.
  bool must_close = false;

  [[nodiscard]] bool is_readable() const override { return failure_ == Failure::none; }
  [[nodiscard]] bool is_writable() const override { return failure_ == Failure::none; }
  ssize_t read(char* to, std::size_t size) override;
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] socket_t socket() const override { return socket_.get(); }

 private:
  using Clock = std::chrono::steady_clock;

  /// For a request's first byte, and for its head.
  [[nodiscard]] std::chrono::milliseconds patience(std::chrono::milliseconds usual) const {
    return peer_ || shown_ ? usual : std::min(usual, limits_.stranger);
  }
  /// Waits until the socket is ready for `events`; false at the deadline.
  bool wait(short events, Clock::time_point deadline);
  /// Fills the buffer with what has come, at least a byte.
  bool fill(Clock::time_point deadline);
  /// What to do after a call of OpenSSL that did not succeed: wait and go on, or give up.
  bool wait_for_tls(int result, Clock::time_point deadline);
  void watch_head(char c);
  bool give_up(Failure why);

  Descriptor socket_;
  std::optional<Identity> peer_;
  std::optional<Identity> shown_;
  std::string address_;
  TlsSession tls_;
  ConnectionLimits limits_;

  std::array<char, 8192> buffer_{};
  std::size_t begin_ = 0, end_ = 0;  // of what is unread in it
  Failure failure_ = Failure::none;
  Clock::time_point head_deadline_;
  std::size_t head_bytes_ = 0;
  std::size_t line_bytes_ = 0;  // of the head's present line
  char previous_ = 0;
  bool head_complete_ = true;
  bool answered_ = false;
};

}  // namespace trainyard
