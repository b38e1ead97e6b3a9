#include "live/server/http_server.h"

#include <sys/resource.h>

#include "live/server/listener.h"
#include "live/server/sockets.h"
#include "live/server/tokens.h"

namespace trainyard {
namespace {

System& real_system() {
  static RealSystem system;
  return system;
}

class RunningServer : public HttpServer {
 public:
  RunningServer(Service& service, ServerOptions options)
      : options_(std::move(options)),
        system_(options_.system == nullptr ? real_system() : *options_.system),
        tokens_(TokenFile(options_.state_directory)),
        admission_(options_.admission),
        counts_(admission_),
        handler_(
            service, system_, admission_, counts_,
            [this](std::string_view token, Time now) { return tokens_.find(token, now); },
            options_.requests),
        audit_(system_, options_.state_directory),
        log_(system_.log()),
        context_{handler_, options_.session, log_, counts_} {
    handler_.audit_to(audit_);
  }

  Expected<void> begin();
  [[nodiscard]] int tcp_port() const override { return tcp_port_; }

 private:
  Expected<Endpoint> unix_endpoint() const;
  Expected<Endpoint> tcp_endpoint();

  ServerOptions options_;
  System& system_;
  TokenCheck tokens_;
  Admission admission_;
  ServerCounts counts_;
  ServerHandler handler_;
  RequestAudit audit_;
  SeldomLog log_;
  SessionContext context_;
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

Expected<void> RunningServer::begin() {
  raise_file_limit(options_.admission.connections);
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
  listener_ = std::make_unique<Listener>(std::move(endpoints), admission_, context_);
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

}  // namespace

Expected<std::unique_ptr<HttpServer>> HttpServer::start(Service& service, ServerOptions options) {
  auto server = std::make_unique<RunningServer>(service, std::move(options));
  if (auto ok = server->begin(); !ok) return tl::make_unexpected(ok.error());
  return server;
}

}  // namespace trainyard
