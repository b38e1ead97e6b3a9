#include "wire.h"

#include <algorithm>
#include <filesystem>

namespace trainyard {
namespace {

/// Small, so that those who mean harm reach them.
constexpr AdmissionLimits kAdmission{.connections = 40,
                                     .reserved = 8,
                                     .of_one_user = 8,
                                     .of_tcp = 16,
                                     .of_one_bearer = 4,
                                     .strangers = 5};

HandlerLimits small_limits() {
  HandlerLimits limits;
  limits.memory = std::size_t{32} << 20;
  limits.memory_patience = std::chrono::milliseconds(0);
  limits.burst = 200, limits.per_second = 50;
  return limits;
}

}  // namespace

/// Of one daemon.
struct Wire::Server {
  Server(SimulatedMachine& machine, const std::string& folder, const FindUser& users)
      : tokens(TokenFile(folder, users)),
        admission(kAdmission),
        counts(admission),
        handler(
            machine.master(), machine, admission, counts,
            [this](std::string_view token, Time now) { return tokens.find(token, now); },
            small_limits()),
        audit(machine, folder),
        log(machine.log()),
        context{handler, {}, log, counts} {
    handler.audit_to(audit);
  }

  TokenCheck tokens;
  Admission admission;
  ServerCounts counts;
  ServerHandler handler;
  RequestAudit audit;
  SeldomLog log;
  SessionContext context;
  std::map<Admission::Id, std::shared_ptr<Line>> held;  // by those who mean harm
};

struct Wire::Line {
  Line(Server& server, const Peer& peer, Time now)
      : admission(server.admission), session(server.context, peer, now) {}
  ~Line() { admission.leave(session.peer().connection); }
  Admission& admission;
  HttpSession session;
};

Wire::Wire(SimulatedMachine& machine, std::uint64_t seed, std::vector<Identity> users)
    : machine_(machine), lots_(seed, 22), users_(std::move(users)) {
  TokenFile file(folder(), [this](const std::string& name) { return find(name); });
  for (const Identity& user : users_)
    tokens_[user.user] = *file.add(user.user, user.role, user.user);
  revoked_ = *file.add("revoked", Role::operator_, "root");
  expired_ = *file.add("expired", Role::operator_, "root", Time{} + days(1));
  (void)file.remove("revoked");
}

Wire::~Wire() = default;

std::string Wire::folder() const {
  return std::filesystem::path(machine_.path()).parent_path().string();
}

std::optional<Identity> Wire::find(const std::string& name) const {
  const auto found = std::ranges::find(users_, name, &Identity::user);
  return found == users_.end() ? std::nullopt : std::optional(*found);
}

std::shared_ptr<Wire::Server> Wire::server() {
  if (!server_ || daemon_ != machine_.daemons()) {
    if (server_) server_->held.clear();  // connections end with their daemon
    server_ = std::make_shared<Server>(machine_, folder(),
                                       [this](const std::string& name) { return find(name); });
    daemon_ = machine_.daemons();
  }
  sweep(*server_);
  return server_;
}

/// Whoever took too long is told so, and gone.
void Wire::sweep(Server& server) {
  std::erase_if(server.held, [&](const auto& entry) {
    HttpSession& session = entry.second->session;
    if (machine_.now() > session.deadline()) session.expire(machine_.now());
    return session.is_over() || machine_.now() > session.deadline();
  });
}

std::shared_ptr<Wire::Line> Wire::connect(Server& server, const std::optional<Identity>& user) {
  const Admission::Verdict verdict = server.admission.admit(user);
  if (verdict.gives_way) server.held.erase(*verdict.gives_way);
  if (!verdict.id) return nullptr;
  return std::make_shared<Line>(server, Peer{*verdict.id, user, user ? "" : "10.0.0.9"},
                                machine_.now());
}

std::string Wire::hear(Line& line) const {
  std::string text;
  HttpSession& session = line.session;
  while (!session.is_over()) {
    if (const std::string_view out = session.output(); !out.empty()) {
      text += out;
      session.sent(out.size(), machine_.now());
    } else if (session.is_streaming()) {
      session.produce(machine_.now());
    } else {
      break;
    }
  }
  return text;
}

/// In parts, as a network delivers them.
Wire::Answer Wire::send(const Request& request, const std::string& headers,
                        const std::optional<Identity>& user, bool is_cut) {
  const auto held = server();  // also when the daemon dies meanwhile
  const auto line = connect(*held, user);
  if (!line) {
    if (request.who.user != "eve")
      complain(fmt::format("{} cannot connect while others hold connections", request.who.user));
    return {};
  }
  std::string bytes =
      fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}", request.method, request.target, headers);
  // Of one that is cut off often only blanks are missing: half of it is as good as the whole.
  const std::string body = request.body + std::string(is_cut ? 2 * request.body.size() : 0, ' ');
  if (!body.empty()) bytes += fmt::format("Content-Length: {}\r\n", body.size());
  bytes += "\r\n" + body;
  if (is_cut) bytes.resize(lots_.below(bytes.size()));
  std::string heard;
  for (std::string_view rest = bytes; !rest.empty() && !line->session.is_over();) {
    const std::size_t part = std::min<std::size_t>(rest.size(), 1 + lots_.below(400));
    line->session.take(rest.substr(0, part), machine_.now());
    rest.remove_prefix(part);
    heard += hear(*line);
  }
  if (is_cut) {
    lots_.below(2) == 0 ? line->session.end_of_input(machine_.now())
                        : line->session.expire(machine_.now());
    heard += hear(*line);
  }
  Answer answer;
  answer.is_whole = !is_cut;
  if (!heard.starts_with("HTTP/1.1 ")) return answer;
  answer.status = std::stoi(heard.substr(9, 3));
  answer.body = heard.substr(std::min(heard.find("\r\n\r\n") + 4, heard.size()));
  return answer;
}

Wire::Answer Wire::ask(const Request& request) {
  const bool is_cut = lots_.below(12) == 0;
  const bool has_bad_token = lots_.below(20) == 0;
  // What a request says of itself changes nothing, and on the Unix socket neither does a token.
  std::string headers = lots_.below(6) == 0 ? "X-Remote-User: root\r\nUid: 0\r\n" : "";
  std::optional<Identity> user = request.who;
  if (has_bad_token) {
    user.reset();
    headers += "Authorization: Bearer " +
               (lots_.below(2) == 0   ? revoked_
                : lots_.below(2) == 0 ? expired_
                                      : "ty_00") +
               "\r\n";
  } else if (lots_.below(3) == 0) {
    user.reset();
    headers += "Authorization: Bearer " + tokens_.at(request.who.user) + "\r\n";
  } else if (lots_.below(6) == 0) {
    headers += "Authorization: Bearer " + tokens_.at("root") + "\r\n";
  }
  Answer answer = send(request, headers, user, is_cut);
  if (machine_.is_dead()) return answer;
  if (is_cut && answer.status >= 200 && answer.status < 300)
    complain(fmt::format("half of {} {} is answered with {}", request.method, request.target,
                         answer.status));
  const bool is_open = request.target.starts_with("/healthz");
  if (has_bad_token && !is_cut && !is_open && answer.status != 401 && answer.status != 404)
    complain(fmt::format("{} {} without a valid token is answered with {}", request.method,
                         request.target, answer.status));
  const bool is_crowded = answer.status == 429 ||
                          answer.body.find("too many connections") != std::string::npos ||
                          answer.body.find("too much memory") != std::string::npos;
  if (is_crowded && !is_cut && request.who.user != "eve")
    complain(fmt::format("{} is kept out by others: {}", request.who.user, answer.body));
  if (has_bad_token) answer.is_whole = false;
  return answer;
}

/// One who asks far too often: from some request on the answer is 429.
void Wire::flood(Server& server) {
  const auto line = connect(server, find("eve"));
  if (!line) return;
  for (int i = 0; i < 300 && !line->session.is_over(); ++i) {
    line->session.take("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", machine_.now());
    if (hear(*line).starts_with("HTTP/1.1 429")) return;
  }
  if (!machine_.is_dead()) complain("300 requests at once are all answered");
}

void Wire::make_trouble() {
  const auto held = server();
  const std::uint64_t lot = lots_.below(10);
  if (lot == 0) return flood(*held);
  const std::size_t kind = lots_.below(4);  // all of them do the same
  for (std::uint64_t i = 1 + lots_.below(lots_.below(3) == 0 ? 60 : 12); i > 0; --i) {
    const bool is_eve = lots_.below(2) == 0;
    const bool has_token = is_eve && lots_.below(2) == 0;
    const auto line = connect(*held, is_eve && !has_token ? find("eve") : std::nullopt);
    if (!line) continue;
    held->held[line->session.peer().connection] = line;
    const std::string token =
        has_token ? "Authorization: Bearer " + tokens_.at("eve") + "\r\n" : std::string();
    const std::array<std::string, 4> words{
        "", "GET /v1/jobs HTTP/1.1\r\nX: ",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n" + token + "Content-Length: 1000000\r\n\r\n{",
        "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n" + token + "\r\n"};  // and the answer is not read
    line->session.take(words[kind], machine_.now());
  }
}

}  // namespace trainyard
