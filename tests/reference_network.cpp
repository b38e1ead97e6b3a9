#include "reference_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "perf/speed.h"

namespace trainyard::reference {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// What of a job is behind a link, and what there is of it in all.
struct Behind {
  double gpus = 0, machines = 0;
  bool has_server = false;  // the machine with the lowest number
};

bool is_behind(const Cluster& cluster, std::size_t link, std::size_t machine) {
  const std::size_t machines = cluster.machines.size();
  return link < machines ? link == machine
                         : link - machines == index(cluster.machines[machine].rack);
}

Behind behind(const Cluster& cluster, const Gpus& gpus, std::optional<std::size_t> link) {
  Behind sum;
  bool is_first = true;
  for (std::size_t m = 0; m < gpus.workers.size(); ++m) {
    if (gpus.workers[m] == 0) continue;
    if (!link || is_behind(cluster, *link, m)) {
      sum.gpus += gpus.workers[m] * gpus.per_worker;
      sum.machines += 1;
      sum.has_server = sum.has_server || is_first;
    }
    is_first = false;
  }
  return sum;
}

/// Hierarchical: of all that is exchanged between machines, the part between racks.
double part_between_racks(const Cluster& cluster, const Gpus& gpus) {
  double racks = 0, most_in_rack = 0;
  for (std::size_t rack = 0; rack < cluster.racks.size(); ++rack) {
    const double here = behind(cluster, gpus, cluster.machines.size() + rack).machines;
    racks += here > 0 ? 1 : 0;
    most_in_rack = std::max(most_in_rack, here);
  }
  const double within = 1 - 1 / most_in_rack, between = 1 - 1 / racks;
  return between / (within + between);
}

double weight_on(const Cluster& cluster, Collective collective, const Gpus& gpus,
                 std::size_t link) {
  const Behind here = behind(cluster, gpus, link), all = behind(cluster, gpus, {});
  if (collective == Collective::hierarchical)
    return link < cluster.machines.size() ? 1 : part_between_racks(cluster, gpus);
  if (collective == Collective::parameter_server)
    return std::max(here.gpus * (all.machines - here.machines) / all.machines,
                    (all.gpus - here.gpus) * here.machines / all.machines);
  if (collective == Collective::single_server)
    return here.has_server ? all.gpus - here.gpus : here.gpus;
  return 1;
}

/// Max-min fair within classes. A flow's level on a link is the rate that the link lets it have.
class Filling {
 public:
  Filling(const std::vector<double>& capacities, double floor, double loss,
          std::vector<Sender>& senders)
      : capacities_(capacities), floor_(floor), loss_(loss), senders_(senders) {}

  void run() {
    std::set<std::size_t> classes;
    for (const Sender& sender : senders_) classes.insert(sender.flow_class);
    for (const std::size_t flow_class : classes) fill(flow_class);
  }

 private:
  /// The lowest level of all depends on no other, the next one on that, and so on: with as many
  /// rounds as there are levels all are right.
  void fill(std::size_t flow_class) {
    std::vector<std::size_t> flows;
    for (std::size_t f = 0; f < senders_.size(); ++f)
      if (senders_[f].flow_class == flow_class) flows.push_back(f);
    levels_.assign(senders_.size(), std::vector<double>(capacities_.size(), kNoLimit));
    std::size_t pairs = 0;
    for (const std::size_t f : flows) pairs += senders_[f].work.links.size();
    for (std::size_t round = 0; round <= pairs; ++round) {
      const auto before = levels_;
      for (const std::size_t f : flows)
        for (const Crossing& crossing : senders_[f].work.links)
          levels_[f][crossing.link] = level(before, flows, f, crossing);
      if (levels_ == before) break;
    }
    for (const std::size_t f : flows) senders_[f].rate = limit_beside(levels_, f, {});
  }

  /// What the flow can have on all links but this one.
  [[nodiscard]] double limit_beside(const std::vector<std::vector<double>>& levels, std::size_t f,
                                    std::optional<std::size_t> link) const {
    double limit = senders_[f].work.most;
    for (const Crossing& crossing : senders_[f].work.links)
      if (crossing.link != link) limit = std::min(limit, levels[f][crossing.link]);
    return limit;
  }

  [[nodiscard]] static double weight(const Sender& sender, std::size_t link) {
    for (const Crossing& crossing : sender.work.links)
      if (crossing.link == link) return crossing.weight;
    return 0;
  }

  /// What it uses of its room while it sends, with what the others use on average, is all of it.
  [[nodiscard]] double level(const std::vector<std::vector<double>>& levels,
                             const std::vector<std::size_t>& flows, std::size_t f,
                             const Crossing& crossing) const {
    const double room = room_for(f, crossing.link);
    double level = 0;
    while (true) {
      double left = room, sharing = crossing.weight;
      for (const std::size_t g : flows) {
        const double average = senders_[g].share * weight(senders_[g], crossing.link);
        if (g == f || average == 0) continue;
        const double limit = limit_beside(levels, g, crossing.link);
        if (limit < level)
          left -= average * limit;
        else
          sharing += average;
      }
      const double next = std::max(level, left / sharing);
      if (next == level) return level;
      level = next;
    }
  }

  /// What higher classes leave of the link, and the last one does not keep.
  [[nodiscard]] double room_for(std::size_t f, std::size_t link) const {
    const Sender& self = senders_[f];
    double used = 0, others = 0, last_wants = 0;
    std::size_t last = 0;
    for (const Sender& sender : senders_)
      if (weight(sender, link) > 0) last = std::max(last, sender.flow_class);
    for (const Sender& sender : senders_) {
      const double average = sender.share * weight(sender, link);
      if (average == 0) continue;
      if (sender.flow_class < self.flow_class) used += average * sender.rate;
      if (sender.flow_class <= self.flow_class && &sender != &self) others += sender.share;
      if (sender.flow_class == last) last_wants += average * sender.work.most;
    }
    const double capacity = capacities_[link];
    const double kept = self.flow_class == last ? 0 : std::min(floor_ * capacity, last_wants);
    const double room = capacity * (1 + others) / (1 + others + others * loss_) - used - kept;
    return room > 1e-10 * capacity ? room : 0;
  }

  const std::vector<double>& capacities_;
  double floor_, loss_;
  std::vector<Sender>& senders_;
  std::vector<std::vector<double>> levels_;  // by flow and link
};

}  // namespace

double Iteration::total_s(double rate) const {
  if (rate <= 0) return kNoLimit;
  const double communication_s = fixed_s + bytes / rate;
  return compute_s + std::max(communication_s - overlap * compute_s, communication_s / 20);
}

double Iteration::sending_share(double rate) const {
  return rate <= 0 ? 1 : std::clamp(bytes / rate / total_s(rate), 1e-6, 1.0);
}

std::vector<double> link_capacities(const Cluster& cluster) {
  constexpr double kBytesOfGbit = 1e9 / 8;
  std::vector<double> capacities;
  for (const Machine& machine : cluster.machines)
    capacities.push_back(machine.nic_gbps / cluster.tiers[1].oversubscription * kBytesOfGbit);
  for (const Rack& rack : cluster.racks) {
    double gbps = cluster.tiers[2].gbps / cluster.tiers[2].oversubscription;
    if (rack.uplink_gbps > 0) gbps = std::min(gbps, rack.uplink_gbps);
    capacities.push_back(gbps * kBytesOfGbit);
  }
  return capacities;
}

Iteration iteration_of(const Cluster& cluster, const ModelProfile& model, const Gpus& gpus,
                       double compute_s, double work_s) {
  Placement placement;
  for (std::size_t m = 0; m < gpus.workers.size(); ++m)
    if (gpus.workers[m] > 0)
      placement.push_back({MachineId{static_cast<std::uint32_t>(m)}, gpus.workers[m]});
  const Communication alone = communication(model.gradient_bytes.value, model.collective,
                                            spread_of(cluster, placement, gpus.per_worker));
  Iteration work;
  work.compute_s = compute_s;
  work.work_s = work_s;
  work.overlap = model.overlap.value;
  work.fixed_s = alone.fixed_s;
  if (alone.shared_s <= 0) return work;
  work.bytes = alone.bytes;
  work.most = alone.bytes / alone.shared_s;
  const std::vector<double> capacities = link_capacities(cluster);
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    const double here = behind(cluster, gpus, link).gpus;
    if (here == 0 || here == behind(cluster, gpus, {}).gpus) continue;  // nothing crosses it
    work.links.push_back({link, std::min(weight_on(cluster, model.collective, gpus, link),
                                         capacities[link] / work.most)});
  }
  return work;
}

void find_rates(const std::vector<double>& capacities, double floor, double loss,
                std::vector<Sender>& senders) {
  constexpr double kSame = 1e-12;
  constexpr int kMostRounds = 10'000;
  for (Sender& sender : senders) sender.share = sender.work.sending_share(sender.work.most);
  for (int round = 0; round < kMostRounds; ++round) {
    Filling(capacities, floor, loss, senders).run();
    double change = 0;
    for (Sender& sender : senders) {
      const double share = sender.work.sending_share(sender.rate);
      change = std::max(change, std::abs(share - sender.share) / share);
      sender.share = share;
    }
    if (change < kSame) return;
  }
}

}  // namespace trainyard::reference
