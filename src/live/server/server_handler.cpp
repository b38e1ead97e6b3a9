#include "live/server/server_handler.h"

namespace trainyard {
namespace {

/// Empty if there is none, or more than one.
std::string bearer_of(const RequestHead& head) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view header = head.value("authorization");
  const bool is_single = head.count("authorization") == 1;
  return is_single && header.starts_with(kBearer) ? std::string(header.substr(kBearer.size())) : "";
}

Reply busy_reply(int status, const char* kind, const char* message, Duration wait = seconds(1)) {
  Reply reply = error_reply(status, kind, message);
  reply.headers.emplace_back("Retry-After", std::to_string((wait.us + 999'999) / 1'000'000));
  return reply;
}

RequestAudit::Asked asked_of(const Peer& peer, const RequestHead& head,
                             const std::optional<Identity>& who, const std::string& caller) {
  const Identity nobody{"", static_cast<uid_t>(-1), 0, Role::viewer, "nothing"};
  const Identity& known = who ? *who : nobody;
  return {{.at = {},
           .user = known.user,
           .uid = known.uid,
           .via = known.via,
           .from = peer.address,
           .act = fmt::format("{} {}", head.method, head.path)},
          caller};
}

}  // namespace

ServerHandler::ServerHandler(Service& service, System& system, Admission& admission,
                             const ServerStatus& status, FindBearer find_bearer,
                             const HandlerLimits& limits)
    : service_(service),
      system_(system),
      admission_(admission),
      status_(status),
      find_bearer_(std::move(find_bearer)),
      limits_(limits),
      rate_(limits.burst, limits.per_second),
      memory_(limits.memory, limits.memory / 4),
      refusals_(system.log()) {}

ServerHandler::Caller ServerHandler::caller_of(const Peer& peer, const RequestHead& head) const {
  if (peer.user) return {peer.user, "uid " + std::to_string(peer.user->uid), ""};
  Caller caller{std::nullopt, "address " + peer.address,
                "a token is needed: Authorization: Bearer ..."};
  const std::string token = bearer_of(head);
  if (token.empty()) return caller;
  auto bearer = find_bearer_(token, system_.wall_clock());
  if (!bearer) return caller.problem = bearer.error().message, caller;
  caller = {std::move(bearer->identity), "token " + bearer->token_name, ""};
  caller.who->via = caller.bucket;
  return caller;
}

/// What keeps the caller from this route, if anything does.
std::optional<Reply> ServerHandler::refuse_caller(const Route& route, const Caller& caller) {
  if (!route.role) return {};
  if (!caller.who) {
    refusals_.write(LogLevel::warning,
                    fmt::format("a request from {} has no valid token", caller.bucket));
    Reply reply = error_reply(401, "unauthorized", caller.problem);
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    return reply;
  }
  if (caller.who->role < *route.role)
    return error_reply(403, "forbidden",
                       fmt::format("this is for the role {}; yours is {}", name(*route.role),
                                   name(caller.who->role)));
  return {};
}

std::optional<Reply> ServerHandler::refuse_body(const RequestHead& head, const Route& route) const {
  if (head.is_chunked) return error_reply(411, "invalid", "send the body with its Content-Length");
  if (head.count("content-encoding") > 0)
    return error_reply(415, "invalid", "send the body without compressing it");
  if (!head.has_body && !route.body_schema.empty())
    return error_reply(411, "invalid", "this needs a body, in JSON");
  if (head.body_bytes > limits_.body_bytes)
    return error_reply(413, "too_large",
                       fmt::format("request body is {} bytes; the limit is {}", head.body_bytes,
                                   limits_.body_bytes));
  return {};
}

std::optional<Reply> ServerHandler::refuse(const Peer& peer, const RequestHead& head,
                                           const Caller& caller, RouteMatch& match) {
  if (caller.who && !peer.user && !admission_.recognise(peer.connection, *caller.who))
    return busy_reply(503, "unavailable", "too many connections; try again later");
  if (const Duration wait = rate_.take(caller.bucket, system_.steady_clock()); wait.us > 0) {
    refusals_.write(LogLevel::warning, fmt::format("{} sends too many requests", caller.bucket));
    return busy_reply(429, "too_many", "too many requests; wait a moment", wait);
  }
  match = match_route(head.method, head.path);
  if (match.route == nullptr && match.allowed.empty())
    return error_reply(404, "not_found", "there is no such path; GET /v1/openapi.json lists them");
  if (match.route == nullptr) {
    Reply reply =
        error_reply(405, "invalid", fmt::format("this path is for {} only", match.allowed));
    reply.headers.emplace_back("Allow", match.allowed);
    return reply;
  }
  if (auto refused = refuse_caller(*match.route, caller)) return refused;
  if (auto ok = check_query(*match.route, head.query); !ok)
    return error_reply(400, "invalid", ok.error().message);
  return refuse_body(head, *match.route);
}

BegunRequest ServerHandler::begin(const Peer& peer, const RequestHead& head) {
  const Caller caller = caller_of(peer, head);
  BegunRequest begun{.is_known = caller.who.has_value()};
  RouteMatch match;
  begun.reply = refuse(peer, head, caller, match);
  RequestAudit::Asked asked = asked_of(peer, head, caller.who, caller.bucket);
  if (begun.reply) {
    if (audit_ != nullptr && match.route != nullptr && match.route->changes())
      audit_->end(asked, *begun.reply);
    return begun;
  }
  const Route& route = *match.route;
  // The body itself, the JSON that it is read into, and what is made of that.
  auto held = memory_.take({caller.who ? caller.bucket : "nobody",
                            caller.who.has_value() && caller.who->role == Role::operator_},
                           route.memory + 3 * head.body_bytes, limits_.memory_patience);
  if (!held) {
    begun.reply =
        busy_reply(503, "unavailable",
                   "your other requests and their answers take too much memory; read them");
    return begun;
  }
  Call call{service_,
            status_,
            caller.who.value_or(Identity{"nobody", 65534, 65534, Role::viewer, "nothing"}),
            std::move(match.words),
            head.query,
            {},
            std::string(head.value("last-event-id"))};
  const std::string token = peer.user ? "" : bearer_of(head);
  begun.finish = [this, &route, call = std::move(call), held = std::move(held), token,
                  bucket = caller.bucket, asked = std::move(asked)](std::string body) mutable {
    call.body = std::move(body);
    const auto make = [&] { return answer(route, call, std::move(held)); };
    Reply reply = route.changes() ? audited(route, std::move(asked), make) : make();
    if (reply.further_jobs > 0)
      rate_.charge(bucket, static_cast<double>(reply.further_jobs), system_.steady_clock());
    if (reply.next_part && !token.empty()) end_when_revoked(token, reply);
    return reply;
  };
  return begun;
}

Reply ServerHandler::audited(const Route& route, RequestAudit::Asked asked,
                             const std::function<Reply()>& make) {
  if (audit_ == nullptr) return make();
  if (auto ok = audit_->begin(asked); !ok && !route.ends_jobs)
    return error_reply(503, "unavailable",
                       fmt::format("this cannot be recorded now: {}", ok.error().message));
  Reply reply = make();
  audit_->end(asked, reply);
  return reply;
}

/// An answer that goes on for hours ends with its token's right to it.
void ServerHandler::end_when_revoked(const std::string& token, Reply& reply) const {
  reply.next_part = [this, token, next = std::move(reply.next_part)](std::string& part) {
    return find_bearer_(token, system_.wall_clock()).has_value() && next(part);
  };
}

Reply ServerHandler::answer(const Route& route, const Call& call,
                            std::shared_ptr<MemoryBudget::Part> held) {
  Reply reply = route.answer(call);
  if (reply.status < 300) reply.type = route.answer_type;
  const std::size_t size = reply.next_part ? route.memory : reply.body.size();
  if (!held->resize(std::max(kSmallAnswer, size)))
    return busy_reply(503, "unavailable", "there is no memory for so long an answer now");
  reply.held = std::move(held);
  return reply;
}

}  // namespace trainyard
