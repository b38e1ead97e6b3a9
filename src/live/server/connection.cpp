#include "live/server/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace trainyard {

Connection::Connection(Descriptor socket, std::optional<Identity> peer, std::string address,
                       TlsSession tls, const ConnectionLimits& limits)
    : socket_(std::move(socket)),
      peer_(std::move(peer)),
      address_(std::move(address)),
      tls_(std::move(tls)),
      limits_(limits) {}

bool Connection::give_up(Failure why) {
  failure_ = why;
  return false;
}

bool Connection::wait(short events, Clock::time_point deadline) {
  pollfd entry{.fd = socket_.get(), .events = events, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return give_up(Failure::timed_out);
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return give_up(Failure::gone);
  }
}

bool Connection::wait_for_tls(int result, Clock::time_point deadline) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT, deadline);
    default:
      ERR_clear_error();
      return give_up(Failure::gone);
  }
}

bool Connection::begin() {
  if (!tls_) return true;
  const auto deadline = Clock::now() + patience(limits_.head);
  for (;;) {
    ERR_clear_error();
    const int done = SSL_accept(tls_.get());
    if (done == 1) return true;
    if (!wait_for_tls(done, deadline)) return false;
  }
}

bool Connection::fill(Clock::time_point deadline) {
  begin_ = end_ = 0;
  for (;;) {
    if (tls_) {
      ERR_clear_error();
      const int got = SSL_read(tls_.get(), buffer_.data(), static_cast<int>(buffer_.size()));
      if (got > 0) return end_ = static_cast<std::size_t>(got), true;
      if (!wait_for_tls(got, deadline)) return false;
      continue;
    }
    const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got > 0) return end_ = static_cast<std::size_t>(got), true;
    if (got == 0) return give_up(Failure::gone);
    if (errno == EAGAIN) {
      if (!wait(POLLIN, deadline)) return false;
    } else if (errno != EINTR) {
      return give_up(Failure::gone);
    }
  }
}

bool Connection::await_request(bool is_first) {
  head_complete_ = false;
  head_bytes_ = line_bytes_ = 0;
  must_close = answered_ = false;
  if (begin_ == end_ && !fill(Clock::now() + patience(is_first ? limits_.head : limits_.idle)))
    return false;
  head_deadline_ = Clock::now() + patience(limits_.head);
  return true;
}

/// The head ends with the first empty line.
void Connection::watch_head(char c) {
  ++head_bytes_;
  ++line_bytes_;
  if (c == '\n') {
    head_complete_ = line_bytes_ == 2 && previous_ == '\r';
    line_bytes_ = 0;
  }
  previous_ = c;
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (failure_ != Failure::none || head_complete_) return -1;
  std::size_t given = 0;
  while (given < size && !head_complete_) {
    if (head_bytes_ >= limits_.head_bytes) return give_up(Failure::head_too_large), -1;
    if (begin_ == end_) {
      if (given > 0) break;
      if (!fill(head_deadline_)) return -1;
    }
    to[given] = buffer_[begin_++];
    watch_head(to[given++]);
  }
  // A head that trickles in is late even while something of it comes.
  if (!head_complete_ && Clock::now() > head_deadline_) return give_up(Failure::timed_out), -1;
  return static_cast<ssize_t>(given);
}

bool Connection::read_body(std::size_t size, std::string& body) {
  const auto deadline = Clock::now() + limits_.body;
  while (body.size() < size) {
    if (Clock::now() > deadline) return give_up(Failure::timed_out);
    if (begin_ == end_ && !fill(deadline)) return false;
    const std::size_t part = std::min(size - body.size(), end_ - begin_);
    body.append(buffer_.data() + begin_, part);
    begin_ += part;
  }
  return true;
}

ssize_t Connection::write(const char* from, std::size_t size) {
  std::size_t written = 0;
  answered_ = true;
  while (written < size) {
    const auto deadline = Clock::now() + limits_.write;
    if (tls_) {
      ERR_clear_error();
      const auto part = static_cast<int>(std::min<std::size_t>(size - written, 1 << 30));
      const int done = SSL_write(tls_.get(), from + written, part);
      if (done > 0)
        written += static_cast<std::size_t>(done);
      else if (!wait_for_tls(done, deadline))
        return -1;
      continue;
    }
    const ssize_t done =
        ::send(socket_.get(), from + written, size - written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done > 0)
      written += static_cast<std::size_t>(done);
    else if (errno == EAGAIN ? !wait(POLLOUT, deadline) : errno != EINTR)
      return give_up(Failure::gone), -1;
  }
  return static_cast<ssize_t>(written);
}

bool Connection::hung_up() const {
  pollfd entry{.fd = socket_.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Connection::finish() {
  if (tls_ && failure_ == Failure::none) SSL_shutdown(tls_.get());
  ::shutdown(socket_.get(), SHUT_WR);
  if (!must_close && head_complete_) return;
  // Closed over unread bytes, a connection is reset, and the answer may be lost with it.
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  failure_ = Failure::none;
  for (std::size_t dropped = 0; dropped < (8 << 20); dropped += buffer_.size()) {
    if (!wait(POLLIN, deadline)) return;
    if (::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) <= 0) return;
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = address_;
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace trainyard
