// Any bytes as what a person types: a policy, a generator's line, a list of faults. An error with a
// message, or something that can be built and used.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/registry.h"
#include "sim/faults.h"
#include "workload/generate/generate.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check_policy(std::string_view text, const Cluster& cluster) {
  const auto spec = PolicySpec::parse(text);
  if (!spec) return require(!spec.error().message.empty());
  const Workload workload;
  Yard yard(cluster, workload, spec->rules());
  require(spec->build(yard, 1, FlowClasses::carried_out) != nullptr);
}

/// With few jobs, whatever else it says.
void check_generator(std::string_view text, const Cluster& cluster) {
  if (text.find("jobs") != std::string_view::npos) return;
  if (text.starts_with("trace")) return;  // reads files, which workload_fuzz is about
  const bool has_settings = text.find(':') != std::string_view::npos;
  const std::string few = std::string(text) + (has_settings ? ",jobs=50" : ":jobs=50");
  const auto workload = generate(few, cluster, 1);
  if (!workload) return require(!workload.error().message.empty());
  require(workload->jobs.size() == 50);
  for (const Job& job : workload->jobs) require(job.duration.us > 0 && job.gpus() > 0);
}

void check_faults(std::string_view text, const Cluster& cluster) {
  const auto faults = parse_faults(text, "input", cluster);
  if (!faults) return require(!faults.error().message.empty());
  for (const Fault& fault : *faults) require(index(fault.machine) < cluster.machines.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Cluster cluster = *parse_cluster_shorthand("2x2x4xV100");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_policy(text, cluster);
  check_generator(text, cluster);
  check_faults(text, cluster);
  return 0;
}
