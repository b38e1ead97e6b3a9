// Decides about every request before its route answers: who asks, whether they may, whether they
// ask too often, and whether there is memory for it. Everything that a head can tell is decided
// before any of the body is read, and nothing is changed by a request that is refused.
//
// It reads time from the System and knows no sockets, so that a simulation runs it as it is.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "live/server/http_session.h"
#include "live/server/memory_budget.h"
#include "live/server/rate_limit.h"
#include "live/server/request_audit.h"
#include "live/server/routes.h"
#include "live/server/tokens.h"
#include "live/system/system.h"

namespace trainyard {

struct HandlerLimits {
  std::size_t body_bytes = 4 << 20;
  /// What requests and answers may take of memory at once; those of one caller, a quarter of it.
  std::size_t memory = std::size_t{256} << 20;
  std::chrono::milliseconds memory_patience{10'000};  // a request waits for it this long
  double burst = 10'000, per_second = 5'000;          // requests of one caller
};

class ServerHandler : public RequestHandler {
 public:
  /// Finds who bears a token.
  using FindBearer = std::function<Expected<TokenCheck::Bearer>(std::string_view token, Time now)>;

  /// All of them must outlive it.
  ServerHandler(Service& service, System& system, Admission& admission, const ServerStatus& status,
                FindBearer find_bearer, const HandlerLimits& limits);

  BegunRequest begin(const Peer& peer, const RequestHead& head) override;
  /// Changes are audited from now on.
  void audit_to(RequestAudit& audit) { audit_ = &audit; }

 private:
  /// Who asks, and in whose name the asking is counted.
  struct Caller {
    std::optional<Identity> who;  // none if it is not known
    std::string bucket;
    std::string problem;  // why it is not known
  };
  [[nodiscard]] Caller caller_of(const Peer& peer, const RequestHead& head) const;
  /// The answer to a request that goes no further; else none, and `match` has its route.
  std::optional<Reply> refuse(const Peer& peer, const RequestHead& head, const Caller& caller,
                              RouteMatch& match);
  std::optional<Reply> refuse_caller(const Route& route, const Caller& caller);
  [[nodiscard]] std::optional<Reply> refuse_body(const RequestHead& head, const Route& route) const;
  void end_when_revoked(const std::string& token, Reply& reply) const;
  Reply answer(const Route& route, const Call& call, std::shared_ptr<MemoryBudget::Part> held);
  Reply audited(const Route& route, RequestAudit::Asked asked, const std::function<Reply()>& make);

  Service& service_;
  System& system_;
  Admission& admission_;
  const ServerStatus& status_;
  FindBearer find_bearer_;
  HandlerLimits limits_;
  RateLimit rate_;
  MemoryBudget memory_;
  SeldomLog refusals_;
  RequestAudit* audit_ = nullptr;
};

}  // namespace trainyard
