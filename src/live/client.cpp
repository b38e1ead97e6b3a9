#include "live/client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <httplib.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "live/supervisor/files.h"

namespace trainyard {

using nlohmann::json;

struct Client::Wire {
  std::unique_ptr<httplib::ClientImpl> http;
  Descriptor folder;  // of the socket; its path goes through here
  httplib::Headers headers;
  std::string where;  // for messages
};

namespace {

constexpr time_t kPatience = 60;  // for an answer, or for the next part of one

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

Expected<json> parse_answer(const httplib::Response& response) {
  json body = json::parse(response.body, nullptr, false);
  if (response.status < 300 && !body.is_discarded()) return body;
  if (body.is_object() && body.contains("error") && body["error"].is_object())
    return fail("{}", body["error"].value("message", "the daemon refused"));
  return fail("the daemon answered with status {} and no reason", response.status);
}

}  // namespace

Expected<std::string> default_state_directory() {
  if (std::string state = environment("TRAINYARD_STATE"); !state.empty()) return state;
  if (::geteuid() == 0) return "/var/lib/trainyard";
  // The specification of these folders wants relative ones ignored.
  if (const std::string state = environment("XDG_STATE_HOME"); state.starts_with('/'))
    return state + "/trainyard";
  const std::string home = environment("HOME");
  if (home.empty()) return fail("neither HOME nor TRAINYARD_STATE is set; give --state DIR");
  return home + "/.local/state/trainyard";
}

Client::Client(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Expected<Client> Client::open(const ClientOptions& options) {
  auto wire = std::make_unique<Wire>();
  if (options.server.empty()) {
    const auto state = options.state.empty() ? default_state_directory() : options.state;
    if (!state) return tl::make_unexpected(state.error());
    wire->where = *state + "/socket";
    wire->folder = Descriptor(::open(state->c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!wire->folder)
      return fail("no daemon answers at {} ({}); start one: trainyard serve", wire->where,
                  std::strerror(errno));
    // A socket's path may have 107 bytes; through here any folder is near.
    wire->http = std::make_unique<httplib::ClientImpl>(
        fmt::format("/proc/self/fd/{}/socket", wire->folder.get()), 1);
    wire->http->set_address_family(AF_UNIX);
    wire->headers.emplace("Host", "localhost");
  } else {
    const auto url = parse_url(options.server);
    if (!url) return tl::make_unexpected(url.error());
    const std::string token = environment("TRAINYARD_TOKEN");
    if (token.empty())
      return fail(
          "--server needs a token in TRAINYARD_TOKEN; an operator makes one: trainyard "
          "token add NAME");
    wire->where = options.server;
    if (url->is_tls)
      wire->http = std::make_unique<httplib::SSLClient>(url->host, url->port);
    else
      wire->http = std::make_unique<httplib::ClientImpl>(url->host, url->port);
    if (const std::string ca = environment("SSL_CERT_FILE"); url->is_tls && !ca.empty())
      wire->http->set_ca_cert_path(ca);
    wire->headers.emplace("Authorization", "Bearer " + token);
  }
  wire->http->set_tcp_nodelay(true);
  wire->http->set_keep_alive(true);
  wire->http->set_connection_timeout(10);
  wire->http->set_read_timeout(kPatience);
  wire->http->set_write_timeout(kPatience);
  return Client(std::move(wire));
}

Expected<json> Client::ask(const char* method, const std::string& path, const std::string& body) {
  httplib::Request request;
  request.method = method;
  request.path = path;
  request.headers = wire_->headers;
  request.body = body;
  if (!body.empty()) request.headers.emplace("Content-Type", "application/json");
  const httplib::Result result = wire_->http->send(request);
  if (!result)
    return fail("no daemon answers at {} ({}); start one: trainyard serve", wire_->where,
                httplib::to_string(result.error()));
  return parse_answer(*result);
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
        had_enough = !take({data, size});
        return !had_enough;
      });
  if (had_enough) return {};
  if (status >= 300) {
    httplib::Response response;
    response.status = status;
    response.body = refusal;
    return tl::make_unexpected(parse_answer(response).error());
  }
  if (!result)
    return fail("no daemon answers at {} ({})", wire_->where, httplib::to_string(result.error()));
  return {};
}

void Client::stop() {
  wire_->http->stop();
}

bool is_end_state(std::string_view state) {
  return state == "done" || state == "failed" || state == "cancelled";
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
