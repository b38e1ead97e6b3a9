#include "reference_flow.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace trainyard::reference {

FlowOrder::FlowOrder(State& state, const Settings& settings) : state_(state), set_(settings) {
  state_.flow_floor = set_.flow_floor;
}

Time FlowOrder::refresh() {
  if (set_.flow == "fair") return Time::never();
  note_who_sends();
  const bool is_due = state_.now >= next_;
  if (std::exchange(has_news_, false) || (is_due && drifts())) {
    if (is_due) next_ = state_.now + set_.flow_period;
    if (is_due && drifts())
      for (auto& [j, sender] : senders_) sender.rank = rank(j);
    std::vector<Rank> order;
    for (const auto& [j, sender] : senders_) order.push_back(sender.rank);
    std::sort(order.begin(), order.end());
    const std::size_t last = set_.flow_classes - 1;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const auto& [is_parked, tier, key, tie, j] = order[place];
      state_.trains[j].flow_class = is_parked ? last : std::min(place, last);
    }
  }
  return senders_.size() > 1 && drifts() ? next_ : Time::never();
}

std::size_t FlowOrder::class_at_start(std::size_t j) {
  if (set_.flow == "fair" || (state_.job(j).workers == 1 && state_.up.size() > 1)) return 0;
  note_who_sends();
  const Rank own = rank(j);
  const std::size_t last = set_.flow_classes - 1;
  if (std::get<0>(own)) return last;
  const auto before = std::count_if(senders_.begin(), senders_.end(),
                                    [&](const auto& other) { return other.second.rank < own; });
  return std::min(static_cast<std::size_t>(before), last);
}

/// Those that start or run on several machines.
void FlowOrder::note_who_sends() {
  for (std::size_t j = 0; j < state_.trains.size(); ++j) {
    const Train& train = state_.trains[j];
    const auto machines = std::count_if(train.spots.begin(), train.spots.end(),
                                        [](std::int32_t workers) { return workers > 0; });
    const bool sends = (train.stage == Stage::starting || train.stage == Stage::running) &&
                       (machines > 1 || train.spots.size() == 1);
    const auto known = senders_.find(j);
    if (known != senders_.end() && (!sends || known->second.started != train.started)) {
      senders_.erase(known);
      has_news_ = true;
    }
    if (!sends || senders_.contains(j)) continue;
    senders_[j] = {.started = train.started, .rank = rank(j)};
    has_news_ = true;
  }
}

bool FlowOrder::drifts() const {
  return set_.flow != "fifo";
}

FlowOrder::Rank FlowOrder::rank(std::size_t j) const {
  if (set_.flow == "progress") return by_gain(j);
  if (set_.flow == "to-95") return by_time_to_95(j);
  if (set_.flow == "milestones") return by_milestone(j);
  double key = static_cast<double>(j);
  if (set_.flow == "srtf") key = static_cast<double>(state_.left(j).us);
  if (set_.flow == "las") key = static_cast<double>(state_.service(j));
  if (set_.flow == "adadual") key = state_.left(j).seconds() * state_.job(j).gpus();
  return {false, 0, key, 0, j};
}

// --- By what jobs learn --------------------------------------------------------------------------

bool FlowOrder::hears_points() const {
  return set_.curves == "fitted";
}

void FlowOrder::note_point(std::size_t j, const LearningPoint& point) {
  Told& told = told_[j];
  told.points.add(point);
  const double work_s = state_.work_done(j).seconds();
  if (work_s > 0) told.steps_per_work = point.step / work_s;
}

double FlowOrder::Outlook::after(double seconds) const {
  const double x = at + seconds * per_s;
  return fit ? fit->at(x) : truth->at(std::min(x, 1.0));
}

/// As fast as it would go alone.
std::optional<FlowOrder::Outlook> FlowOrder::outlook(std::size_t j) const {
  const double work_s = state_.work_done(j).seconds(), pace = state_.trains[j].pace_at_start;
  if (set_.curves == "true") {
    const LearningCurve* truth = state_.world.workload.curve(JobId{static_cast<std::uint32_t>(j)});
    const double whole_s = state_.job(j).duration.seconds();
    if (truth == nullptr) return {};
    return Outlook{{}, truth, work_s / whole_s, 1 / (whole_s * pace)};
  }
  const auto found = told_.find(j);
  if (found == told_.end()) return {};
  const Told& told = found->second;
  const std::optional<Hyperbola> fit = fit_curve(told.points);
  if (!fit) return {};
  return Outlook{fit, nullptr, std::max(told.points.last_step(), work_s * told.steps_per_work),
                 told.steps_per_work / pace};
}

/// Of the accuracy that it will have when the work is done which it is expected to have left.
double FlowOrder::seconds_to(double fraction, const Outlook& ahead, std::size_t j) const {
  const double left = state_.left(j).seconds() * state_.trains[j].pace_at_start;
  const double there =
      ahead.fit ? ahead.fit->where(fraction * ahead.after(left)) : ahead.truth->share_to(fraction);
  return std::max(0.0, (there - ahead.at) / ahead.per_s);
}

double FlowOrder::last_step(std::size_t j) const {
  const auto told = told_.find(j);
  return told == told_.end() ? 0 : told->second.points.last_step();
}

/// JPAS: what it would gain in a period, of what there is to reach.
FlowOrder::Rank FlowOrder::by_gain(std::size_t j) const {
  const double steps = last_step(j);
  const auto ahead = outlook(j);
  if (!ahead) {
    const double had = state_.work_done(j).seconds() * state_.trains[j].pace_at_start;
    const double T = set_.flow_period.seconds();
    const double halfway_gain = 0.5 - had / (2 * had + T);
    const double key = had <= 3 * T ? -std::numeric_limits<double>::infinity() : -halfway_gain;
    return {false, 0, key, had, j};
  }
  const double now = ahead->after(0), limit = ahead->limit();
  const double gain = limit > 0 ? (ahead->after(set_.flow_period.seconds()) - now) / limit : 0;
  return {now >= 0.97 * limit, 0, -gain, steps, j};
}

FlowOrder::Rank FlowOrder::by_time_to_95(std::size_t j) const {
  const auto ahead = outlook(j);
  if (!ahead) return {false, 0, state_.attained(j).seconds(), 0, j};
  const double seconds = seconds_to(0.95, *ahead, j);
  return {seconds == 0, 0, seconds, 0, j};
}

FlowOrder::Rank FlowOrder::by_milestone(std::size_t j) const {
  const double had = state_.work_done(j).seconds() * state_.trains[j].pace_at_start;
  const auto ahead = outlook(j);
  if (!ahead) return {false, 0, had, 0, j};
  const double to_90 = seconds_to(0.90, *ahead, j), to_95 = seconds_to(0.95, *ahead, j);
  if (to_90 > 0) return {false, 0, to_90, 0, j};
  if (to_95 > 0) return {false, 1, had + to_95, 0, j};
  return {false, 2, last_step(j), 0, j};
}

}  // namespace trainyard::reference
