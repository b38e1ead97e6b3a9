// Any bytes as what a daemon tells an agent: an error, or a state whose commands for nft have no
// more quotes, lines and braces than they must.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "live/flow_agent/flow_rules.h"
#include "live/flow_agent/host_flows.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)find_root_queue(text);
  (void)read_counters(text, 4);
  (void)find_cgroup_mount(text);
  const auto flows = parse_host_flows(text);
  if (!flows) {
    require(!flows.error().message.empty());
    return 0;
  }
  require(flows->classes >= 1 && flows->floor >= 0 && flows->floor < 1);
  require(flows->age.us >= 0 && flows->valid_for.us >= 0);
  Marks marks;
  std::size_t groups = 0;
  for (const HostFlows::Job& job : flows->jobs) {
    require(job.flow_class < flows->classes);
    JobMark mark{std::min<std::size_t>(job.flow_class, 3), {}};
    for (const std::string& group : job.cgroups) {
      require(is_cgroup_of(group, job.job, job.run));
      mark.cgroups.push_back({group, 1});
    }
    mark.user = job.user;
    groups += mark.cgroups.size() + (mark.user ? 1 : 0);
    marks[std::to_string(job.job) + "_" + std::to_string(job.run)] = mark;
  }
  const FlowHost host{"eth0", {43, 35, 19, 0}, 100};
  const std::string command = change_command(host, {}, {}, marks);
  const auto count = [&](char c) {
    return static_cast<std::size_t>(std::count(command.begin(), command.end(), c));
  };
  require(count('\n') == 0 && count('\\') == 0 && count('{') == groups && count('}') == groups);
  require(count('"') % 2 == 0);
  return 0;
}
