#include "live/server/listener.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace trainyard {
namespace {

std::string address_of(const sockaddr_storage& from) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (from.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text.data(),
              text.size());
  if (from.ss_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(from).sin6_addr, text.data(),
              text.size());
  return text.data();
}

/// Without waiting: the socket is new, so a short text fits into its buffer.
void refuse(int socket) {
  const Reply reply = error_reply(503, "unavailable", "too many connections; try again later");
  const std::string text = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      reply.body.size(), reply.body);
  std::ignore = ::send(socket, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(socket, SHUT_WR);
}

/// Who is at the other end, for the log.
std::string name_of(const Peer& peer) {
  return peer.user ? "user " + peer.user->user : "address " + peer.address;
}

}  // namespace

Listener::Listener(std::vector<Endpoint> endpoints, Admission& admission, SessionContext& context)
    : endpoints_(std::move(endpoints)),
      admission_(admission),
      context_(context),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);  // signals are for the daemon's other threads
  for (const Endpoint& endpoint : endpoints_)
    accepting_.emplace_back([this, &endpoint] { accept_all(endpoint); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Listener::~Listener() {
  stopping_ = true;
  const std::uint64_t one = 1;
  std::ignore = ::write(stop_.get(), &one, sizeof one);
  for (std::thread& thread : accepting_) thread.join();
  const std::lock_guard lock(mutex_);
  for (const auto& [id, connection] : live_) ::shutdown(connection->socket(), SHUT_RDWR);
}

void Listener::end(Admission::Id connection) {
  const std::lock_guard lock(mutex_);
  if (const auto found = live_.find(connection); found != live_.end())
    ::shutdown(found->second->socket(), SHUT_RDWR);
}

void Listener::accept_all(const Endpoint& endpoint) {
  std::array<pollfd, 2> entries{pollfd{endpoint.socket.get(), POLLIN, 0},
                                pollfd{stop_.get(), POLLIN, 0}};
  while (!stopping_) {
    if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) return;
    if (stopping_) return;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Descriptor socket(::accept4(endpoint.socket.get(), reinterpret_cast<sockaddr*>(&from), &size,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      accept_one(endpoint, std::move(socket), {0, std::nullopt, address_of(from)});
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      context_.log.write(LogLevel::error,
                         fmt::format("no connection can be accepted: {}", std::strerror(errno)));
      ::poll(&entries[1], 1, 50);  // until somebody leaves
    }
  }
}

void Listener::accept_one(const Endpoint& endpoint, Descriptor socket, Peer peer) {
  if (endpoint.peer) {
    peer.user = endpoint.peer(socket.get());
    if (!peer.user) return;
  } else {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  const Admission::Verdict verdict = admission_.admit(peer.user);
  if (verdict.gives_way) end(*verdict.gives_way);
  if (!verdict.id) {
    context_.log.write(LogLevel::warning,
                       fmt::format("a connection from {} is refused: {} are open", name_of(peer),
                                   admission_.open()));
    if (!endpoint.tls) refuse(socket.get());
    return;
  }
  peer.connection = *verdict.id;
  TlsSession tls;
  if (endpoint.tls && !(tls = endpoint.tls->session(socket.get())))
    return admission_.leave(peer.connection);
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(tls));
  {
    const std::lock_guard lock(mutex_);
    live_[peer.connection] = connection;
  }
  const auto leave = [this, id = peer.connection] {
    {
      const std::lock_guard lock(mutex_);
      live_.erase(id);
    }
    admission_.leave(id);
  };
  const bool runs = threads_.run([this, connection, peer, leave] {
    HttpSession session(context_, peer, steady_now());
    serve(*connection, session);
    leave();
  });
  if (runs) return;
  context_.log.write(
      LogLevel::error,
      fmt::format("a connection from {} is refused: there is no thread", name_of(peer)));
  refuse(connection->socket());
  leave();
}

void Listener::serve(Connection& connection, HttpSession& session) const {
  if (!connection.begin(session.deadline())) {
    context_.log.write(LogLevel::warning, fmt::format("TLS could not be agreed on with address {}",
                                                      session.peer().address));
    return connection.finish(false);
  }
  while (!stopping_ && !session.is_over() && step(connection, session)) {
  }
  connection.finish(session.has_unread());
}

bool Listener::step(Connection& connection, HttpSession& session) const {
  using Failure = Connection::Failure;
  if (const std::string_view bytes = session.output(); !bytes.empty()) {
    const std::size_t sent = connection.send(bytes, session.deadline());
    if (sent > 0) session.sent(sent, steady_now());
    return sent > 0;
  }
  if (session.is_streaming()) {
    if (connection.hung_up()) return false;
    session.produce(steady_now());
    return true;
  }
  const std::string_view bytes = connection.receive(session.deadline());
  if (!bytes.empty())
    session.take(bytes, steady_now());
  else if (connection.failure() == Failure::timed_out)
    session.expire(steady_now());
  else
    session.end_of_input(steady_now());
  return true;
}

}  // namespace trainyard
