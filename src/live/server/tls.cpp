#include "live/server/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <array>

#include "live/system/private_file.h"

namespace trainyard {
namespace {

std::string last_problem() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

Expected<std::unique_ptr<EVP_PKEY, FreeKey>> read_key(const std::string& path) {
  constexpr std::size_t kMostBytes = 1 << 20;
  auto text = read_private_file(path, kMostBytes, true);
  if (!text) return tl::make_unexpected(text.error());
  if (!text->has_value()) return fail("{}: there is no such file", path);
  BIO* memory = BIO_new_mem_buf((*text)->data(), static_cast<int>((*text)->size()));
  // An empty pass phrase: nobody is there to be asked for one.
  std::unique_ptr<EVP_PKEY, FreeKey> key(
      PEM_read_bio_PrivateKey(memory, nullptr, nullptr, const_cast<char*>("")));
  BIO_free(memory);
  OPENSSL_cleanse((*text)->data(), (*text)->size());
  if (!key)
    return fail("{}: is not a private key in PEM without a pass phrase: {}", path, last_problem());
  return key;
}

/// Allows what keeps old connections secret if the key becomes known later (ephemeral key exchange)
/// and cannot be changed on the way (authenticated encryption), and nothing else. Sessions are not
/// resumed: the key that tickets are encrypted with would live as long as the daemon, and decrypt
/// all that it was used for.
bool restrict(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1 &&
         SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL") == 1 &&
         SSL_CTX_set_ciphersuites(context,
                                  "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:"
                                  "TLS_AES_128_GCM_SHA256") == 1 &&
         SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1;
}

}  // namespace

void FreeSsl::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

Expected<TlsContext> TlsContext::load(const std::string& certificate, const std::string& key) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return fail("TLS: {}", last_problem());
  if (!restrict(context.get())) return fail("TLS: {}", last_problem());
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate.c_str()) != 1)
    return fail("{}: is not a certificate in PEM that can be read: {}", certificate,
                last_problem());
  const auto private_key = read_key(key);
  if (!private_key) return tl::make_unexpected(private_key.error());
  if (SSL_CTX_use_PrivateKey(context.get(), private_key->get()) != 1)
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
