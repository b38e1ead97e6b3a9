#include "network/fair_share.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {
namespace {

/// A rate that differs by less is not listed.
constexpr double kSameRate = 1e-9;
/// Less of a link than this is nothing: what rounding leaves for a lower class.
constexpr double kNothing = 1e-10;
/// A link is looked at while less of it than this remains beyond what is wanted.
constexpr double kMargin = 1e-6;

bool differs(double a, double b, double tolerance) {
  return a != b && !(std::abs(a - b) <= tolerance * std::min(a, b));
}

}  // namespace

FairShare::FairShare(const std::vector<double>& capacities) : FairShare(capacities, {}) {}

FairShare::FairShare(const std::vector<double>& capacities, Options options) : options_(options) {
  links_.reserve(capacities.size());
  for (const double capacity : capacities) links_.push_back({capacity, {}});
}

FlowId FairShare::add(std::span<const LinkUse> links, double most, FlowClass flow_class,
                      double activity) {
  if (free_flows_.empty()) {
    free_flows_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const std::uint32_t id = free_flows_.back();
  free_flows_.pop_back();
  FlowState& flow = flows_[id];
  flow.present = true;
  flow.flow_class = flow_class;
  flow.activity = activity;
  flow.most = most;
  flow.listed = -1;
  uses_.assign(links.begin(), links.end());
  std::ranges::sort(uses_, {}, &LinkUse::link);
  flow.hops.clear();
  for (const LinkUse& use : uses_) {
    if (use.weight <= 0) continue;
    const auto link = static_cast<std::uint32_t>(use.link);
    if (!flow.hops.empty() && flow.hops.back().link == link)
      flow.hops.back().weight += use.weight;
    else
      flow.hops.push_back({link, 0, 0, use.weight, 0});
  }
  enter(id);
  return FlowId{id};
}

void FairShare::remove(FlowId flow) {
  const auto id = static_cast<std::uint32_t>(flow);
  leave(id);
  flows_[id].present = false;
  free_flows_.push_back(id);
}

void FairShare::set_class(FlowId flow, FlowClass flow_class) {
  const auto id = static_cast<std::uint32_t>(flow);
  if (flows_[id].flow_class == flow_class) return;
  leave(id);
  flows_[id].flow_class = flow_class;
  enter(id);
}

void FairShare::set_activity(FlowId id, double activity) {
  FlowState& flow = flows_[index(id)];
  const double change = activity - std::exchange(flow.activity, activity);
  if (change == 0) return;
  for (const Hop& hop : flow.hops) {
    want(flow, hop, change * hop.weight * flow.rate);
    disturb(hop, change * hop.weight * flow.rate);
  }
}

double FairShare::used(LinkId link) const {
  double sum = 0;
  for (const std::uint32_t queue : links_[index(link)].queues) sum += used_by(queues_[queue]);
  return sum;
}

double FairShare::used_by(const Queue& queue) const {
  double sum = 0;
  for (const Member& member : queue.members) {
    const FlowState& flow = flows_[member.flow];
    sum += flow.activity * member.weight * flow.rate;
  }
  return sum;
}

/// Joins the queues of its class, where nothing is known of its levels yet.
void FairShare::enter(std::uint32_t id) {
  FlowState& flow = flows_[id];
  flow.rate = flow.next = flow.bar = flow.most;
  flow.tightest = kNoHop;
  for (std::uint32_t h = 0; h < flow.hops.size(); ++h) {
    Hop& hop = flow.hops[h];
    hop.queue = queue_for(hop.link, flow.flow_class);
    hop.level = kUnlimited;
    Queue& queue = queues_[hop.queue];
    hop.place = static_cast<std::uint32_t>(queue.members.size());
    queue.members.push_back({id, h, hop.weight, hop.level});
    queue.weight += hop.weight;
    want(flow, hop, flow.activity * hop.weight * flow.rate);
    disturb(hop, flow.activity * hop.weight * flow.rate);
  }
  note(id);
}

void FairShare::leave(std::uint32_t id) {
  const FlowState& flow = flows_[id];
  for (const Hop& hop : flow.hops) {
    Queue& queue = queues_[hop.queue];
    const Member last = queue.members.back();
    queue.members[hop.place] = last;
    flows_[last.flow].hops[last.hop].place = hop.place;
    queue.members.pop_back();
    queue.weight -= hop.weight;
    want(flow, hop, -flow.activity * hop.weight * flow.rate);
    disturb(hop, -flow.activity * hop.weight * flow.rate);
    if (queue.members.empty()) drop_queue(hop.queue);
  }
}

std::uint32_t FairShare::queue_for(std::uint32_t link, FlowClass flow_class) {
  std::vector<std::uint32_t>& queues = links_[link].queues;
  const auto at = std::ranges::find_if(
      queues, [&](std::uint32_t queue) { return queues_[queue].flow_class >= flow_class; });
  if (at != queues.end() && queues_[*at].flow_class == flow_class) return *at;
  if (free_queues_.empty()) {
    free_queues_.push_back(static_cast<std::uint32_t>(queues_.size()));
    queues_.emplace_back();
  }
  const std::uint32_t made = free_queues_.back();
  free_queues_.pop_back();
  Queue& queue = queues_[made];
  queue.link = link;
  queue.flow_class = flow_class;
  queue.wide = false;
  queue.room = queue.weight = queue.top = 0;
  queues.insert(at, made);
  mark_last(links_[link]);
  return made;
}

void FairShare::drop_queue(std::uint32_t queue) {
  Link& link = links_[queues_[queue].link];
  std::erase(link.queues, queue);
  mark_last(link);
  queues_[queue].due = kUnlimited;
  free_queues_.push_back(queue);
}

void FairShare::mark_last(const Link& link) {
  for (const std::uint32_t queue : link.queues) queues_[queue].last = queue == link.queues.back();
}

/// The flow wants so much more, or less, of the link, where that is wide.
void FairShare::want(const FlowState& flow, const Hop& hop, double more) {
  Queue& queue = queues_[hop.queue];
  queue.wanted += more;
  queue.burst = std::max(queue.burst, hop.weight * (flow.bar - flow.activity * flow.rate));
  weigh(hop.queue);
}

/// Whether a wide link still has room.
void FairShare::weigh(std::uint32_t id) {
  Queue& queue = queues_[id];
  const double lacking = queue.wanted + queue.burst - queue.room;
  if (!queue.wide || !std::isfinite(lacking)) return look_again(id);
  if (lacking > 0)
    make_due(id, lowest_possible(queue));
  else
    queue.due = kUnlimited;
}

void FairShare::look_again(std::uint32_t queue) {
  queues_[queue].wide = false;
  make_due(queue, lowest_possible(queues_[queue]));
}

/// Of the flows of a class on a link some are others, or are active more or less; they use so much
/// more. Where sharing costs something or the last class keeps a floor, any room may be another.
void FairShare::disturb(const Hop& hop, double more) {
  if (options_.loss <= 0 && options_.floor <= 0) return leave_less(hop, more);
  for (const std::uint32_t queue : links_[hop.link].queues) look_again(queue);
}

/// Lower classes have so much less of the link.
void FairShare::leave_less(const Hop& hop, double less) {
  if (queues_[hop.queue].last) return;
  const std::vector<std::uint32_t>& queues = links_[hop.link].queues;
  for (std::size_t q = queues.size(); q-- > 0 && queues[q] != hop.queue;) {
    queues_[queues[q]].room -= less;
    weigh(queues[q]);
  }
}

/// From this level on, at the lowest, things are not as they were.
void FairShare::make_due(std::uint32_t queue, double level) {
  if (queues_[queue].due <= level) return;
  queues_[queue].due = level;
  visits_.push_back({queues_[queue].flow_class, level, queue});
  std::push_heap(visits_.begin(), visits_.end());
}

/// Removes those at the front of the heap that are out of date.
bool FairShare::any_due() {
  const auto is_old = [&](const Visit& visit) {
    const Queue& queue = queues_[visit.queue];
    return queue.due != visit.level || queue.flow_class != visit.flow_class;
  };
  while (!visits_.empty() && is_old(visits_.front())) {
    std::pop_heap(visits_.begin(), visits_.end());
    visits_.pop_back();
  }
  return !visits_.empty();
}

const std::vector<FlowId>& FairShare::settle() {
  // Levels settle from the lowest up, so this ends by itself; but rounding knows no proofs.
  double tolerance = options_.same;
  for (std::size_t steps = 0; any_due(); ++steps) {
    if (steps > 1000 + 100 * queues_.size()) tolerance *= 10, steps = 0;
    Queue& queue = queues_[visits_.front().queue];
    queue.due = kUnlimited;
    find_levels(queue);
    take_over(queue, tolerance);
  }
  list_changes();
  return listed_;
}

void FairShare::list_changes() {
  listed_.clear();
  for (const std::uint32_t id : touched_) {
    FlowState& flow = flows_[id];
    flow.noted = false;
    if (!flow.present || !differs(flow.rate, flow.listed, kSameRate)) continue;
    flow.listed = flow.rate;
    listed_.push_back(FlowId{id});
  }
  touched_.clear();
}

/// Of the queue's members, in demands_.
void FairShare::find_levels(Queue& queue) {
  gather(queue);
  queue.wide = is_wide(queue);
  if (!queue.wide) return finder_.find(demands_);
  for (Demand& demand : demands_) demand.level = kUnlimited;
}

/// Whether no level would be below its flow's bar. One is not, if
/// weight bar + sum over the others of average limit <= room.
bool FairShare::is_wide(Queue& queue) const {
  queue.room = kUnlimited;
  queue.weight = queue.wanted = queue.burst = 0;
  bool tight = false;
  for (const Demand& demand : demands_) {
    const Member& member = queue.members[demand.name];
    const FlowState& flow = flows_[member.flow];
    tight |= flow.tightest == member.hop;
    queue.room = std::min(queue.room, demand.room);
    queue.weight += demand.weight;
    queue.wanted += demand.average * demand.limit;
    queue.burst = std::max(queue.burst, demand.weight * flow.bar - demand.average * demand.limit);
  }
  queue.room -= kMargin * links_[queue.link].capacity;
  return !tight && queue.room > 0 && queue.wanted + queue.burst <= queue.room;
}

void FairShare::gather(const Queue& queue) {
  const Link& link = links_[queue.link];
  double used = 0, active = 0;
  for (const std::uint32_t other : link.queues) {
    if (queues_[other].flow_class > queue.flow_class) break;
    if (queues_[other].flow_class < queue.flow_class) used += used_by(queues_[other]);
    if (options_.loss > 0) active += active_in(queues_[other]);
  }
  used += kept_for_last(queue);
  demands_.clear();
  for (std::uint32_t place = 0; place < queue.members.size(); ++place) {
    const Member& member = queue.members[place];
    const FlowState& flow = flows_[member.flow];
    const double sharing = std::max(0.0, active - flow.activity);  // besides this flow
    const double room =
        link.capacity * (1 + sharing) / (1 + sharing + sharing * options_.loss) - used;
    demands_.push_back({flow.limit_beside(member.hop), member.weight, flow.activity * member.weight,
                        room > kNothing * link.capacity ? room : 0, place, 0});
  }
}

double FairShare::active_in(const Queue& queue) const {
  double sum = 0;
  for (const Member& member : queue.members) sum += flows_[member.flow].activity;
  return sum;
}

/// The floor of the last class on the link, where this is another one.
double FairShare::kept_for_last(const Queue& queue) const {
  if (options_.floor <= 0) return 0;
  const Link& link = links_[queue.link];
  const Queue& last = queues_[link.queues.back()];
  if (last.flow_class == queue.flow_class) return 0;
  double wanted = 0;
  for (const Member& member : last.members) {
    const FlowState& flow = flows_[member.flow];
    wanted += flow.activity * member.weight * flow.most;
  }
  return std::min(options_.floor * link.capacity, wanted);
}

/// The levels that were found become those of the queue's members.
void FairShare::take_over(Queue& queue, double tolerance) {
  queue.top = 0;
  for (Demand& demand : demands_) {
    const double old = queue.members[demand.name].level;
    if (!differs(old, demand.level, tolerance)) demand.level = old;
    queue.top = std::max(queue.top, demand.level);
  }
  for (const Demand& demand : demands_) {
    Member& member = queue.members[demand.name];
    const double old = std::exchange(member.level, demand.level);
    FlowState& flow = flows_[member.flow];
    const bool matters = member.hop == flow.tightest
                             ? old != demand.level || flow.bar != queue.top
                             : old != demand.level && std::min(old, demand.level) < flow.bar;
    if (old != demand.level) flow.hops[member.hop].level = demand.level;
    if (matters) relimit(member.flow);
  }
}

/// Finds again what limits a flow after one of its levels has changed. What it can have beside its
/// tightest link matters to the others there only below the top of their levels. That is its bar:
/// a level from there on is as good as none.
void FairShare::relimit(std::uint32_t id) {
  FlowState& flow = flows_[id];
  const double old_rate = flow.rate, old_next = flow.next;
  const std::uint32_t old_tightest = flow.tightest;
  flow.rate = flow.next = flow.bar = flow.most;
  flow.tightest = kNoHop;
  for (std::uint32_t h = 0; h < flow.hops.size(); ++h) {
    const double level = flow.hops[h].level;
    if (level < flow.rate) {
      flow.next = std::exchange(flow.rate, level);
      flow.tightest = h;
    } else {
      flow.next = std::min(flow.next, level);
    }
  }
  if (flow.tightest != kNoHop) flow.bar = queues_[flow.hops[flow.tightest].queue].top;
  for (std::uint32_t h = 0; h < flow.hops.size(); ++h) {
    const Hop& hop = flow.hops[h];
    tell(flow, hop, h == old_tightest ? old_next : old_rate, flow.limit_beside(h));
    if (flow.rate != old_rate) leave_less(hop, flow.activity * hop.weight * (flow.rate - old_rate));
  }
  if (flow.rate != old_rate) note(id);
}

/// What the flow can have besides this link is another amount than before.
void FairShare::tell(const FlowState& flow, const Hop& hop, double old_limit, double limit) {
  const Queue& queue = queues_[hop.queue];
  const double lower = std::min(old_limit, limit);
  if (queue.wide)
    want(flow, hop, flow.activity * hop.weight * (limit - old_limit));
  else if (limit != old_limit && lower < queue.top)
    make_due(hop.queue, lower);
}

void FairShare::note(std::uint32_t id) {
  if (std::exchange(flows_[id].noted, true)) return;
  touched_.push_back(id);
}

}  // namespace trainyard
