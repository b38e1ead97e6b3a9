#include "policy/flow/ranked.h"

#include <algorithm>

#include "base/grow.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostClasses = 256;
constexpr Duration kShortestPeriod = microseconds(1000);

}  // namespace

RankedFlow::RankedFlow(const Params& params, PolicyContext& context)
    : FlowStage(params, context),
      period_(std::max(params.duration("period"), kShortestPeriod)),
      classes_(static_cast<std::size_t>(
          std::clamp<std::int64_t>(params.whole("classes"), 1, kMostClasses))),
      ageing_(params.whole("ageing")) {}

bool RankedFlow::uses_network(JobId job) const {
  return yard_.placement(job).size() > 1 || yard_.cluster().machines.size() == 1;
}

FlowClass RankedFlow::class_at(std::size_t place) const {
  return FlowClass{static_cast<std::uint8_t>(std::min(place, classes_ - 1))};
}

void RankedFlow::on_phase(JobId job, Phase /*from*/, Phase to) {
  if (to == Phase::starting) {
    grow_to(known_, index(job), yard_.workload().jobs.size());
    if (!uses_network(job)) return;
    known_[index(job)] = {.flow = yard_.flow(job), .sends = true};
    senders_.push_back(job);
    has_news_ = true;
  } else if (to != Phase::running && index(job) < known_.size() && known_[index(job)].sends) {
    known_[index(job)] = {};
    std::erase(senders_, job);
    has_news_ = true;
  }
}

/// One that is about to start is put where it would stand among those that send now.
FlowClass RankedFlow::flow(JobId job) const {
  const bool has_started = holds_gpus(yard_.state(job).phase);
  if (has_started) return index(job) < known_.size() ? known_[index(job)].flow : kFirstFlow;
  if (yard_.shape(job).workers == 1 && yard_.cluster().machines.size() > 1) return kFirstFlow;
  const Rank mine = rank(job);
  if (mine.is_parked) return class_at(classes_);
  const auto ranked =
      ranks_.begin() + static_cast<std::ptrdiff_t>(std::min(ranks_.size(), classes_ - 1));
  const auto place = std::lower_bound(ranks_.begin(), ranked, mine);
  return class_at(static_cast<std::size_t>(place - ranks_.begin()));
}

void RankedFlow::rank_all() {
  ranks_.clear();
  for (const JobId job : senders_) ranks_.push_back(rank(job));
  const std::size_t alone = std::min(ranks_.size(), classes_ - 1);
  std::partial_sort(ranks_.begin(), ranks_.begin() + static_cast<std::ptrdiff_t>(alone),
                    ranks_.end());
}

void RankedFlow::refresh(std::vector<JobId>& changed) {
  if (!has_news_ && yard_.now() < next_change()) return;
  has_news_ = false;
  next_ = yard_.now() + period_;
  rank_all();
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    put(ranks_[i].job, class_at(ranks_[i].is_parked ? classes_ : i), changed);
}

void RankedFlow::put(JobId job, FlowClass flow, std::vector<JobId>& changed) {
  Known& known = known_[index(job)];
  flow = aged(job, flow);
  if (known.flow == flow && yard_.flow(job) == flow) return;
  known.flow = flow;
  changed.push_back(job);
}

/// The class that its age gives it, if it is better.
FlowClass RankedFlow::aged(JobId job, FlowClass flow) {
  Known& known = known_[index(job)];
  if (ageing_ == 0 || flow != class_at(classes_)) return known.last_since = Time::never(), flow;
  if (known.last_since == Time::never()) known.last_since = yard_.now();
  if (yard_.now() - known.last_since >= period_ * ageing_) {
    known.aged_until = yard_.now() + period_;
    known.last_since = known.aged_until;
  }
  return yard_.now() < known.aged_until ? kFirstFlow : flow;
}

Time RankedFlow::next_change() const {
  return senders_.size() > 1 && (has_drift() || ageing_ > 0) ? next_ : Time::never();
}

std::vector<ParamSpec> ranked_params(std::vector<ParamSpec> more) {
  std::vector<ParamSpec> params{
      {"classes", ParamType::whole, "8",
       "the first jobs have a class each, and all others share the last; at most 256"},
      {"period", ParamType::duration, "10s",
       "how often jobs are ranked anew, besides when one comes or goes"},
      {"ageing", ParamType::whole, "0",
       "so many periods in the last class earn one in the first; 0: none do"}};
  params.insert(params.end(), more.begin(), more.end());
  return params;
}

}  // namespace trainyard
