// The daemon as it is reached: HTTP over the Unix socket STATE/socket, and over TCP where asked
// for. docs/api.md is about what can be asked.
//
// Who asks: over the Unix socket the kernel says it; root and the daemon's own user are operators.
// Over TCP it takes a token (tokens.h), and TLS beyond this machine. Nothing in a request is
// believed about it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "live/server/server_handler.h"
#include "live/service/service.h"
#include "live/system/system.h"

namespace trainyard {

struct ServerOptions {
  std::string state_directory;
  uid_t daemon_uid = ::geteuid();
  std::string tcp;               // "127.0.0.1:8642", "[::1]:8642"; empty: none. Port 0: any.
  std::string certificate, key;  // in PEM; must be given unless `tcp` is of the loopback
  AdmissionLimits admission;
  SessionLimits session;
  HandlerLimits requests;
  System* system = nullptr;  // must outlive the server; null: the machine, and no log
};

class HttpServer {
 public:
  /// From when this returns, requests are answered. `service` must outlive it.
  static Expected<std::unique_ptr<HttpServer>> start(Service& service, ServerOptions options);
  /// Ends all connections.
  virtual ~HttpServer() = default;

  /// 0 without TCP.
  [[nodiscard]] virtual int tcp_port() const = 0;
};

}  // namespace trainyard
