#include "policy/flow/ranked.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/error.h"

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
      floor_(std::min(params.real("floor"), kMostFloor)),
      margin_(params.real("margin")) {}

bool RankedFlow::uses_network(JobId job) const {
  return yard_.placement(job).size() > 1 || yard_.cluster().machines.size() == 1;
}

FlowClass RankedFlow::class_at(std::size_t place) const {
  return FlowClass{static_cast<std::uint8_t>(std::min(place, classes_ - 1))};
}

void RankedFlow::on_phase(JobId job, Phase from, Phase to) {
  if (to == Phase::starting) {
    if (!uses_network(job) || from == Phase::running) return;
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
  if (!has_news_ && !(is_due && has_drift())) return;
  has_news_ = false;
  if (is_due) {
    next_ = yard_.now() + period_;
    if (has_drift()) rank_anew();
  }
  others_.insert(others_.end(), first_.begin(), first_.end());
  find_first();
  for (std::size_t i = 0; i < first_.size(); ++i) put(first_[i], class_at(i), changed);
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
  if (margin_ > 0) return keep_first_within_margin();
  first_.clear();
  order_.each([&](const Rank& each) {
    if (first_.size() + 1 >= classes_ || each.is_parked) return false;
    first_.push_back(each.job);
    return true;
  });
}

/// The jobs that were first stay so, and in their order, but for those that another is clearly
/// before.
void RankedFlow::keep_first_within_margin() {
  const auto rank_of = [&](JobId job) -> const Rank& { return senders_.at(job).rank; };
  std::vector<JobId> kept;
  for (const JobId job : first_)
    if (senders_.contains(job) && !rank_of(job).is_parked) kept.push_back(job);
  first_ = std::move(kept);
  order_.each([&](const Rank& each) {
    if (each.is_parked || classes_ < 2) return false;
    if (std::ranges::find(first_, each.job) != first_.end()) return true;
    if (first_.size() + 1 >= classes_) {
      const auto weakest = std::ranges::max_element(first_, {}, rank_of);
      if (!is_clearly_before(each, rank_of(*weakest))) return false;
      first_.erase(weakest);
    }
    first_.push_back(each.job);
    return true;
  });
  for (std::size_t i = 1; i < first_.size(); ++i)
    for (std::size_t j = i; j > 0; --j) {
      if (!is_clearly_before(rank_of(first_[j]), rank_of(first_[j - 1]))) break;
      std::swap(first_[j], first_[j - 1]);
    }
}

bool RankedFlow::is_clearly_before(const Rank& a, const Rank& b) const {
  const auto is_less = [this](double x, double y) {
    if (std::isinf(x) || std::isinf(y)) return x < y;
    return y - x > margin_ * std::max(std::abs(x), std::abs(y));
  };
  if (std::tie(a.is_parked, a.tier) != std::tie(b.is_parked, b.tier)) return a < b;
  return a.key != b.key ? is_less(a.key, b.key) : is_less(a.tie, b.tie);
}

void RankedFlow::put(JobId job, FlowClass flow, std::vector<JobId>& changed) {
  Sender& sender = senders_.at(job);
  if (sender.flow == flow && yard_.flow(job) == flow) return;
  sender.flow = flow;
  changed.push_back(job);
}

std::string RankedFlow::why(JobId job) const {
  const auto found = senders_.find(job);
  if (found == senders_.end()) return {};
  std::size_t place = 1;
  order_.each([&](const Rank& other) { return other < found->second.rank && ++place != 0; });
  return fmt::format("number {} of the {} jobs that send: {}", place, senders_.size(),
                     why_rank(job));
}

Time RankedFlow::next_change() const {
  return senders_.size() > 1 && has_drift() ? next_ : Time::never();
}

std::vector<ParamSpec> ranked_params(std::vector<ParamSpec> more) {
  std::vector<ParamSpec> params{
      {"classes", ParamType::whole, "8",
       "the first jobs have a class each, and all others share the last; at most 256"},
      {"period", ParamType::duration, "10s",
       "how often jobs are ranked anew, besides when one comes or goes"},
      {"floor", ParamType::real, "0",
       "the share of every link that the last class in use always keeps, below 1"},
      {"margin", ParamType::real, "0",
       "a job passes another only if it is better by more than this part of its key; 0: by "
       "anything"}};
  params.insert(params.end(), more.begin(), more.end());
  return params;
}

}  // namespace trainyard
