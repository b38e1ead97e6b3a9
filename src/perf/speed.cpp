#include "perf/speed.h"

#include <algorithm>
#include <limits>

namespace trainyard {
namespace {

double transfer_s(double bytes, double gbps) {
  return bytes * 8 / (gbps * 1e9);
}

/// Each of the members sends so many bytes to the next.
double ring_bytes(double bytes, std::int32_t members) {
  return 2.0 * (members - 1) / members * bytes;
}

double ring_latency_s(std::int32_t members, double latency_us) {
  return 2.0 * (members - 1) * latency_us * 1e-6;
}

Communication flat_ring(double bytes, const Spread& spread, double messages) {
  double gbps = std::numeric_limits<double>::max();
  for (std::size_t tier = 0; tier <= spread.tier; ++tier)
    if (spread.exchanges[tier].members > 1) gbps = std::min(gbps, spread.exchanges[tier].gbps);
  const double sent = ring_bytes(bytes, spread.gpus);
  return {sent, transfer_s(sent, gbps),
          messages * ring_latency_s(spread.gpus, spread.exchanges[spread.tier].latency_us)};
}

Communication hierarchical(double bytes, const Spread& spread, double messages) {
  Communication sum;
  for (std::size_t tier = 0; tier <= spread.tier; ++tier) {
    const Exchange& exchange = spread.exchanges[tier];
    if (exchange.members < 2) continue;
    const double sent = ring_bytes(bytes, exchange.members);
    sum.fixed_s += messages * ring_latency_s(exchange.members, exchange.latency_us);
    (tier == kMachineTier ? sum.fixed_s : sum.shared_s) += transfer_s(sent, exchange.gbps);
    if (tier != kMachineTier) sum.bytes += sent;
  }
  return sum;
}

/// All push to servers, then pull; `crossing` says how many gradients cross the busiest link.
Communication through_servers(double bytes, const Spread& spread, double messages,
                              double Exchange::*crossing) {
  double push = 0;
  for (std::size_t tier = 0; tier <= spread.tier; ++tier) {
    const Exchange& exchange = spread.exchanges[tier];
    if (exchange.*crossing > 0)
      push = std::max(push, transfer_s(exchange.*crossing * bytes, exchange.gbps));
  }
  return {2 * bytes, 2 * push, messages * 2 * spread.exchanges[spread.tier].latency_us * 1e-6};
}

Communication between_machines(double bytes, Collective collective, const Spread& spread,
                               double messages) {
  switch (collective) {
    case Collective::ring:
      return flat_ring(bytes, spread, messages);
    case Collective::hierarchical:
      return hierarchical(bytes, spread, messages);
    case Collective::parameter_server:
      return through_servers(bytes, spread, messages, &Exchange::pushes);
    case Collective::single_server:
      return through_servers(bytes, spread, messages, &Exchange::served);
  }
  return {};
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

Communication communication(double bytes, Collective collective, const Spread& spread,
                            double messages) {
  if (spread.gpus < 2) return {};
  const Communication all = between_machines(bytes, collective, spread, messages);
  if (spread.tier != kMachineTier) return all;
  return {0, 0, all.total_s()};
}

Communication communication(const ModelProfile& model, const Spread& spread) {
  Communication all =
      communication(model.gradient_bytes.value, model.collective, spread, model.messages.value);
  for (double* part : {&all.bytes, &all.shared_s, &all.fixed_s}) *part /= model.compute_scale.value;
  return all;
}

IterationTime iteration_time(const ModelProfile& model, double compute_s, const Spread& spread) {
  IterationTime time;
  time.compute_s = compute_s;
  time.communication_s = communication_time(model, spread);
  time.exposed_s = exposed_time(time.communication_s, compute_s, model.overlap.value);
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
