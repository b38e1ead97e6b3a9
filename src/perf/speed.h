// The time of one training iteration on a placement: compute, and what of the communication is left
// over when both run at once.
//
//   compute, equal shares         batch / samples per second of the slowest GPU
//   compute, proportional shares  all samples / the sum of the samples per second of all GPUs
//
//   ring, n GPUs                  2 (n-1)/n bytes / slowest link used + 2 (n-1) latency of the tier
//   hierarchical                  the same for each tier with g members, one after the other
//   parameter server              twice (push, pull) the bytes over the busiest link + 2 latencies
//   single server                 the same, with one server instead of one on each machine
//
//   exposed = max(communication - overlap x compute, communication / 20)
//   iteration = compute + exposed
//
// Gradients that are sent layer by layer (messages) have the latencies of each. A model whose
// computing counts for less than its duration says (compute_scale, of simulators that were set up
// so) has all of its communication for as much longer.
//
// A twentieth is never hidden: the last gradients are ready only when computing is over. The share
// is ours; with 0 or 1/10 the median error of the fit (fit.h) changes by less than 0.2 points.
//
// Example, with the default tiers (machine 600 GB/s, 0.5 us; rack 200 GB/s, 5 us): ResNet-50
// exchanges 102 MB; 8 GPUs, 4 on each of two machines of a rack.
//   ring:          2 x 7/8 x 102 MB / 200 GB/s = 0.893 ms, + 14 x 5 us                  = 0.963 ms
//   hierarchical:  in the machines 2 x 3/4 x 102 MB / 600 GB/s = 0.255 ms, + 6 x 0.5 us,
//                  between them 2 x 1/2 x 102 MB / 200 GB/s = 0.510 ms, + 2 x 5 us      = 0.778 ms
//   server:        a shard on each machine; 4 workers push half of their 102 MB to the
//                  other one: 2 x 2 x 102 MB / 200 GB/s = 2.040 ms, + 2 x 5 us          = 2.050 ms
//   single server: all 102 MB of 4 workers go to the other machine: 4.080 ms, + 2 x 5 us = 4.090 ms
// With batch 64 at 400 samples/s computing takes 160 ms, and with overlap 0.5 all of it is hidden
// but a twentieth of the ring's time: 0.048 ms.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "perf/catalogue.h"
#include "perf/model_profile.h"
#include "perf/spread.h"

namespace trainyard {

/// How the samples of an iteration are dealt out to GPUs of different speed: every one a batch, or
/// so that all are done at once.
enum class Shares : std::uint8_t { equal, proportional };

struct GpuGroup {
  std::int32_t gpus = 0;
  double samples_per_s = 0;  // of each
};

struct IterationTime {
  double compute_s = 0;
  double communication_s = 0;
  double exposed_s = 0;  // of the communication

  [[nodiscard]] double total_s() const { return compute_s + exposed_s; }
};

/// `batch` samples for each GPU on average.
double compute_time(double batch, std::span<const GpuGroup> groups, Shares shares);

/// The share of the communication that is never hidden.
constexpr double kNeverHidden = 1.0 / 20;
/// What of the communication is left over where computing can hide some of it.
inline double exposed_time(double communication_s, double compute_s, double overlap) {
  return std::max(communication_s - overlap * compute_s, communication_s * kNeverHidden);
}

/// The communication of which so much is left over.
inline double communication_exposing(double exposed_s, double compute_s, double overlap) {
  return std::min(exposed_s / kNeverHidden, exposed_s + overlap * compute_s);
}

/// One iteration's communication, when nobody else uses the network.
struct Communication {
  double bytes = 0;     // that a stream between machines carries; others may use its links
  double shared_s = 0;  // for these bytes
  double fixed_s = 0;   // besides: messages on their way, and what happens inside machines

  [[nodiscard]] double total_s() const { return shared_s + fixed_s; }
};

Communication communication(double bytes, Collective collective, const Spread& spread,
                            double messages = 1);
Communication communication(const ModelProfile& model, const Spread& spread);

inline double communication_time(double bytes, Collective collective, const Spread& spread) {
  return communication(bytes, collective, spread).total_s();
}
inline double communication_time(const ModelProfile& model, const Spread& spread) {
  return communication(model, spread).total_s();
}

IterationTime iteration_time(const ModelProfile& model, double compute_s, const Spread& spread);

/// At least 1: how much longer an iteration is than with the same GPUs in one machine. Cheap; to be
/// kept by (model, compute_s, spread) where it is asked for often.
double stretch(const ModelProfile& model, double compute_s, const Spread& spread,
               const std::vector<Tier>& tiers);

/// The compute time of a model on the GPUs of a placement, by their kinds.
double compute_time(const Catalogue& catalogue, const ModelProfile& model, const Cluster& cluster,
                    const Placement& placement, std::int32_t gpus_per_worker, Shares shares);

}  // namespace trainyard
