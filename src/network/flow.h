// What a running job does to the network. The streams of a synchronous collective go at one pace,
// that of the slowest, so a job is one flow: a rate in bytes/s of one stream, on a set of links
// with weights, which say how many streams cross them.
//
//   ring              one stream over every machine in order of their numbers, so over each of the
//                     job's machines, racks and groups once each way: weight 1
//   hierarchical      tier after tier: on the links of a tier's members the share of the bytes that
//                     is exchanged at this tier and above, so 1 on those of machines
//   parameter server  as many gradients as cross the member's link when all push; pulling is
//                     pushing the other way
//   single server     likewise
//
// An iteration's communication takes fixed_s + bytes / rate. Alone on the network the rate is
// `most`, and this is what perf/speed.h says: contention changes nothing where there is one job.
//
// Example: 8 GPUs on two machines of a rack with NICs of 200 GB/s, and 102 MB of gradients. As a
// ring, 178.5 MB go over either NIC, up and down, at 200 GB/s: 0.893 ms, and 0.07 ms for messages.
// Two such jobs on the same machines have 100 GB/s each while both are sending.
#pragma once

#include <limits>
#include <vector>

#include "model/cluster.h"
#include "network/link_use.h"
#include "network/links.h"
#include "perf/model_profile.h"

namespace trainyard {

struct Flow {
  std::vector<LinkUse> links;  // each once; none: all of the job is in one machine
  double bytes = 0;            // that one stream carries in an iteration
  double most = std::numeric_limits<double>::infinity();  // bytes/s of one stream, if alone
  double fixed_s = 0;  // of an iteration's communication, whatever the rate
};

Flow flow_of(const Links& links, const Cluster& cluster, const Placement& placement,
             std::int32_t gpus_per_worker, const ModelProfile& model);

}  // namespace trainyard
