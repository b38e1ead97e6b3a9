#include "live/server/http_session.h"

#include <algorithm>

namespace trainyard {
namespace {

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return status < 300 ? "OK" : "Refused";
  }
}

}  // namespace

HttpSession::HttpSession(SessionContext& context, Peer peer, Time now)
    : context_(context), peer_(std::move(peer)), is_known_(peer_.user.has_value()) {
  await_request(now, context_.limits.head);
}

Time HttpSession::within(Time now, std::chrono::milliseconds patience) const {
  if (!is_known_) patience = std::min(patience, context_.limits.stranger);
  return now + microseconds(std::chrono::microseconds(patience).count());
}

void HttpSession::await_request(Time now, std::chrono::milliseconds patience) {
  phase_ = Phase::head;
  scanner_ = {};
  deadline_ = within(now, patience);
}

void HttpSession::take(std::string_view bytes, Time now) {
  if (is_over_ || phase_ == Phase::answer) return;
  const bool is_begun = phase_ == Phase::body || !input_.empty();
  // One that trickles in is late even while something of it comes.
  if (is_begun && now > deadline_) return expire(now);
  if (!is_begun && !bytes.empty()) deadline_ = within(now, context_.limits.head);
  input_ += bytes;
  advance(now);
}

/// Goes on with what has come, until an answer has to be sent or more has to come.
void HttpSession::advance(Time now) {
  while (!is_over_ && phase_ != Phase::answer)
    if (phase_ == Phase::head ? !take_head(now) : !take_body(now)) return;
}

/// Returns false if more of it has to come.
bool HttpSession::take_head(Time now) {
  if (input_.empty()) return false;
  const std::size_t most = context_.limits.head_bytes;
  const auto state = scanner_.scan(std::string_view(input_).substr(0, most + 1));
  if (state == HeadScanner::State::broken)
    return refuse(400, "invalid", "a line of the head does not end in CRLF", now), true;
  if (scanner_.size() > most)
    return refuse(431, "too_large", "the head of the request is too long", now), true;
  if (state == HeadScanner::State::incomplete) return false;
  auto head = parse_head(std::string_view(input_).substr(0, scanner_.size()));
  input_.erase(0, scanner_.size());
  if (!head) {
    const int status = head.error().status;
    refuse(status, status == 414 || status == 431 ? "too_large" : "invalid", head.error().message,
           now);
    return true;
  }
  head_ = *std::move(head);
  begin_request(now);
  return true;
}

void HttpSession::begin_request(Time now) {
  closes_ = !head_.keeps_alive;
  request_ = {};
  auto failed = guarded([&] {
    request_ = context_.handler.begin(peer_, head_);
    return Reply{.status = 0};
  });
  is_known_ = is_known_ || request_.is_known;
  if (failed.status != 0) request_.reply = std::move(failed);
  if (request_.reply) {
    // Until the body has been read, what comes next on this connection is not a request.
    has_unread_ = head_.body_bytes > 0 || head_.is_chunked;
    closes_ = closes_ || has_unread_;
    return answer(*std::exchange(request_.reply, {}), now);
  }
  phase_ = Phase::body;
  input_.reserve(head_.body_bytes);
  deadline_ = now + microseconds(std::chrono::microseconds(context_.limits.body).count());
  if (head_.expects_continue) head_out_ = "HTTP/1.1 100 Continue\r\n\r\n";
}

/// Returns false if more of it has to come.
bool HttpSession::take_body(Time now) {
  if (input_.size() < head_.body_bytes || !output().empty()) return false;
  std::string body = std::move(input_);
  input_ = body.substr(head_.body_bytes);
  body.resize(head_.body_bytes);
  answer(guarded([&] { return std::exchange(request_, {}).finish(std::move(body)); }), now);
  return true;
}

/// A fault of ours: told to nobody but the log.
Reply HttpSession::guarded(const std::function<Reply()>& make) {
  try {
    return make();
  } catch (const std::exception& problem) {
    context_.log.write(LogLevel::error, fmt::format("{} {} could not be handled: {}", head_.method,
                                                    head_.path, problem.what()));
    closes_ = true;
    return error_reply(500, "internal", "the request could not be handled");
  }
}

void HttpSession::refuse(int status, std::string_view kind, std::string_view message, Time now) {
  closes_ = has_unread_ = true;
  request_ = {};
  answer(error_reply(status, kind, message), now);
}

void HttpSession::answer(Reply reply, Time now) {
  context_.counts.count(reply.status);
  phase_ = Phase::answer;
  if (reply.next_part && head_.is_http10) closes_ = true;
  head_out_ = head_of(reply);
  out_ = 0;
  reply_ = std::move(reply);
  if (head_.method == "HEAD" || reply_->next_part) reply_->body.clear();
  if (head_.method == "HEAD") reply_->next_part = nullptr;
  deadline_ = now + microseconds(std::chrono::microseconds(context_.limits.write).count());
}

std::string HttpSession::head_of(const Reply& reply) const {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", reply.status, reason_of(reply.status));
  for (const auto& [name, value] : reply.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += fmt::format("Content-Type: {}\r\nX-Content-Type-Options: nosniff\r\n", reply.type);
  if (closes_) text += "Connection: close\r\n";
  if (!reply.next_part)
    text += fmt::format("Content-Length: {}\r\n", reply.body.size());
  else if (!head_.is_http10)
    text += "Transfer-Encoding: chunked\r\n";
  return text + "\r\n";
}

std::string_view HttpSession::output() const {
  if (out_ < head_out_.size()) return std::string_view(head_out_).substr(out_);
  if (!reply_) return {};
  return std::string_view(reply_->body).substr(out_ - head_out_.size());
}

void HttpSession::sent(std::size_t bytes, Time now) {
  out_ += bytes;
  if (phase_ == Phase::answer)
    deadline_ = now + microseconds(std::chrono::microseconds(context_.limits.write).count());
  if (!output().empty()) return;
  if (phase_ != Phase::answer) {  // "100 Continue"
    head_out_.clear();
    out_ = 0;
    advance(now);
  } else if (!reply_->next_part) {
    finish_answer(now);
  }
}

void HttpSession::produce(Time now) {
  std::string part;
  bool goes_on = false;
  try {
    goes_on = reply_->next_part(part);
  } catch (const std::exception& problem) {
    context_.log.write(LogLevel::error, fmt::format("an answer is cut off: {}", problem.what()));
    is_over_ = true;  // without its last chunk, so that the client sees it
    return;
  }
  reply_->body.clear();
  out_ = 0;
  if (head_.is_http10)
    head_out_ = std::move(part);
  else
    head_out_ = part.empty() ? "" : fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  if (!goes_on) {
    reply_->next_part = nullptr;
    if (!head_.is_http10) head_out_ += "0\r\n\r\n";
  }
  deadline_ = now + microseconds(std::chrono::microseconds(context_.limits.write).count());
  if (!goes_on && head_out_.empty()) finish_answer(now);
}

void HttpSession::finish_answer(Time now) {
  reply_.reset();  // gives its memory back
  head_out_.clear();
  out_ = 0;
  is_over_ = closes_;
  head_ = {};
  await_request(now, context_.limits.idle);
  if (!input_.empty()) deadline_ = within(now, context_.limits.head);
  advance(now);
}

void HttpSession::expire(Time now) {
  if (phase_ == Phase::answer || (phase_ == Phase::head && input_.empty()))
    is_over_ = true;
  else
    refuse(408, "timeout",
           phase_ == Phase::head ? "the head of the request took too long to come"
                                 : "the body of the request took too long to come",
           now);
}

void HttpSession::end_of_input(Time now) {
  if (phase_ == Phase::body)
    refuse(400, "invalid", "the body of the request ended early", now);
  else
    is_over_ = true;
}

}  // namespace trainyard
