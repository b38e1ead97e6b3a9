#include "live/server/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>

namespace trainyard {
namespace {

std::string last_problem() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

}  // namespace

void FreeSsl::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

Expected<TlsContext> TlsContext::load(const std::string& certificate, const std::string& key) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return fail("TLS: {}", last_problem());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE);
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1)
    return fail("{}: is not a certificate in PEM that can be read: {}", certificate,
                last_problem());
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail("{}: is not the key of {}: {}", key, certificate, last_problem());
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return fail("{}: is not the key of {}: {}", key, certificate, last_problem());
  return TlsContext(std::move(context));
}

TlsSession TlsContext::session(int socket) const {
  TlsSession ssl(SSL_new(context_.get()));
  if (ssl && SSL_set_fd(ssl.get(), socket) != 1) ssl.reset();
  return ssl;
}

}  // namespace trainyard
