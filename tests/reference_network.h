// The shared network of the reference: docs/network.md, sentence by sentence. All rates, and the
// shares of time in which jobs send, are found from nothing whenever something changes.
//
// Links are those of machines, then those of racks. What goes up a link also comes down, so one
// number stands for both ways.
#pragma once

#include <cstddef>
#include <vector>

#include "model/cluster.h"
#include "perf/model_profile.h"
#include "reference_place.h"

namespace trainyard::reference {

struct Crossing {
  std::size_t link;
  double weight;  // bytes there for each byte of a stream
};

struct Iteration {
  std::vector<Crossing> links;  // none: it sends nothing over links
  double bytes = 0;             // of one stream
  double most = 1;              // bytes/s of a stream, if alone
  double fixed_s = 0;           // of the communication, whatever the rate
  double compute_s = 0;
  double overlap = 0;
  double work_s = 0;  // what of the job's duration it does

  [[nodiscard]] double total_s(double rate) const;
  /// Of its time, the part in which it sends.
  [[nodiscard]] double sending_share(double rate) const;
};

struct Gpus {
  const Spots& workers;
  std::int32_t per_worker;
};
Iteration iteration_of(const Cluster& cluster, const ModelProfile& model, const Gpus& gpus,
                       double compute_s, double work_s);

/// In bytes/s.
std::vector<double> link_capacities(const Cluster& cluster);

struct Sender {
  Iteration work;
  std::size_t flow_class = 0;
  double share = 1;  // of the time, in which it sends
  double rate = 0;   // of a stream
};

/// Finds rates and shares that agree with each other.
void find_rates(const std::vector<double>& capacities, double floor, double loss,
                std::vector<Sender>& senders);

}  // namespace trainyard::reference
