// Jobs ranked one by one: the first of them send in a class each, all others share the last one.
//
// Switches have few classes (4 to 8), so with P of them the first P - 1 jobs get one of their own.
// Only jobs that send over the network are ranked: of a job within one machine nothing is to be put
// first. (Where the cluster is one machine, what is behind it is not known, and all are ranked.)
// Jobs that come and go change the ranks at once; what changes them with time counts every period.
//
// Ageing: a job that has spent so many periods in the last class has the first one for a period.
#pragma once

#include <compare>
#include <vector>

#include "policy/extend.h"

namespace trainyard {

class RankedFlow : public FlowStage {
 public:
  RankedFlow(const Params& params, PolicyContext& context);

  [[nodiscard]] FlowClass flow(JobId job) const override;
  void refresh(std::vector<JobId>& changed) override;
  [[nodiscard]] Time next_change() const override;
  void on_phase(JobId job, Phase from, Phase to) override;

 protected:
  /// Smaller goes first; ties by submission.
  struct Rank {
    bool is_parked = false;  // in the last class, even if others are empty
    double key = 0;
    double tie = 0;
    JobId job = kNoJob;

    auto operator<=>(const Rank&) const = default;
  };

  /// Of a job that sends, or is about to start; without NaN.
  [[nodiscard]] virtual Rank rank(JobId job) const = 0;
  /// Whether ranks may change although no job comes or goes.
  [[nodiscard]] virtual bool has_drift() const { return true; }

  [[nodiscard]] Duration period() const { return period_; }
  /// The jobs that are ranked.
  [[nodiscard]] const std::vector<JobId>& senders() const { return senders_; }

 private:
  /// What is kept of a job from its first start on.
  struct Known {
    FlowClass flow = kFirstFlow;
    bool sends = false;
    Time last_since = Time::never();  // in the last class, without a break
    Time aged_until = {};             // in the first class by its age
  };

  [[nodiscard]] bool uses_network(JobId job) const;
  [[nodiscard]] FlowClass class_at(std::size_t place) const;
  void put(JobId job, FlowClass flow, std::vector<JobId>& changed);
  void rank_all();
  [[nodiscard]] FlowClass aged(JobId job, FlowClass flow);

  Duration period_;
  std::size_t classes_;
  std::int64_t ageing_;
  std::vector<JobId> senders_;
  std::vector<Known> known_;  // by job
  std::vector<Rank> ranks_;   // of all that send; the first classes_ - 1 are sorted
  Time next_;
  bool has_news_ = false;  // somebody came or went
};

/// The parameters that all of them have, and those of one.
std::vector<ParamSpec> ranked_params(std::vector<ParamSpec> more = {});

}  // namespace trainyard
