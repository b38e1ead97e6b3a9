// Access from elsewhere: encrypted, with a token, by our own client and by nobody else's means.
#include "live/server/tls.h"

#include <gmock/gmock.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "live/client/client.h"
#include "live/server/testing.h"
#include "live/server/tokens.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

/// A certificate for 127.0.0.1 that vouches for itself, and its key, as PEM files.
void make_certificate(const std::string& certificate, const std::string& key,
                      EVP_PKEY* pair = EVP_EC_gen("P-256")) {
  X509* x509 = X509_new();
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, pair);
  X509_NAME* name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("127.0.0.1"), -1, -1, 0);
  X509_set_issuer_name(x509, name);
  X509_EXTENSION* alternative =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
  X509_add_ext(x509, alternative, -1);
  X509_sign(x509, pair, EVP_sha256());
  std::FILE* file = std::fopen(certificate.c_str(), "w");
  PEM_write_X509(file, x509);
  std::fclose(file);
  file = std::fopen(key.c_str(), "w");
  PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  ::chmod(key.c_str(), 0600);
  X509_EXTENSION_free(alternative);
  X509_free(x509);
  EVP_PKEY_free(pair);
}

class Tls : public ServerTest {
 protected:
  void SetUp() override {
    certificate = folder.path + "/tls.crt";
    key = folder.path + "/tls.key";
    make_certificate(certificate, key);
    const auto made = TokenFile(folder.path).add("ci", Role::user, user_of(::geteuid(), 0).user);
    ASSERT_TRUE(made) << made.error().message;
    token = *made;
    ServerOptions options;
    options.tcp = "0.0.0.0:0";
    options.certificate = certificate;
    options.key = key;
    start(options);
  }
  void TearDown() override {
    ::unsetenv("TRAINYARD_TOKEN");
    ::unsetenv("SSL_CERT_FILE");
  }
  [[nodiscard]] ClientOptions there() const {
    return {"", fmt::format("https://127.0.0.1:{}", server->tcp_port())};
  }
  static std::string problem_with(const ClientOptions& options) {
    auto client = Client::open(options);
    if (!client) return client.error().message;
    const auto answer = client->get("/v1/cluster");
    return answer ? "none" : answer.error().message;
  }
  std::string certificate, key, token;
};

TEST_F(Tls, OurClientSubmitsOverIt) {
  ::setenv("TRAINYARD_TOKEN", token.c_str(), 1);
  ::setenv("SSL_CERT_FILE", certificate.c_str(), 1);
  auto client = Client::open(there());
  ASSERT_TRUE(client) << client.error().message;
  const auto answer = client->post("/v1/jobs", {{"command", {"true"}}});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->at("job"), 1);
  EXPECT_EQ(service.at(1).owner.role, Role::user);
  std::string events;
  const auto done = client->stream("/v1/events", [&](std::string_view part) {
    events += part;
    return false;
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_THAT(events, HasSubstr("events follow"));
}

TEST_F(Tls, AServerThatNobodyVouchesForIsNotTold) {
  ::setenv("TRAINYARD_TOKEN", token.c_str(), 1);
  EXPECT_THAT(problem_with(there()),
              HasSubstr("TLS: the certificate of " + there().server + " is not trusted: self"));
}

TEST_F(Tls, WhatIsWrongWithItIsSaid) {
  ::setenv("TRAINYARD_TOKEN", token.c_str(), 1);
  ::setenv("SSL_CERT_FILE", certificate.c_str(), 1);
  const int port = server->tcp_port();
  EXPECT_THAT(problem_with({"", fmt::format("https://localhost:{}", port)}),
              HasSubstr("is for another host name"));
  EXPECT_THAT(problem_with({"", fmt::format("http://127.0.0.1:{}", port)}),
              HasSubstr("ended the connection without an answer; if it speaks TLS, use https://"));
  ::setenv("SSL_CERT_FILE", key.c_str(), 1);
  EXPECT_THAT(problem_with(there()), HasSubstr("SSL_CERT_FILE names '" + key));
  ServerOptions plain;
  plain.tcp = "127.0.0.1:0";
  server.reset();
  start(plain);
  ::setenv("SSL_CERT_FILE", certificate.c_str(), 1);
  EXPECT_THAT(problem_with(there()), HasSubstr("answers, but does not speak TLS"));
  const ClientOptions closed = there();
  server.reset();
  EXPECT_THAT(problem_with(closed), HasSubstr("the connection is refused or takes too long"));
}

TEST_F(Tls, PlainBytesAreNotAnswered) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server->tcp_port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  RawClient client(std::move(socket));
  client.send("GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n\r\n");
  EXPECT_TRUE(client.read_to_end());
  EXPECT_EQ(client.received.find("HTTP/1.1"), std::string::npos);
  EXPECT_EQ(ask("GET", "/healthz").status, 200);
}

TEST_F(Tls, FilesThatAreNoneAreNamed) {
  EXPECT_THAT(TlsContext::load(folder.path + "/none", key).error().message, HasSubstr("/none: is"));
  EXPECT_THAT(TlsContext::load(certificate, folder.path + "/none").error().message,
              HasSubstr("/none: there is no such file"));
  ASSERT_EQ(::chmod(certificate.c_str(), 0600), 0);
  EXPECT_THAT(TlsContext::load(certificate, certificate).error().message,
              HasSubstr("tls.crt: is not a private key in PEM"));
  const std::string other = folder.path + "/other";
  make_certificate(other + ".crt", other + ".key");
  EXPECT_THAT(TlsContext::load(certificate, other + ".key").error().message,
              HasSubstr("is not the key of"));
}

TEST_F(Tls, AKeyThatOthersCanReadIsRefusedWithWhatToType) {
  ASSERT_EQ(::chmod(key.c_str(), 0640), 0);
  ServerOptions options;
  options.state_directory = folder.path;
  options.tcp = "0.0.0.0:0";
  options.certificate = certificate;
  options.key = key;
  server.reset();
  const auto started = HttpServer::start(service, options);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("type: chmod 600 '" + key + "'"));
}

/// What OpenSSL's own client says of a handshake with these options, in lower case.
std::string handshake(int port, const std::string& options) {
  const std::string command =
      fmt::format("echo Q | openssl s_client -connect 127.0.0.1:{} {} 2>&1", port, options);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;)
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  ::pclose(pipe);
  return text;
}

/// With a key that all of these suites could use, so that only the server's choice refuses them.
TEST_F(Tls, OnlyForwardSecretAuthenticatedEncryptionIsAgreedOn) {
  if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no openssl";
  server.reset();
  make_certificate(certificate, key, EVP_RSA_gen(2048));
  ServerOptions options;
  options.tcp = "0.0.0.0:0";
  options.certificate = certificate;
  options.key = key;
  start(options);
  const int port = server->tcp_port();
  for (const char* good : {"-tls1_3", "-tls1_2 -cipher ECDHE-RSA-AES256-GCM-SHA384",
                           "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256",
                           "-tls1_2 -cipher ECDHE-RSA-CHACHA20-POLY1305",
                           "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256"}) {
    const std::string text = handshake(port, good);
    EXPECT_THAT(text, testing::ContainsRegex("new, tlsv1.[23], cipher is (tls_|ecdhe-)")) << good;
    EXPECT_THAT(text, testing::Not(HasSubstr("tls session ticket:"))) << good;
    EXPECT_THAT(text, HasSubstr("compression: none")) << good;
  }
  for (const char* bad :
       {"-tls1_2 -cipher AES256-GCM-SHA384", "-tls1_2 -cipher AES128-SHA",
        "-tls1_2 -cipher ECDHE-RSA-AES256-SHA384", "-tls1_2 -cipher ECDHE-RSA-AES128-SHA",
        "-tls1_2 -cipher DHE-RSA-AES256-GCM-SHA384", "-tls1_2 -cipher aNULL@SECLEVEL=0",
        "-tls1_3 -ciphersuites TLS_AES_128_CCM_SHA256", "-tls1_1 -cipher ALL@SECLEVEL=0"})
    EXPECT_THAT(handshake(port, bad), HasSubstr("cipher is (none)")) << bad;
  for (const char* bad : {"-tls1_2 -cipher AES256-GCM-SHA384", "-tls1_2 -cipher AES128-SHA"})
    EXPECT_THAT(handshake(port, bad), HasSubstr("handshake failure")) << bad;
}

}  // namespace
}  // namespace trainyard
