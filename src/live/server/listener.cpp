#include "live/server/listener.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace trainyard {
namespace {

/// The connection that this thread serves. httplib's handlers are told of a request only; what a
/// request says of itself is no way to find out whose it is.
thread_local Connection* t_connection = nullptr;

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

/// An answer in full, after which the connection is closed.
std::string last_words(const Reply& reply) {
  return fmt::format(
      "HTTP/1.1 {} Refused\r\nConnection: close\r\nRetry-After: 1\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      reply.status, reply.body.size(), reply.body);
}

/// Without waiting: the socket is new, so a short text fits into its buffer.
void refuse(int socket) {
  const std::string text =
      last_words(error_reply(503, "unavailable", "too many connections; try again later"));
  std::ignore = ::send(socket, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(socket, SHUT_WR);
}

/// Who is at the other end, for the log.
std::string name_of(const std::optional<Identity>& peer, const std::string& address) {
  return peer ? "user " + peer->user : "address " + address;
}

/// Why no request could be made of what came; `status` is what httplib thinks of it.
Reply failure_reply(Connection::Failure failure, int status) {
  switch (failure) {
    case Connection::Failure::timed_out:
      return error_reply(408, "timeout", "the head of the request took too long to come");
    case Connection::Failure::head_too_large:
      return error_reply(431, "too_large", "the head of the request is too long");
    default:
      return status == 414 ? error_reply(414, "too_large", "the request's path is too long")
                           : error_reply(400, "invalid", "this is not a request in HTTP/1.1");
  }
}

}  // namespace

Listener::Listener(std::vector<Endpoint> endpoints, ListenerLimits limits, Log& log,
                   Answerer answerer)
    : endpoints_(std::move(endpoints)),
      limits_(limits),
      log_(log),
      answerer_(std::move(answerer)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  svr_sock_ = stop_.get();  // httplib ends answers in parts when this is not a socket any more
  set_keep_alive_max_count(1'000'000);
  set_keep_alive_timeout(limits.each.idle.count() / 1000);
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    answer(request, response);
    return HandlerResponse::Handled;
  });
  set_error_handler(Handler([this](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) explain_failure(response);
  }));
}

void Listener::begin() {
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
  svr_sock_ = INVALID_SOCKET;
  const std::lock_guard lock(mutex_);
  for (Connection* connection : live_) ::shutdown(connection->socket(), SHUT_RDWR);
}

std::array<std::uint64_t, 6> Listener::answers() const {
  std::array<std::uint64_t, 6> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = answers_[i];
  return counts;
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
      accept_one(endpoint, std::move(socket), address_of(from));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      log_.write(LogLevel::error,
                 fmt::format("no connection can be accepted: {}", std::strerror(errno)));
      ::poll(&entries[1], 1, 50);  // until somebody leaves
    }
  }
}

void Listener::accept_one(const Endpoint& endpoint, Descriptor socket, std::string address) {
  std::optional<Identity> peer;
  if (endpoint.peer) {
    peer = endpoint.peer(socket.get());
    if (!peer) return;
  } else {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (!admit(peer)) {
    log_.write(LogLevel::warning, fmt::format("a connection from {} is refused: {} are open",
                                              name_of(peer, address), open_.load()));
    if (!endpoint.tls) refuse(socket.get());
    return;
  }
  TlsSession tls;
  if (endpoint.tls && !(tls = endpoint.tls->session(socket.get()))) return leave(peer);
  auto connection = std::make_shared<Connection>(std::move(socket), peer, std::move(address),
                                                 std::move(tls), limits_.each);
  const bool runs = threads_.run([this, connection, peer] {
    enter(*connection);
    serve(*connection);
    leave(*connection);
  });
  if (runs) return;
  log_.write(LogLevel::error, fmt::format("a connection from {} is refused: there is no thread",
                                          name_of(peer, connection->address())));
  refuse(connection->socket());
  leave(peer);
}

bool Listener::admit(const std::optional<Identity>& peer) {
  const bool is_operator = peer && peer->role == Role::operator_;
  const std::lock_guard lock(mutex_);
  const bool is_full = open_ >= limits_.connections - (is_operator ? 0 : limits_.reserved);
  // Who has shown nothing makes room: a caller with a token has shown it before its turn comes.
  const bool gives_way = strangers_.size() >= limits_.strangers || (is_full && !peer);
  if (!peer && gives_way && !strangers_.empty()) {
    ::shutdown(strangers_.front()->socket(), SHUT_RDWR);
    strangers_.pop_front();
  } else if (is_full) {
    return false;
  }
  if (peer) {
    std::size_t& held = held_[peer->uid];
    // Who operates the daemon may use all of it.
    if (!is_operator && held >= limits_.of_one_user) return false;
    ++held;
  }
  ++open_;
  return true;
}

void Listener::leave(const std::optional<Identity>& peer) {
  const std::lock_guard lock(mutex_);
  --open_;
  if (!peer) return;
  const auto held = held_.find(peer->uid);
  if (--held->second == 0) held_.erase(held);
}

void Listener::enter(Connection& connection) {
  const std::lock_guard lock(mutex_);
  live_.insert(&connection);
  if (!connection.peer()) strangers_.push_back(&connection);
}

void Listener::leave(Connection& connection) {
  {
    const std::lock_guard lock(mutex_);
    live_.erase(&connection);
    recognised_.erase(&connection);
    std::erase(strangers_, &connection);
  }
  leave(connection.peer());
}

bool Listener::recognise(Connection& connection) {
  const std::lock_guard lock(mutex_);
  if (recognised_.contains(&connection)) return true;
  const bool is_operator = connection.shown()->role == Role::operator_;
  if (!is_operator && recognised_.size() >= limits_.of_tcp) return false;
  std::erase(strangers_, &connection);
  recognised_.insert(&connection);
  return true;
}

void Listener::serve(Connection& connection) {
  t_connection = &connection;
  const auto prepare = [](httplib::Request& request) {
    request.ranges.clear();  // thousands of them may be asked for, of which each costs a copy
    request.headers.erase("Accept-Encoding");  // a compressed stream would wait to be worth it
  };
  const bool is_open = connection.begin();
  if (!is_open)
    log_.write(LogLevel::warning,
               fmt::format("TLS could not be agreed on with address {}", connection.address()));
  bool is_first = true;
  while (is_open && !stopping_ && connection.await_request(is_first)) {
    is_first = false;
    bool closed = false;
    if (!process_request(connection, stopping_, closed, prepare)) {
      explain_silence(connection);
      break;
    }
    if (closed || connection.must_close || connection.failure() != Connection::Failure::none) break;
  }
  connection.finish();
  t_connection = nullptr;
}

void Listener::answer(const httplib::Request& request, httplib::Response& response) {
  Reply reply;
  try {
    reply = answerer_(*t_connection, request);
    if (t_connection->shown() && !recognise(*t_connection)) {
      t_connection->must_close = true;
      reply = error_reply(503, "unavailable", "too many connections; try again later");
    }
  } catch (const std::exception& problem) {
    log_.write(LogLevel::error, fmt::format("{} {} could not be handled: {}", request.method,
                                            request.path, problem.what()));
    t_connection->must_close = true;
    reply = error_reply(500, "internal", "the request could not be handled");
  }
  send(std::move(reply), response);
}

void Listener::send(Reply reply, httplib::Response& response) {
  response.status = reply.status;
  ++answers_.at(static_cast<std::size_t>(reply.status / 100));
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  response.set_header("X-Content-Type-Options", "nosniff");
  if (t_connection->must_close) response.set_header("Connection", "close");
  if (!reply.next_part && reply.body.size() <= kSmallAnswer)
    return response.set_content(reply.body, reply.type);
  if (!reply.next_part) {  // not copied, and counted until it is sent
    const auto body = std::make_shared<const std::string>(std::move(reply.body));
    return response.set_content_provider(
        body->size(), reply.type,
        [body, held = std::move(reply.held)](std::size_t offset, std::size_t length,
                                             httplib::DataSink& sink) {
          return sink.write(body->data() + offset, length);
        });
  }
  response.set_chunked_content_provider(
      reply.type, [this, connection = t_connection, next = std::move(reply.next_part),
                   held = std::move(reply.held)](std::size_t, httplib::DataSink& sink) {
        try {
          std::string part;
          const bool more = !stopping_ && !connection->hung_up() && next(part);
          if (!part.empty() && !sink.write(part.data(), part.size())) return false;
          if (!more) sink.done();
          return true;
        } catch (const std::exception& problem) {
          log_.write(LogLevel::error, fmt::format("an answer is cut off: {}", problem.what()));
          return false;
        }
      });
}

/// httplib could not make a request of what came.
void Listener::explain_failure(httplib::Response& response) {
  t_connection->must_close = true;
  response.headers.clear();
  send(failure_reply(t_connection->failure(), response.status), response);
}

/// What breaks off within its first line httplib leaves without an answer.
void Listener::explain_silence(Connection& connection) {
  using Failure = Connection::Failure;
  const Failure failure = connection.failure();
  if (connection.has_answered() ||
      (failure != Failure::timed_out && failure != Failure::head_too_large))
    return;
  const Reply reply = failure_reply(failure, 0);
  ++answers_.at(static_cast<std::size_t>(reply.status / 100));
  const std::string text = last_words(reply);
  connection.write(text.data(), text.size());
}

}  // namespace trainyard
