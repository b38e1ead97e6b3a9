// Any bytes as what a job tells of itself: an error, or finite numbers of a sensible size.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "live/job/progress.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto progress = parse_progress({reinterpret_cast<const char*>(data), size});
  if (!progress) {
    require(!progress.error().message.empty());
    return 0;
  }
  require(progress->step >= 0 && progress->total >= 0);
  for (const auto& value : {progress->loss, progress->accuracy, progress->save_s, progress->load_s})
    require(!value || std::isfinite(*value));
  require(progress->save_s.value_or(0) >= 0 && progress->load_s.value_or(0) >= 0);
  return 0;
}
