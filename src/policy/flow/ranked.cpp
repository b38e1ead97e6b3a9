#include "policy/flow/ranked.h"

#include <algorithm>

namespace trainyard {
namespace {

constexpr std::int64_t kMostClasses = 256;
constexpr double kMostFloor = 0.99;
constexpr Duration kShortestPeriod = microseconds(1000);

}  // namespace

RankedFlow::RankedFlow(const Params& params, PolicyContext& context)
    : FlowStage(params, context),
      period_(std::max(params.duration("period"), kShortestPeriod)),
      classes_(static_cast<std::size_t>(
          std::clamp<std::int64_t>(params.whole("classes"), 1, kMostClasses))),
      ageing_(params.whole("ageing")),
      floor_(std::min(params.real("floor"), kMostFloor)) {}

bool RankedFlow::uses_network(JobId job) const {
  return yard_.placement(job).size() > 1 || yard_.cluster().machines.size() == 1;
}

FlowClass RankedFlow::class_at(std::size_t place) const {
  return FlowClass{static_cast<std::uint8_t>(std::min(place, classes_ - 1))};
}

void RankedFlow::on_phase(JobId job, Phase /*from*/, Phase to) {
  if (to == Phase::starting) {
    if (!uses_network(job)) return;
    const Rank mine = rank(job);
    senders_[job] = {.rank = mine, .flow = yard_.flow(job)};
    order_.insert(mine);
    others_.push_back(job);
    has_news_ = true;
  } else if (const auto found = senders_.find(job);
             to != Phase::running && found != senders_.end()) {
    order_.erase(found->second.rank);
    senders_.erase(found);
    has_news_ = true;
  }
}

/// One that is about to start is put where it would stand among those that send now.
FlowClass RankedFlow::flow(JobId job) const {
  if (holds_gpus(yard_.state(job).phase)) {
    const auto found = senders_.find(job);
    return found == senders_.end() ? kFirstFlow : found->second.flow;
  }
  if (yard_.shape(job).workers == 1 && yard_.cluster().machines.size() > 1) return kFirstFlow;
  const Rank mine = rank(job);
  if (mine.is_parked) return class_at(classes_);
  std::size_t before = 0;
  order_.each([&](const Rank& other) { return other < mine && ++before + 1 < classes_; });
  return class_at(before);
}

void RankedFlow::refresh(std::vector<JobId>& changed) {
  const bool is_due = yard_.now() >= next_;
  if (!has_news_ && !(is_due && changes_with_time())) return;
  has_news_ = false;
  if (is_due) {
    next_ = yard_.now() + period_;
    if (has_drift()) rank_anew();
  }
  others_.insert(others_.end(), first_.begin(), first_.end());
  find_first();
  for (std::size_t i = 0; i < first_.size(); ++i) put(first_[i], class_at(i), changed);
  if (ageing_ > 0) {
    others_.clear();
    order_.each([&](const Rank& each) { return others_.push_back(each.job), true; });
  }
  for (const JobId job : others_)
    if (senders_.contains(job) && std::ranges::find(first_, job) == first_.end())
      put(job, class_at(classes_), changed);
  others_.clear();
}

void RankedFlow::rank_anew() {
  std::vector<Rank> ranks;
  ranks.reserve(order_.size());
  order_.each([&](const Rank& each) { return ranks.push_back(rank(each.job)), true; });
  order_.clear();
  for (const Rank& each : ranks) {
    senders_.at(each.job).rank = each;
    order_.insert(each);
  }
}

void RankedFlow::find_first() {
  first_.clear();
  order_.each([&](const Rank& each) {
    if (first_.size() + 1 >= classes_ || each.is_parked) return false;
    first_.push_back(each.job);
    return true;
  });
}

void RankedFlow::put(JobId job, FlowClass flow, std::vector<JobId>& changed) {
  Sender& sender = senders_.at(job);
  flow = aged(sender, flow);
  if (sender.flow == flow && yard_.flow(job) == flow) return;
  sender.flow = flow;
  changed.push_back(job);
}

/// The class that its age gives it, if it is better.
FlowClass RankedFlow::aged(Sender& sender, FlowClass flow) const {
  if (ageing_ == 0 || flow != class_at(classes_)) return sender.last_since = Time::never(), flow;
  if (sender.last_since == Time::never()) sender.last_since = yard_.now();
  if (yard_.now() - sender.last_since >= period_ * ageing_) {
    sender.aged_until = yard_.now() + period_;
    sender.last_since = sender.aged_until;
  }
  return yard_.now() < sender.aged_until ? kFirstFlow : flow;
}

Time RankedFlow::next_change() const {
  return senders_.size() > 1 && changes_with_time() ? next_ : Time::never();
}

std::vector<ParamSpec> ranked_params(std::vector<ParamSpec> more) {
  std::vector<ParamSpec> params{
      {"classes", ParamType::whole, "8",
       "the first jobs have a class each, and all others share the last; at most 256"},
      {"period", ParamType::duration, "10s",
       "how often jobs are ranked anew, besides when one comes or goes"},
      {"ageing", ParamType::whole, "0",
       "so many periods in the last class earn one in the first; 0: none do"},
      {"floor", ParamType::real, "0",
       "the share of every link that the last class in use always keeps, below 1"}};
  params.insert(params.end(), more.begin(), more.end());
  return params;
}

}  // namespace trainyard
