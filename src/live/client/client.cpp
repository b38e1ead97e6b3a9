#include "live/client/client.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <openssl/err.h>
#include <sys/stat.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/visible_text.h"
#include "live/book/job_words.h"
#include "live/server/sockets.h"

namespace trainyard {

using nlohmann::json;

struct Client::Wire {
  std::unique_ptr<httplib::ClientImpl> http;
  const httplib::SSLClient* tls = nullptr;  // the same, where it speaks TLS
  httplib::Headers headers;
  std::string where;  // for messages
  ClientOptions found;

  [[nodiscard]] tl::unexpected<Error> unanswered(httplib::Error problem) const;
};

namespace {

struct Url {
  bool is_tls = false;
  std::string host;
  int port = 0;
};

/// Whether what goes to this host stays on this machine.
bool is_loopback(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return host == "localhost";
}

Expected<Url> parse_url(std::string_view text) {
  const auto wrong = [&] {
    return fail("--server {}: is not https://HOST:PORT", trainyard::quoted(text));
  };
  Url url;
  std::string_view rest = text;
  url.is_tls = rest.starts_with("https://");
  if (!url.is_tls && !rest.starts_with("http://")) return wrong();
  rest.remove_prefix(url.is_tls ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || rest.find('/') != std::string_view::npos) return wrong();
  url.host = rest.substr(0, colon);
  if (url.host.starts_with('[') && url.host.ends_with(']'))
    url.host = url.host.substr(1, url.host.size() - 2);
  const std::string_view port = rest.substr(colon + 1);
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (problem != std::errc{} || end != port.data() + port.size() || url.host.empty())
    return wrong();
  if (url.port < 1 || url.port > 65535) return wrong();
  if (!url.is_tls && !is_loopback(url.host))
    return fail("--server {}: others could read the token on the way; use https",
                trainyard::quoted(text));
  return url;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Makes every text in it, also the names of fields, fit for a terminal.
json made_visible(const json& value) {
  if (value.is_string()) return visible(value.get_ref<const std::string&>());
  if (!value.is_structured()) return value;
  json all = value.is_array() ? json::array() : json::object();
  for (const auto& [key, part] : value.items())
    if (value.is_array())
      all.push_back(made_visible(part));
    else
      all[visible(key)] = made_visible(part);
  return all;
}

/// The only state of this process that requests share: a command's exit status tells it.
std::atomic<Trouble> trouble = Trouble::none;

Trouble trouble_of(int status) {
  if (status == 404) return Trouble::not_found;
  return status == 400 || status == 413 || status == 422 ? Trouble::invalid : Trouble::refused;
}

Expected<json> parse_answer(const httplib::Response& response) {
  json body = json::parse(response.body, nullptr, false);
  if (response.status < 300 && !body.is_discarded()) return body;
  trouble = trouble_of(response.status);
  if (body.is_object() && body.contains("error") && body["error"].is_object())
    return fail("{}", visible(body["error"].value("message", "the daemon refused")));
  return fail("the daemon answered with status {} and no reason", response.status);
}

/// Connects to the daemon of this folder, if whoever listens there may be told secrets: root, the
/// user of this process, or `trusted`.
Expected<Descriptor> connect_to_daemon(const std::string& state, uid_t trusted) {
  auto socket = connect_to_unix(state);
  if (!socket) return socket;
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return fail("who listens cannot be told: {}", std::strerror(errno));
  if (peer.uid != 0 && peer.uid != ::geteuid() && peer.uid != trusted)
    return fail("user {} listens there, who is neither root nor you", peer.uid);
  return socket;
}

/// Looks at who listens each time that it connects.
class UnixClient : public httplib::ClientImpl {
 public:
  UnixClient(std::string state, uid_t trusted)
      : ClientImpl("localhost"), state_(std::move(state)), trusted_(trusted) {}

 private:
  bool create_and_connect_socket(Socket& socket, httplib::Error& error) override {
    auto connected = connect_to_daemon(state_, trusted_);
    error = connected ? httplib::Error::Success : httplib::Error::Connection;
    socket.sock = connected ? connected->release() : INVALID_SOCKET;
    return connected.has_value();
  }

  std::string state_;
  uid_t trusted_;
};

/// A folder that was named is its owner's to answer for; one that is only looked at is not.
uid_t trusted_at(const std::string& state, bool is_named) {
  struct stat folder {};
  return is_named && ::stat(state.c_str(), &folder) == 0 ? folder.st_uid : 0;
}

std::string reason_of_tls() {
  const char* reason = ::ERR_reason_error_string(::ERR_peek_error());
  return reason == nullptr ? "the connection ended" : reason;
}

bool server_speaks_no_tls() {
  const int reason = ERR_GET_REASON(::ERR_peek_error());
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST;
}

}  // namespace

tl::unexpected<Error> Client::Wire::unanswered(httplib::Error problem) const {
  using Problem = httplib::Error;
  trouble = Trouble::no_daemon;
  if (!found.state.empty())
    return fail("no daemon answers at {} ({}); start one: trainyard serve", where,
                problem == Problem::Connection ? "nobody listens" : "it ended the connection");
  switch (problem) {
    case Problem::SSLLoadingCerts:
      return fail("TLS: SSL_CERT_FILE names {}, from which no certificate in PEM can be read",
                  trainyard::quoted(environment("SSL_CERT_FILE")));
    case Problem::SSLServerVerification: {
      const long verdict = tls->get_openssl_verify_result();
      if (verdict == X509_V_OK)
        return fail("TLS: the certificate of {} is for another host name", where);
      return fail(
          "TLS: the certificate of {} is not trusted: {}; if your site signs its own, set "
          "SSL_CERT_FILE to the certificate that signed it",
          where, ::X509_verify_cert_error_string(verdict));
    }
    case Problem::SSLConnection:
      if (server_speaks_no_tls())
        return fail(
            "TLS: {} answers, but does not speak TLS; a daemon without it is reached by "
            "http://, from its own machine only",
            where);
      return fail("TLS: the handshake with {} failed: {}", where, reason_of_tls());
    case Problem::Connection:
    case Problem::ConnectionTimeout:
      return fail("no daemon answers at {}: the connection is refused or takes too long", where);
    default:
      return fail("{} ended the connection without an answer{}", where,
                  tls == nullptr ? "; if it speaks TLS, use https://" : "");
  }
}

namespace {

Expected<std::string> own_state_directory() {
  if (::geteuid() == 0) return std::string(kSystemState);
  // The specification of these folders wants relative ones ignored.
  if (const std::string state = environment("XDG_STATE_HOME"); state.starts_with('/'))
    return state + "/trainyard";
  const std::string home = environment("HOME");
  if (home.empty()) return fail("neither HOME nor TRAINYARD_STATE is set; give --state DIR");
  return home + "/.local/state/trainyard";
}

}  // namespace

Expected<std::string> default_state_directory() {
  if (std::string state = environment("TRAINYARD_STATE"); !state.empty()) return state;
  return own_state_directory();
}

std::vector<std::string> usual_directories() {
  std::vector<std::string> all{std::string(kSystemState)};
  const auto own = own_state_directory();
  if (own && *own != kSystemState) all.push_back(*own);
  return all;
}

std::vector<std::string> daemon_directories() {
  if (std::string state = environment("TRAINYARD_STATE"); !state.empty()) return {state};
  return usual_directories();
}

Client::Client(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

namespace {

/// The first folder where a daemon answers that may be told secrets.
Expected<std::string> find_daemon(const std::vector<std::string>& states, bool is_named) {
  std::string failures;
  for (const std::string& state : states) {
    const auto socket = connect_to_daemon(state, trusted_at(state, is_named));
    if (socket) return state;
    failures += fmt::format("{}{}/socket ({})", failures.empty() ? "" : ", nor at ", state,
                            socket.error().message);
  }
  trouble = Trouble::no_daemon;
  return fail("no daemon answers at {}; start one: trainyard serve", failures);
}

std::unique_ptr<httplib::ClientImpl> url_client(const Url& url) {
  if (!url.is_tls) return std::make_unique<httplib::ClientImpl>(url.host, url.port);
  auto client = std::make_unique<httplib::SSLClient>(url.host, url.port);
  if (const std::string ca = environment("SSL_CERT_FILE"); !ca.empty())
    client->set_ca_cert_path(ca);
  return client;
}

}  // namespace

Expected<Client> Client::open(const ClientOptions& options) {
  auto wire = std::make_unique<Wire>();
  wire->found = options;
  if (options.server.empty()) {
    const bool is_named = !options.state.empty() || !environment("TRAINYARD_STATE").empty();
    const auto state = find_daemon(
        options.state.empty() ? daemon_directories() : std::vector{options.state}, is_named);
    if (!state) return tl::make_unexpected(state.error());
    wire->found.state = *state;
    wire->where = *state + "/socket";
    wire->http = std::make_unique<UnixClient>(*state, trusted_at(*state, is_named));
    wire->headers.emplace("Host", "localhost");
  } else {
    const auto url = parse_url(options.server);
    if (!url) return tl::make_unexpected(url.error());
    const std::string token =
        options.token.empty() ? environment("TRAINYARD_TOKEN") : options.token;
    if (token.empty())
      return fail(
          "--server needs a token in TRAINYARD_TOKEN; an operator makes one: trainyard "
          "token add NAME");
    wire->where = options.server;
    wire->found.state.clear();
    wire->http = url_client(*url);
    wire->tls = dynamic_cast<const httplib::SSLClient*>(wire->http.get());
    wire->headers.emplace("Authorization", "Bearer " + token);
  }
  wire->http->set_tcp_nodelay(true);
  wire->http->set_keep_alive(true);
  wire->http->set_connection_timeout(10);
  wire->http->set_read_timeout(options.patience);
  wire->http->set_write_timeout(options.patience);
  return Client(std::move(wire));
}

Trouble last_trouble() {
  return trouble;
}

const ClientOptions& Client::found() const {
  return wire_->found;
}

namespace {

/// A daemon that ends the connection while we write must not end us: within it SIGPIPE waits, and
/// is gone afterwards. What is written to standard output is not meant.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec at_once{};
    while (::sigismember(&before_, SIGPIPE) == 0 && ::sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

  /// For what is to be ended by it.
  auto with_signal(const auto& work) const {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    auto result = work();
    ::pthread_sigmask(SIG_BLOCK, &pipe_, nullptr);
    return result;
  }

 private:
  sigset_t pipe_{}, before_{};
};

}  // namespace

Expected<json> Client::ask(const char* method, const std::string& path, const std::string& body) {
  httplib::Request request;
  request.method = method;
  request.path = path;
  request.headers = wire_->headers;
  request.body = body;
  if (!body.empty()) request.headers.emplace("Content-Type", "application/json");
  ::ERR_clear_error();
  const WithoutPipeSignal quiet;
  const httplib::Result result = wire_->http->send(request);
  if (!result) return wire_->unanswered(result.error());
  auto answer = parse_answer(*result);
  return answer && !wire_->found.is_exact ? made_visible(*answer) : answer;
}

Expected<json> Client::get(const std::string& path) {
  return ask("GET", path, "");
}
Expected<json> Client::post(const std::string& path, const json& body) {
  return ask("POST", path, body.is_null() ? "" : body.dump());
}
Expected<json> Client::put(const std::string& path, const json& body) {
  return ask("PUT", path, body.dump());
}
Expected<json> Client::remove(const std::string& path) {
  return ask("DELETE", path, "");
}

Expected<void> Client::stream(const std::string& path,
                              const std::function<bool(std::string_view)>& take) {
  int status = 0;
  std::string refusal;
  bool had_enough = false;
  ::ERR_clear_error();
  const WithoutPipeSignal quiet;
  const auto result = wire_->http->Get(
      path, wire_->headers,
      [&](const httplib::Response& response) {
        status = response.status;
        return true;
      },
      [&](const char* data, std::size_t size) {
        if (status >= 300) {
          refusal.append(data, size);
          return refusal.size() < (1 << 20);
        }
        had_enough = !quiet.with_signal([&] { return take({data, size}); });
        return !had_enough;
      });
  if (had_enough) return {};
  if (status >= 300) {
    httplib::Response response;
    response.status = status;
    response.body = refusal;
    return tl::make_unexpected(parse_answer(response).error());
  }
  if (!result) return wire_->unanswered(result.error());
  return {};
}

void Client::stop() {
  wire_->http->stop();
}

bool is_end_state(std::string_view state) {
  const auto known = parse_state(state);
  return known && has_ended(*known);
}

std::string url_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ',';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace trainyard
