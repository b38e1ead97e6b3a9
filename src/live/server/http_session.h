// One client's connection without its socket: bytes of requests in, bytes of answers out, and by
// when each has to come or go. It never waits and reads no clock; the listener does both for a real
// connection, and a simulation for one in memory.
//
// Its owner goes on like this until is_over():
//
//   output() is not empty   send some of it, and say how much with sent()
//   is_streaming()          produce() the next part of the answer
//   else                    take() what comes
//
// and calls expire() when deadline() has passed before any of it could be done.
//
// A request is answered when all of it is there: nothing of one that comes in half has an effect.
// Requests that are sent together are answered one after the other. After one that is not
// understood, or whose body was not taken, the connection ends, because it is not known where the
// next would begin.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "live/job/identity.h"
#include "live/server/admission.h"
#include "live/server/reply.h"
#include "live/server/request_head.h"
#include "live/server/server_counts.h"
#include "live/system/log.h"

namespace trainyard {

struct SessionLimits {
  std::chrono::milliseconds idle{30'000};   // between two requests
  std::chrono::milliseconds head{10'000};   // of a request, from its first byte
  std::chrono::milliseconds body{30'000};   // of a request, from the end of its head
  std::chrono::milliseconds write{30'000};  // without a byte of the answer being taken
  /// Of one who has not shown a token yet, instead of `idle` and `head`.
  std::chrono::milliseconds stranger{5'000};
  std::size_t head_bytes = 32 << 10;
};

/// Who is at the other end of a connection.
struct Peer {
  Admission::Id connection = 0;
  std::optional<Identity> user;  // who the kernel says it is, for a Unix socket
  std::string address;           // for others
};

/// What a request becomes once its head is there: an answer at once, or one for its body.
struct BegunRequest {
  std::optional<Reply> reply{};
  std::function<Reply(std::string body)> finish{};  // unless there is a reply
  bool is_known = false;                            // the client has shown a token
};

/// Answers requests.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  virtual BegunRequest begin(const Peer& peer, const RequestHead& head) = 0;
};

/// What all sessions of a server share.
struct SessionContext {
  RequestHandler& handler;
  SessionLimits limits;
  SeldomLog& log;
  ServerCounts& counts;
};

class HttpSession {
 public:
  HttpSession(SessionContext& context, Peer peer, Time now);

  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] Time deadline() const { return deadline_; }

  /// Only when nothing is to be sent.
  void take(std::string_view bytes, Time now);
  /// The client sends nothing more.
  void end_of_input(Time now);

  [[nodiscard]] std::string_view output() const;
  void sent(std::size_t bytes, Time now);
  [[nodiscard]] bool is_streaming() const {
    return reply_ && reply_->next_part && output().empty();
  }
  /// May wait for a second, as Reply::next_part does.
  void produce(Time now);
  void expire(Time now);
  /// True if bytes of the client may be unread when it is over: closed at once, the connection
  /// would be reset, and the last answer lost.
  [[nodiscard]] bool has_unread() const { return has_unread_; }
  [[nodiscard]] const Peer& peer() const { return peer_; }

 private:
  enum class Phase : std::uint8_t { head, body, answer };

  void advance(Time now);
  bool take_head(Time now);
  bool take_body(Time now);
  void begin_request(Time now);
  void await_request(Time now, std::chrono::milliseconds patience);
  [[nodiscard]] Time within(Time now, std::chrono::milliseconds patience) const;
  /// Answers, and ends the connection after it.
  void refuse(int status, std::string_view kind, std::string_view message, Time now);
  void answer(Reply reply, Time now);
  void finish_answer(Time now);
  [[nodiscard]] std::string head_of(const Reply& reply) const;
  Reply guarded(const std::function<Reply()>& make);

  SessionContext& context_;
  Peer peer_;
  bool is_known_;
  Phase phase_ = Phase::head;
  std::string input_;  // not used yet
  HeadScanner scanner_;
  RequestHead head_;
  BegunRequest request_;
  std::optional<Reply> reply_;
  std::string head_out_;  // goes before the reply's body, and has the parts of one in parts
  std::size_t out_ = 0;   // how much of head_out_ and then of the body is sent
  bool closes_ = false, has_unread_ = false, is_over_ = false;
  Time deadline_;
};

}  // namespace trainyard
