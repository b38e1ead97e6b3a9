#include "live/engine/slurm/nodes.h"

#include <algorithm>

namespace trainyard {
namespace {

bool same_machine(const SlurmNode& a, const SlurmNode& b) {
  return a.name == b.name && a.rack == b.rack && a.kind == b.kind && a.capacity == b.capacity &&
         a.features == b.features;
}

/// In the order in which racks, and nodes in them, come first.
void sort_by_rack(std::vector<SlurmNode>& nodes) {
  std::vector<std::string> racks;
  for (const SlurmNode& node : nodes)
    if (std::ranges::find(racks, node.rack) == racks.end()) racks.push_back(node.rack);
  std::ranges::stable_sort(nodes, {}, [&](const SlurmNode& node) {
    return std::ranges::find(racks, node.rack) - racks.begin();
  });
}

}  // namespace

SlurmNodes::Change SlurmNodes::take(std::vector<SlurmNode> now) {
  for (const SlurmNode& was : nodes_) {
    if (std::ranges::find(now, was.name, &SlurmNode::name) != now.end()) continue;
    now.push_back(was);
    now.back().state = MachineReport::State::down;
    now.back().why = "Slurm does not have it in this partition any more";
  }
  sort_by_rack(now);
  Change change;
  change.is_other_cluster = !std::ranges::equal(now, nodes_, same_machine);
  for (const SlurmNode& node : now) {
    const auto was = std::ranges::find(nodes_, node.name, &SlurmNode::name);
    const bool is_news = was == nodes_.end() ? node.state != MachineReport::State::up
                                             : was->state != node.state || was->why != node.why;
    if (is_news) change.states.push_back({node.name, node.state, node.why});
  }
  nodes_ = std::move(now);
  if (change.is_other_cluster) make_cluster();
  return change;
}

void SlurmNodes::make_cluster() {
  cluster_ = {};
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const SlurmNode& node = nodes_[i];
    if (i == 0 || nodes_[i - 1].rack != node.rack) cluster_.add_rack(0);
    Machine machine;
    machine.capacity = node.capacity;
    machine.features = node.features;
    if (cluster_.add_machines(1, machine, node.kind)) cluster_.machines.back().name = node.name;
  }
}

std::optional<MachineId> SlurmNodes::find(const std::string& name) const {
  const auto found = std::ranges::find(nodes_, name, &SlurmNode::name);
  if (found == nodes_.end()) return {};
  return MachineId{static_cast<std::uint32_t>(found - nodes_.begin())};
}

bool SlurmNodes::is_down(const std::string& name) const {
  const auto found = std::ranges::find(nodes_, name, &SlurmNode::name);
  return found != nodes_.end() && found->state == MachineReport::State::down;
}

}  // namespace trainyard
