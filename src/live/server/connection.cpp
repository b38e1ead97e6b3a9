#include "live/server/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace trainyard {

Time steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

bool Connection::give_up(Failure why) {
  failure_ = why;
  return false;
}

bool Connection::wait(short events, Time deadline) {
  pollfd entry{.fd = socket_.get(), .events = events, .revents = 0};
  for (;;) {
    const std::int64_t left = (deadline - steady_now()).us;
    if (left <= 0) return give_up(Failure::timed_out);
    const int ready =
        ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>((left + 999) / 1000, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return give_up(Failure::gone);
  }
}

bool Connection::wait_for_tls(int result, Time deadline) {
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

bool Connection::begin(Time deadline) {
  if (!tls_) return true;
  for (;;) {
    ERR_clear_error();
    const int done = SSL_accept(tls_.get());
    if (done == 1) return true;
    if (!wait_for_tls(done, deadline)) return false;
  }
}

std::string_view Connection::receive(Time deadline) {
  for (;;) {
    if (tls_) {
      ERR_clear_error();
      const int got = SSL_read(tls_.get(), buffer_.data(), static_cast<int>(buffer_.size()));
      if (got > 0) return {buffer_.data(), static_cast<std::size_t>(got)};
      if (!wait_for_tls(got, deadline)) return {};
      continue;
    }
    const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got > 0) return {buffer_.data(), static_cast<std::size_t>(got)};
    if (got == 0) return give_up(Failure::gone), std::string_view();
    if (errno == EAGAIN) {
      if (!wait(POLLIN, deadline)) return {};
    } else if (errno != EINTR) {
      return give_up(Failure::gone), std::string_view();
    }
  }
}

std::size_t Connection::send(std::string_view bytes, Time deadline) {
  for (;;) {
    if (tls_) {
      ERR_clear_error();
      const auto part = static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 30));
      const int done = SSL_write(tls_.get(), bytes.data(), part);
      if (done > 0) return static_cast<std::size_t>(done);
      if (!wait_for_tls(done, deadline)) return 0;
      continue;
    }
    const ssize_t done =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (done > 0) return static_cast<std::size_t>(done);
    if (errno == EAGAIN ? !wait(POLLOUT, deadline) : errno != EINTR)
      return failure_ == Failure::none ? (give_up(Failure::gone), 0) : 0;
  }
}

bool Connection::hung_up() const {
  pollfd entry{.fd = socket_.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Connection::finish(bool drains) {
  if (tls_ && failure_ == Failure::none) SSL_shutdown(tls_.get());
  ::shutdown(socket_.get(), SHUT_WR);
  if (!drains) return;
  const Time deadline = steady_now() + seconds(1);
  failure_ = Failure::none;
  for (std::size_t dropped = 0; dropped < (8 << 20); dropped += buffer_.size()) {
    if (!wait(POLLIN, deadline)) return;
    if (::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace trainyard
