// The API in one table: what may be asked, by whom, with which parameters, and who answers. The
// server finds its way by it and /v1/openapi.json is made from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/job/identity.h"
#include "live/server/reply.h"

namespace trainyard {

struct RouteParameter {
  std::string_view name;
  enum class In : std::uint8_t { path, query, header } in{};
  std::string_view type;  // of JSON Schema: "integer", "string", "boolean"
  std::string help;
};

struct Route {
  std::string_view method;
  std::string_view path;     // "/v1/jobs/{job}"
  std::optional<Role> role;  // who may at least; none: also who is not known
  std::string_view summary;
  std::vector<RouteParameter> parameters;
  std::string_view body_schema;  // name in the components of the OpenAPI document; empty: no body
  std::string_view answer_type;
  Reply (*answer)(const Call& call);
  std::size_t memory = kSmallAnswer;  // that making the answer takes, about, beside the body
  bool ends_jobs = false;             // goes on also where the disk is full

  /// True if it may change something: such requests are audited.
  [[nodiscard]] bool changes() const { return method != "GET"; }
};

std::span<const Route> routes();

/// The route of a request, or why there is none.
struct RouteMatch {
  const Route* route = nullptr;
  std::vector<std::string> words;  // for {...}
  std::string allowed;             // methods, when the path is known but the method is not
};
/// HEAD is as GET.
RouteMatch match_route(std::string_view method, std::string_view path);

/// Parameters that the route does not know, or has twice: "unknown parameter 'x', did you mean
/// ...".
Expected<void> check_query(const Route& route,
                           const std::multimap<std::string, std::string>& query);

}  // namespace trainyard
