// Any bytes as what a request brings: a path, parameters, an address, a policy, a supposition. An
// error with a message, or values within their bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "live/server/json.h"
#include "live/server/query.h"
#include "live/server/routes.h"
#include "live/server/sockets.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check_number(std::string_view text) {
  const auto number = parse_digits(text, 1, 1000);
  if (!number) return require(!number.error().message.empty());
  require(*number >= 1 && *number <= 1000);
}

void check_path(std::string_view text) {
  for (const char* method : {"GET", "POST", "DELETE", "HEAD"}) {
    const RouteMatch match = match_route(method, text);
    if (match.route == nullptr) continue;
    for (const std::string& word : match.words) require(!word.empty() && word.size() < text.size());
  }
}

void check_policy(std::string_view text) {
  const auto policy = policy_from_json(text);
  if (!policy) return require(!policy.error().message.empty());
  require(!policy->policy.empty());
}

void check_question(std::string_view text) {
  const auto question = question_from_json(text);
  if (!question) return require(!question.error().message.empty());
  require(!question->job || question->job->array.empty());
}

/// Each line is "name=value".
void check_query_of(std::string_view text) {
  std::multimap<std::string, std::string> query;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t sign = std::min(line.find('='), line.size());
    query.emplace(line.substr(0, sign), line.substr(std::min(sign + 1, line.size())));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const Route& route = *match_route("GET", "/v1/jobs").route;
  if (!check_query(route, query)) return;
  const auto filter = job_filter(query);
  if (!filter) return require(!filter.error().message.empty());
  require(filter->limit >= 1 && filter->limit <= 1000 && filter->before >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_number(text);
  check_path(text);
  check_policy(text);
  check_question(text);
  check_query_of(text);
  if (const auto address = parse_tcp_address(std::string(text)))
    require(address->port >= 0 && address->port <= 65535 && !address->host.empty());
  return 0;
}
