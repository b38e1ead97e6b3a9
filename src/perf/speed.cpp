#include "perf/speed.h"

#include <algorithm>
#include <limits>

namespace trainyard {
namespace {

constexpr double kNeverHidden = 1.0 / 20;

double transfer_s(double bytes, double gbps) {
  return bytes * 8 / (gbps * 1e9);
}

double ring_s(double bytes, std::int32_t members, double gbps, double latency_us) {
  if (members < 2) return 0;
  const double steps = 2.0 * (members - 1);
  return transfer_s(steps / members * bytes, gbps) + steps * latency_us * 1e-6;
}

double flat_ring_s(double bytes, const Spread& spread) {
  double gbps = std::numeric_limits<double>::max();
  for (std::size_t tier = 0; tier <= spread.tier; ++tier)
    if (spread.exchanges[tier].members > 1) gbps = std::min(gbps, spread.exchanges[tier].gbps);
  return ring_s(bytes, spread.gpus, gbps, spread.exchanges[spread.tier].latency_us);
}

double hierarchical_s(double bytes, const Spread& spread) {
  double sum = 0;
  for (std::size_t tier = 0; tier <= spread.tier; ++tier) {
    const Exchange& exchange = spread.exchanges[tier];
    sum += ring_s(bytes, exchange.members, exchange.gbps, exchange.latency_us);
  }
  return sum;
}

double parameter_server_s(double bytes, const Spread& spread) {
  double push = 0;
  for (std::size_t tier = 0; tier <= spread.tier; ++tier) {
    const Exchange& exchange = spread.exchanges[tier];
    if (exchange.pushes > 0)
      push = std::max(push, transfer_s(exchange.pushes * bytes, exchange.gbps));
  }
  return 2 * (push + spread.exchanges[spread.tier].latency_us * 1e-6);
}

}  // namespace

double compute_time(double batch, std::span<const GpuGroup> groups, Shares shares) {
  double slowest = std::numeric_limits<double>::max(), sum = 0;
  std::int32_t gpus = 0;
  for (const GpuGroup& group : groups) {
    slowest = std::min(slowest, group.samples_per_s);
    sum += group.gpus * group.samples_per_s;
    gpus += group.gpus;
  }
  return shares == Shares::equal ? batch / slowest : batch * gpus / sum;
}

double communication_time(double bytes, Collective collective, const Spread& spread) {
  if (spread.gpus < 2) return 0;
  switch (collective) {
    case Collective::ring:
      return flat_ring_s(bytes, spread);
    case Collective::hierarchical:
      return hierarchical_s(bytes, spread);
    case Collective::parameter_server:
      return parameter_server_s(bytes, spread);
  }
  return 0;
}

IterationTime iteration_time(const ModelProfile& model, double compute_s, const Spread& spread) {
  IterationTime time;
  time.compute_s = compute_s;
  time.communication_s = communication_time(model.gradient_bytes.value, model.collective, spread);
  time.exposed_s = std::max(time.communication_s - model.overlap.value * compute_s,
                            time.communication_s * kNeverHidden);
  return time;
}

double stretch(const ModelProfile& model, double compute_s, const Spread& spread,
               const std::vector<Tier>& tiers) {
  if (spread.tier == kMachineTier) return 1;
  const Spread ideal = spread_in_machine(tiers, spread.gpus);
  return std::max(1.0, iteration_time(model, compute_s, spread).total_s() /
                           iteration_time(model, compute_s, ideal).total_s());
}

double compute_time(const Catalogue& catalogue, const ModelProfile& model, const Cluster& cluster,
                    const Placement& placement, std::int32_t gpus_per_worker, Shares shares) {
  std::vector<GpuGroup> groups;
  for (const Share& share : placement) {
    const std::string& kind = cluster.kinds[index(cluster.machine(share.machine).kind)];
    groups.push_back({share.workers * gpus_per_worker, catalogue.samples_per_s(model, kind).value});
  }
  return compute_time(model.batch.value, groups, shares);
}

}  // namespace trainyard
