// Any bytes as a script, a time and an amount of memory as sbatch has them: an error with a
// message, or a job that could be submitted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "live/batch_script.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto time = parse_time_limit(text)) require(time->us >= 0);
  if (const auto memory = parse_sbatch_memory(text)) require(*memory >= 0);
  const auto script = parse_batch_script(text, "input");
  if (!script) return require(!script.error().message.empty()), 0;
  require(script->spec.workers >= 1 && script->spec.per_worker.gpus >= 1);
  require(script->spec.script == text);
  return 0;
}
