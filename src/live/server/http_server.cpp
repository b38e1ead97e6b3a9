#include "live/server/http_server.h"

#include <sys/resource.h>

#include <chrono>

#include "live/server/memory_budget.h"
#include "live/server/query.h"
#include "live/server/rate_limit.h"
#include "live/server/routes.h"
#include "live/server/sockets.h"
#include "live/server/tokens.h"

namespace trainyard {
namespace {

/// Who asks, and in whose name the asking is counted. Nobody: not known.
struct Caller {
  std::optional<Identity> who;
  std::string bucket;
};

class RunningServer : public HttpServer {
 public:
  RunningServer(Service& service, ServerOptions options)
      : service_(service),
        options_(std::move(options)),
        tokens_(TokenFile(options_.state_directory)),
        rate_(options_.burst, options_.per_second),
        memory_(options_.memory, options_.memory / 4),
        refusals_(*options_.log) {}

  Expected<void> begin();
  [[nodiscard]] int tcp_port() const override { return tcp_port_; }

 private:
  Expected<Endpoint> unix_endpoint() const;
  Expected<Endpoint> tcp_endpoint();
  [[nodiscard]] Caller caller_of(const Connection& connection, const httplib::Request& request);
  Reply answer(Connection& connection, const httplib::Request& request);
  std::optional<Reply> let_in(const Route& route, const Caller& caller);
  static std::optional<Reply> refuse_body(const httplib::Request& request, const Route& route,
                                          std::size_t most);
  static std::optional<Reply> read_body(Connection& connection, std::size_t length,
                                        std::string& body);
  void end_when_revoked(const httplib::Request& request, Reply& reply);
  Reply answer_call(const Route& route, const Call& call, std::shared_ptr<MemoryBudget::Part> held);

  Service& service_;
  ServerOptions options_;
  TokenCheck tokens_;
  RateLimit rate_;
  MemoryBudget memory_;
  SeldomLog refusals_;
  int tcp_port_ = 0;
  std::unique_ptr<Listener> listener_;  // last: ends first
};

/// Room for all connections. What is started from here on inherits it.
void raise_file_limit(std::size_t connections) {
  rlimit limit{};
  const rlim_t wanted = connections + 512;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Time steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

/// Of the body that is announced; 0 where none is, none where that is no number.
std::optional<std::size_t> length_of(const httplib::Request& request) {
  if (!request.has_header("Content-Length")) return 0;
  const auto length = parse_digits(request.get_header_value("Content-Length"), 0,
                                   std::numeric_limits<std::int64_t>::max());
  if (!length) return {};
  return static_cast<std::size_t>(*length);
}

/// Empty: none, or more than one.
std::string bearer_of(const httplib::Request& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string header = request.get_header_value("Authorization");
  const bool is_single = request.get_header_value_count("Authorization") == 1;
  return is_single && header.starts_with(kBearer) ? header.substr(kBearer.size()) : "";
}

Reply no_memory(const char* message) {
  Reply reply = error_reply(503, "unavailable", message);
  reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

Expected<void> RunningServer::begin() {
  raise_file_limit(options_.limits.connections);
  std::vector<Endpoint> endpoints;
  if (!options_.tcp.empty()) {
    auto tcp = tcp_endpoint();
    if (!tcp) return tl::make_unexpected(tcp.error());
    tcp_port_ = port_of(tcp->socket.get());
    endpoints.push_back(*std::move(tcp));
  }
  auto local = unix_endpoint();
  if (!local) return tl::make_unexpected(local.error());
  endpoints.push_back(*std::move(local));
  listener_ =
      std::make_unique<Listener>(std::move(endpoints), options_.limits, *options_.log,
                                 [this](Connection& connection, const httplib::Request& request) {
                                   return answer(connection, request);
                                 });
  listener_->begin();
  return {};
}

Expected<Endpoint> RunningServer::unix_endpoint() const {
  auto socket = listen_on_unix(options_.state_directory);
  if (!socket) return tl::make_unexpected(socket.error());
  return Endpoint{*std::move(socket),
                  [daemon = options_.daemon_uid](int peer) { return unix_peer(peer, daemon); },
                  std::nullopt};
}

Expected<Endpoint> RunningServer::tcp_endpoint() {
  const auto address = parse_tcp_address(options_.tcp);
  if (!address) return tl::make_unexpected(address.error());
  const auto tokens = tokens_.count();
  if (!tokens) return tl::make_unexpected(tokens.error());
  if (*tokens == 0)
    return fail("{}: nobody could use it without a token; make one first: trainyard token add NAME",
                options_.tcp);
  Endpoint endpoint;
  if (options_.certificate.empty() != options_.key.empty())
    return fail("a certificate needs its key, and a key its certificate");
  if (!options_.certificate.empty()) {
    auto tls = TlsContext::load(options_.certificate, options_.key);
    if (!tls) return tl::make_unexpected(tls.error());
    endpoint.tls = *std::move(tls);
  } else if (!address->is_loopback) {
    return fail(
        "{}: others could read tokens on the way; give a certificate and its key, or use "
        "127.0.0.1",
        options_.tcp);
  }
  auto socket = listen_on_tcp(*address);
  if (!socket) return tl::make_unexpected(socket.error());
  endpoint.socket = *std::move(socket);
  return endpoint;
}

Caller RunningServer::caller_of(const Connection& connection, const httplib::Request& request) {
  if (connection.peer())
    return {connection.peer(), "uid " + std::to_string(connection.peer()->uid)};
  if (const std::string token = bearer_of(request); !token.empty())
    if (auto bearer = tokens_.find(token))
      return {std::move(bearer->identity), "token " + bearer->token_name};
  return {std::nullopt, "address " + connection.address()};
}

/// What keeps the caller from this route, if anything does.
std::optional<Reply> RunningServer::let_in(const Route& route, const Caller& caller) {
  if (!route.role) return {};
  if (!caller.who) {
    refusals_.write(LogLevel::warning,
                    fmt::format("a request from {} has no valid token", caller.bucket));
    Reply reply = error_reply(401, "unauthorized", "a token is needed: Authorization: Bearer ...");
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    return reply;
  }
  if (caller.who->role < *route.role)
    return error_reply(403, "forbidden",
                       fmt::format("this is for the role {}; yours is {}", name(*route.role),
                                   name(caller.who->role)));
  return {};
}

/// Only of a stated length: where a request ends must never be in doubt.
std::optional<Reply> RunningServer::refuse_body(const httplib::Request& request, const Route& route,
                                                std::size_t most) {
  const std::size_t lengths = request.get_header_value_count("Content-Length");
  if (request.has_header("Transfer-Encoding"))
    return error_reply(411, "invalid", "send the body with its Content-Length");
  if (request.has_header("Content-Encoding"))
    return error_reply(415, "invalid", "send the body without compressing it");
  if (lengths == 0) {
    if (route.body_schema.empty()) return {};
    return error_reply(411, "invalid", "this needs a body, in JSON");
  }
  if (lengths > 1 || !length_of(request))
    return error_reply(400, "invalid", "Content-Length: is not one whole number");
  if (*length_of(request) > most)
    return error_reply(413, "too_large",
                       fmt::format("a body of {} bytes; {} are the most that is taken",
                                   *length_of(request), most));
  return {};
}

std::optional<Reply> RunningServer::read_body(Connection& connection, std::size_t length,
                                              std::string& body) {
  if (connection.read_body(length, body)) return {};
  if (connection.failure() == Connection::Failure::timed_out)
    return error_reply(408, "timeout", "the body of the request took too long to come");
  return error_reply(400, "invalid", "the body of the request ended early");
}

Reply RunningServer::answer(Connection& connection, const httplib::Request& request) {
  // Until the body has been read, what comes next on this connection is not a request.
  connection.must_close =
      request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
  const Caller caller = caller_of(connection, request);
  if (caller.who && !connection.peer()) connection.recognise(*caller.who);
  if (const Duration wait = rate_.take(caller.bucket, steady_now()); wait.us > 0) {
    refusals_.write(LogLevel::warning, fmt::format("{} sends too many requests", caller.bucket));
    Reply reply = error_reply(429, "too_many", "too many requests; wait a moment");
    reply.headers.emplace_back("Retry-After", std::to_string((wait.us + 999'999) / 1'000'000));
    return reply;
  }
  RouteMatch match = match_route(request.method, request.path);
  if (match.route == nullptr && match.allowed.empty())
    return error_reply(404, "not_found", "there is no such path; GET /v1/openapi.json lists them");
  if (match.route == nullptr) {
    Reply reply =
        error_reply(405, "invalid", fmt::format("this path is for {} only", match.allowed));
    reply.headers.emplace_back("Allow", match.allowed);
    return reply;
  }
  const Route& route = *match.route;
  if (auto refused = let_in(route, caller)) return *std::move(refused);
  if (auto ok = check_query(route, request.params); !ok)
    return error_reply(400, "invalid", ok.error().message);
  Call call{service_,
            *listener_,
            caller.who.value_or(Identity{"nobody", 65534, 65534, Role::viewer}),
            std::move(match.words),
            request.params,
            {},
            request.get_header_value("Last-Event-ID")};
  if (auto refused = refuse_body(request, route, options_.body_bytes)) return *std::move(refused);
  const std::size_t length = *length_of(request);
  // The body itself, the JSON that it is read into, and what is made of that.
  auto held = memory_.take({caller.who ? caller.bucket : "nobody",
                            caller.who.has_value() && caller.who->role == Role::operator_},
                           route.memory + 3 * length, options_.memory_patience);
  if (!held)
    return no_memory("your other requests and their answers take too much memory; read them");
  if (auto refused = read_body(connection, length, call.body)) return *std::move(refused);
  connection.must_close = false;
  Reply reply = answer_call(route, call, std::move(held));
  if (reply.next_part && !connection.peer()) end_when_revoked(request, reply);
  return reply;
}

/// An answer that goes on for hours ends with its token's right to it.
void RunningServer::end_when_revoked(const httplib::Request& request, Reply& reply) {
  reply.next_part = [this, token = bearer_of(request),
                     next = std::move(reply.next_part)](std::string& part) {
    return tokens_.find(token).has_value() && next(part);
  };
}

Reply RunningServer::answer_call(const Route& route, const Call& call,
                                 std::shared_ptr<MemoryBudget::Part> held) {
  Reply reply = route.answer(call);
  if (reply.status < 300) reply.type = route.answer_type;
  const std::size_t size = reply.next_part ? route.memory : reply.body.size();
  if (!held->resize(std::max(kSmallAnswer, size)))
    return no_memory("there is no memory for so long an answer now");
  reply.held = std::move(held);
  return reply;
}

}  // namespace

Expected<std::unique_ptr<HttpServer>> HttpServer::start(Service& service, ServerOptions options) {
  auto server = std::make_unique<RunningServer>(service, std::move(options));
  if (auto ok = server->begin(); !ok) return tl::make_unexpected(ok.error());
  return server;
}

}  // namespace trainyard
