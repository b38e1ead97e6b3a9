// Any bytes as what a policy had learnt before a restart: it is left out where it is unsound, and
// whatever is taken from it the policy decides, explains, and writes down something sound again.
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "policy/testing.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

std::optional<Learnt> parsed(std::string_view text) try {
  return nlohmann::json::parse(text).get<Learnt>();
} catch (const nlohmann::json::exception&) {
  return {};
}

/// More than fits, some of it trial jobs, for an hour; every job that runs ends once.
void live_with_it(HandPolicy& h) {
  for (int i = 0; i < 24; ++i) {
    h.at(minutes(3 * i));
    const Job job = costly(gang(1 + i % 3, 1 + i % 2, minutes(20)), seconds(30), {}, {});
    h.submit(i % 4 == 0 ? trial(job) : job);
    h.decide();
    for (std::uint32_t j = 0; j < h.yard.jobs(); ++j) {
      (void)h.policy->explain(JobId{j});
      if (h.phase(JobId{j}) == Phase::draining) h.tell(EventKind::drained, JobId{j});
      if (h.phase(JobId{j}) == Phase::running && (i + j) % 5 == 0)
        h.tell(EventKind::finished, JobId{j});
    }
  }
  require(h.refused == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto learnt = parsed({reinterpret_cast<const char*>(data), size});
  if (!learnt) return 0;
  HandPolicy h("2x2x4xV100", "trainyard");
  h.workload.users.add("ada");
  h.policy->recall(*learnt, Time{});
  live_with_it(h);
  Learnt again;
  h.policy->save_learnt(again);
  for (const auto& [name, numbers] : again)
    for (const double number : numbers) require(std::isfinite(number) && number >= 0);
  return 0;
}
