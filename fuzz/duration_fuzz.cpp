// Any bytes as a duration, CPUs or memory: an error, or a value in range that is written and read
// back unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/resources.h"
#include "base/time.h"
#include "workload/import/fields.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check(const Expected<Duration>& parsed) {
  if (!parsed) return;
  require(parsed->us >= 0 && *parsed <= kLongestDuration);
  require(!format(*parsed).empty());
  // Beyond 2^53 microseconds (285 years) a floating-point sum may round.
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (parsed->us < kExact) require(parse_duration(format_exact(*parsed))->us == parsed->us);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(parse_duration(text));
  check(parse_seconds(text));
  check(parse_slurm_duration(text));
  if (const auto time = parse_date_time(text)) require(time->us >= 0);
  if (const auto cpus = parse_cpus(text)) require(*cpus >= 0);
  if (const auto memory = parse_memory(text)) require(*memory >= 0);
  return 0;
}
