// The daemon's certificate, and the encryption of one connection.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"

using SSL_CTX = struct ssl_ctx_st;
using SSL = struct ssl_st;

namespace trainyard {

struct FreeSsl {
  void operator()(SSL* ssl) const;
};
using TlsSession = std::unique_ptr<SSL, FreeSsl>;

class TlsContext {
 public:
  /// Both in PEM; the certificate may be followed by those that vouch for it. The key must be its
  /// owner's alone (private_file.h). TLS 1.3, or 1.2 with ephemeral keys and authenticated
  /// encryption.
  static Expected<TlsContext> load(const std::string& certificate, const std::string& key);

  /// For a socket that was accepted. Empty when there is no memory.
  [[nodiscard]] TlsSession session(int socket) const;

 private:
  explicit TlsContext(std::shared_ptr<SSL_CTX> context) : context_(std::move(context)) {}
  std::shared_ptr<SSL_CTX> context_;
};

}  // namespace trainyard
