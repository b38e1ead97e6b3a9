// Any bytes as a file of options: an error that names it, or values that the options allow; and
// what the command line gave is not touched.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/config_file.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string policy = "fitgpp", level = "info", state = "given";
  std::vector<std::string> settings;
  std::uint64_t slots = 1;
  bool hidden = false;
  cli::Command command("trainyard serve", "", "");
  command.option("--policy,-p", &policy, "");
  command.option("--log-level", &level, "", {.words = {"info", "error"}});
  command.option("--state", &state, "");
  command.options.back().is_given = true;
  command.option("--set", &settings, "");
  command.option("--slots", &slots, "", {.range = cli::Range{1, 64}});
  command.flag("--hidden", &hidden, "");
  const auto done =
      cli::read_config({reinterpret_cast<const char*>(data), size}, "input", command, "--config");
  if (!done) require(done.error().message.starts_with("input:"));
  if (!done) return 0;
  require(!policy.empty() && (level == "info" || level == "error"));
  require(state == "given" && slots >= 1 && slots <= 64);
  return 0;
}
