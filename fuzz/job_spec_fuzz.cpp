// Any bytes as a job in JSON, and as a signal: an error with a message, or what is written and read
// back unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "live/job/job_spec.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check_job(std::string_view text) {
  const auto spec = parse_job_spec(text);
  if (!spec) return require(!spec.error().message.empty());
  require(spec->workers >= 1 && spec->per_worker.gpus >= 1);
  require(!spec->script.empty() || !spec->command.empty());
  const auto again = parse_job_spec(to_json(*spec).dump());
  require(again && *again == *spec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_job(text);
  if (const auto signal = parse_stop_signal(text))
    require(*parse_stop_signal(format(*signal)) == *signal);
  return 0;
}
