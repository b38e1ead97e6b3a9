// Any text as slurm.conf: an error with a message, or checks that each say what and why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "live/slurm_setup/checks.h"

using namespace trainyard;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto conf = SlurmConf::parse(text, "slurm.conf");
  if (!conf && conf.error().message.empty()) std::abort();
  if (!conf) return 0;
  for (const SlurmFinding& finding : check_slurm_conf(&*conf, "train"))
    if (finding.text.empty() || finding.why.empty()) std::abort();
  return 0;
}
