#include "policy/preempt/victim_index.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace trainyard {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

Resources larger(const Resources& a, const Resources& b) {
  return {std::max(a.gpus, b.gpus), std::max(a.milli_cpus, b.milli_cpus),
          std::max(a.memory_mib, b.memory_mib)};
}

/// How many times the former weight the present one is.
double ratio(double now, double before) {
  return before > 0 ? now / before : kNone;
}

std::uint64_t kind_bit(KindId kind) {
  return std::uint64_t{1} << (index(kind) % 64);
}

}  // namespace

/// A question under way, and the lower bound by which it prunes.
struct VictimIndex::Search {
  const Question& question;
  const Weights& weights;
  std::size_t most;
  std::vector<Choice>& found;          // sorted
  std::array<std::size_t, 3> classes;  // of the demand, where it is in one: in Node::least_of
  std::size_t constrained = 0;         // how many these are
  double step;
  double times = 0, size = 0, pause = 0;
  bool exact = false;

  [[nodiscard]] double bound(const Node& node) const {
    std::uint16_t steps = 0;
    for (std::size_t i = 0; i < constrained; ++i)
      steps = std::max(steps, node.least_of[classes[i]]);
    if (steps == kNobody) return kNone;
    const double least = steps * step;
    if (exact) return std::max(node.least_score, least);
    // A little less, for the rounding that the exact scores do not share.
    return (times * std::max(node.least_score, least) + size * node.least_size +
            pause * node.least_pause) *
           (1 - 1e-12);
  }

  /// Whether a node whose machines begin at `first` could still matter.
  [[nodiscard]] bool promises(double bound, std::size_t first) const {
    if (bound == kNone) return false;
    if (found.size() < most) return true;
    const Choice& worst = found.back();
    return first < index(worst.machine) ? bound <= worst.score : bound < worst.score;
  }
};

VictimIndex::VictimIndex(const Yard& yard)
    : yard_(yard),
      largest_machine_{1, 1, 1},
      leaves_(std::bit_ceil(std::max<std::size_t>(yard.cluster().machines.size(), 1))),
      nodes_(2 * leaves_, nobody()),
      kinds_(2 * leaves_),
      victims_(yard.cluster().machines.size()) {
  for (const Machine& machine : yard.cluster().machines)
    largest_machine_ = larger(largest_machine_, machine.capacity);
  for (std::size_t m = 0; m < victims_.size(); ++m)
    kinds_[leaves_ + m] = kind_bit(yard.cluster().machines[m].kind);
  for (std::size_t node = leaves_; --node > 0;)
    kinds_[node] = kinds_[2 * node] | kinds_[2 * node + 1];
}

// --- Keeping up ----------------------------------------------------------------------------------

void VictimIndex::add(JobId job, double size, double pause, bool pausable) {
  for (std::size_t i = 0; i < yard_.placement(job).size(); ++i) {
    const MachineId machine = yard_.placement(job)[i].machine;
    victims_[index(machine)].push_back({job, yard_.held(job, i), {}, size, pause, pausable});
    update(machine);
  }
}

void VictimIndex::allow(JobId job) {
  for (const Share& share : yard_.placement(job)) {
    for (Victim& victim : victims_[index(share.machine)])
      if (victim.job == job) victim.pausable = true;
    update(share.machine);
  }
}

void VictimIndex::reprice(JobId job, double pause) {
  for (const Share& share : yard_.placement(job)) {
    for (Victim& victim : victims_[index(share.machine)])
      if (victim.job == job) victim.pause = pause;
    update(share.machine);
  }
}

void VictimIndex::remove(JobId job) {
  for (const Share& share : yard_.placement(job)) {
    std::erase_if(victims_[index(share.machine)], [&](const Victim& v) { return v.job == job; });
    update(share.machine);
  }
}

void VictimIndex::refresh(const Placement& machines) {
  for (const Share& share : machines)
    if (!victims_[index(share.machine)].empty()) update(share.machine);
}

VictimIndex::Node VictimIndex::nobody() {
  Node node{kNone, kNone, kNone, 0, 0, {-1, -1, -1}, {}};
  node.least_of.fill(kNobody);
  return node;
}

std::array<std::size_t, 3> VictimIndex::classes(const Resources& amount) const {
  const auto class_of = [](std::int64_t part, std::int64_t of) {
    return static_cast<std::size_t>(std::min<std::int64_t>(part * kClasses / of, kClasses));
  };
  return {class_of(amount.gpus, largest_machine_.gpus),
          class_of(amount.milli_cpus, largest_machine_.milli_cpus),
          class_of(amount.memory_mib, largest_machine_.memory_mib)};
}

VictimIndex::Node VictimIndex::leaf(MachineId machine) const {
  Node node = nobody();
  if (!yard_.free().is_up(machine)) return node;  // closed: what they leave is of no use
  for (const Victim& victim : victims_[index(machine)]) {
    node.largest_size = std::max(node.largest_size, victim.size);
    node.largest_pause = std::max(node.largest_pause, victim.pause);
    if (victim.pausable) count(victim, node);
  }
  return node;
}

std::uint16_t VictimIndex::in_steps(double score) const {
  // A little less, so that rounding never makes it more than the score.
  return static_cast<std::uint16_t>(std::clamp(score / step_ - 0.01, 0.0, kNobody - 1.0));
}

void VictimIndex::count(const Victim& victim, Node& node) const {
  const double score = victim.score(weights_);
  node.least_score = std::min(node.least_score, score);
  node.least_size = std::min(node.least_size, victim.size);
  node.least_pause = std::min(node.least_pause, victim.pause);
  node.room = larger(node.room, victim.room);
  const std::array<std::size_t, 3> up_to = classes(victim.room);
  const std::uint16_t steps = in_steps(score);
  for (std::size_t r = 0; r < up_to.size(); ++r)
    for (std::size_t i = r * kClasses; i < r * kClasses + up_to[r]; ++i)
      node.least_of[i] = std::min(node.least_of[i], steps);
}

void VictimIndex::update(MachineId machine) {
  ++changes_;
  const Resources& free = yard_.free().on(machine);
  for (Victim& victim : victims_[index(machine)]) victim.room = free + victim.held;
  std::size_t node = leaves_ + index(machine);
  nodes_[node] = leaf(machine);
  while (node /= 2) pull(node);
}

void VictimIndex::pull(std::size_t node) {
  const Node &a = nodes_[2 * node], &b = nodes_[2 * node + 1];
  Node& both = nodes_[node];
  both.least_score = std::min(a.least_score, b.least_score);
  both.least_size = std::min(a.least_size, b.least_size);
  both.least_pause = std::min(a.least_pause, b.least_pause);
  both.largest_size = std::max(a.largest_size, b.largest_size);
  both.largest_pause = std::max(a.largest_pause, b.largest_pause);
  both.room = larger(a.room, b.room);
  for (std::size_t i = 0; i < both.least_of.size(); ++i)
    both.least_of[i] = std::min(a.least_of[i], b.least_of[i]);
}

bool VictimIndex::is_stale(const Weights& weights) const {
  if (weights == weights_) return false;
  const auto has_moved = [](double now, double before) {
    return now > 1.1 * before || now < 0.9 * before;
  };
  return changes_ > victims_.size() / 4 || has_moved(weights.size, weights_.size) ||
         has_moved(weights.pause, weights_.pause);
}

void VictimIndex::reweigh(const Weights& weights) {
  weights_ = weights;
  // Fine enough for the largest score there can be; one that comes later may be beyond.
  const double largest = weights.size * largest_size() + weights.pause * largest_pause();
  step_ = largest > 0 ? largest / (kNobody - 1) : 1;
  changes_ = 0;
  for (std::size_t m = 0; m < victims_.size(); ++m)
    nodes_[leaves_ + m] = leaf(MachineId{static_cast<std::uint32_t>(m)});
  for (std::size_t node = leaves_; --node > 0;) pull(node);
}

// --- Searching -----------------------------------------------------------------------------------

bool VictimIndex::could_hold(const Node& node, const Question& question) {
  return question.demand.fits_in(node.room);
}

Resources VictimIndex::demand_on(const Question& question, MachineId machine) const {
  const Shape& shape = yard_.shape(question.waiter);
  if (shape.fit == nullptr) return question.demand;
  const Resources& each = shape.demand(machine);
  return each == kForbidden ? each : each * question.workers;
}

bool VictimIndex::answers(const Question& question, const Resources& demand,
                          const Victim& v) const {
  if (!v.pausable || !demand.fits_in(v.room)) return false;
  // Whether the two would take turns; the rest of what protects it is known already.
  return yard_.state(question.waiter).pauses == 0 ||
         yard_.pausable_from(v.job, question.waiter) <= yard_.now();
}

void VictimIndex::find(const Question& question, const Weights& weights, std::size_t most,
                       std::vector<Choice>& out) {
  out.clear();
  Search search{question, weights, most, out, {}, 0, step_};
  const std::array<std::size_t, 3> demand = classes(question.demand);
  for (std::size_t r = 0; r < demand.size(); ++r)
    if (demand[r] > 0) search.classes[search.constrained++] = r * kClasses + demand[r] - 1;
  search.exact = weights == weights_;
  search.times = std::min(ratio(weights.size, weights_.size), ratio(weights.pause, weights_.pause));
  if (search.times == kNone) search.times = 0;
  search.size = weights.size - search.times * weights_.size;
  search.pause = weights.pause - search.times * weights_.pause;
  if (search.promises(search.bound(nodes_[1]), 0)) descend(search, 1);
}

void VictimIndex::descend(Search& search, std::size_t node) const {
  if (!could_hold(nodes_[node], search.question)) return;
  const KindId kind = search.question.kind;
  if (kind != kAnyKind && (kinds_[node] & kind_bit(kind)) == 0) return;
  if (node >= leaves_) {
    visit(search, MachineId{static_cast<std::uint32_t>(node - leaves_)});
    return;
  }
  std::size_t near = 2 * node, far = near + 1;
  double near_bound = search.bound(nodes_[near]), far_bound = search.bound(nodes_[far]);
  if (far_bound < near_bound) {
    std::swap(near, far);
    std::swap(near_bound, far_bound);
  }
  const auto first_machine = [&](std::size_t n) {
    return (n << (std::bit_width(leaves_) - std::bit_width(n))) - leaves_;
  };
  if (search.promises(near_bound, first_machine(near))) descend(search, near);
  if (search.promises(far_bound, first_machine(far))) descend(search, far);
}

void VictimIndex::visit(Search& search, MachineId machine) const {
  const Question& question = search.question;
  if (!is_of_kind(question.kind, machine)) return;
  const Resources demand = demand_on(question, machine);
  if (question.only_if_needed && demand.fits_in(yard_.free().on(machine))) return;
  Choice best{kNone, machine, kNoJob};
  for (const Victim& victim : victims_[index(machine)]) {
    const double score = victim.score(search.weights);
    const bool better = score < best.score || (score == best.score && victim.job > best.job);
    if (better && answers(question, demand, victim)) best = {score, machine, victim.job};
  }
  if (best.job == kNoJob) return;
  std::vector<Choice>& found = search.found;
  if (found.size() == search.most) {
    if (!(best < found.back())) return;
    found.pop_back();
  }
  found.insert(std::upper_bound(found.begin(), found.end(), best), best);
}

VictimIndex::Weights VictimIndex::largest_of(const Question& question) const {
  Weights largest;
  // Down to every machine that could answer and has something larger than what is known.
  const auto look = [&](const auto& self, std::size_t node) -> void {
    const Node& here = nodes_[node];
    if (!could_hold(here, question)) return;
    if (here.largest_size <= largest.size && here.largest_pause <= largest.pause) return;
    if (node < leaves_) {
      self(self, 2 * node);
      self(self, 2 * node + 1);
      return;
    }
    const MachineId machine{static_cast<std::uint32_t>(node - leaves_)};
    if (!is_of_kind(question.kind, machine)) return;
    const Resources demand = demand_on(question, machine);
    for (const Victim& victim : victims_[index(machine)]) {
      if (!answers(question, demand, victim)) continue;
      largest.size = std::max(largest.size, victim.size);
      largest.pause = std::max(largest.pause, victim.pause);
    }
  };
  look(look, 1);
  return largest;
}

}  // namespace trainyard
