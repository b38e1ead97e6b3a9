// Jobs ranked one by one: the first of them send in a class each, all others share the last one.
//
// Switches have few classes (4 to 8), so with P of them the first P - 1 jobs get one of their own.
// Only jobs that send over the network are ranked: of a job within one machine nothing is to be put
// first. (Where the cluster is one machine, what is behind it is not known, and all are ranked.)
// Jobs that come and go change the order at once, where all others keep the rank that they had:
// that costs the same however many there are. What changes ranks with time counts every period.
//
// Ageing: a job that has spent so many periods in the last class has the first one for a period.
//
// Margin: every change of class reorders packets that are on their way. With a margin m, a job
// takes the place of one ahead of it only if its key is better by more than m of the larger of the
// two, so that jobs which are nearly equal do not take turns. Example: with m = 0.1, a job that is
// 95 s from its milestone stays behind one that is 100 s from it, and passes it at 89 s.
#pragma once

#include <compare>
#include <unordered_map>
#include <vector>

#include "base/sorted_list.h"
#include "policy/extend.h"

namespace trainyard {

class RankedFlow : public FlowStage {
 public:
  RankedFlow(const Params& params, PolicyContext& context);

  [[nodiscard]] FlowClass flow(JobId job) const override;
  void refresh(std::vector<JobId>& changed) override;
  [[nodiscard]] Time next_change() const override;
  void on_phase(JobId job, Phase from, Phase to) override;
  [[nodiscard]] FlowRules rules() const override { return {.floor = floor_}; }
  [[nodiscard]] std::string why(JobId job) const override;

 protected:
  /// Smaller goes first; ties by submission.
  struct Rank {
    bool is_parked = false;  // in the last class, even if others are empty
    int tier = 0;            // all of a smaller one go first
    double key = 0;
    double tie = 0;
    JobId job = kNoJob;

    auto operator<=>(const Rank&) const = default;
  };

  /// Of a job that sends, or is about to start; without NaN.
  [[nodiscard]] virtual Rank rank(JobId job) const = 0;
  /// What its rank comes of, for people: "has had 5m of GPU time".
  [[nodiscard]] virtual std::string why_rank(JobId job) const = 0;
  /// Whether ranks may change although no job comes or goes.
  [[nodiscard]] virtual bool has_drift() const { return true; }

  [[nodiscard]] Duration period() const { return period_; }

  void save_learnt(Learnt& learnt) const override {
    learnt[kName] = {number_of(std::max(next_, Time{}))};
  }
  void recall_jobs(const Learnt& learnt) override {
    each_learnt(learnt, kName, [&](std::string_view, std::span<const double> next) {
      if (next.size() == 1) next_ = std::min(time_of(next[0]), yard_.now() + period_);
    });
    has_news_ = false;
  }

 private:
  static constexpr const char* kName = "flow period";

  struct Sender {
    Rank rank;  // as of when it came, or the last period
    FlowClass flow = kFirstFlow;
  };

  [[nodiscard]] bool uses_network(JobId job) const;
  [[nodiscard]] FlowClass class_at(std::size_t place) const;
  void rank_anew();
  void find_first();
  void keep_first_within_margin();
  [[nodiscard]] bool is_clearly_before(const Rank& a, const Rank& b) const;
  void put(JobId job, FlowClass flow, std::vector<JobId>& changed);

  Duration period_;
  std::size_t classes_;
  double floor_;
  double margin_;
  std::unordered_map<JobId, Sender> senders_;
  SortedList<Rank> order_;     // of all that send
  std::vector<JobId> first_;   // those with a class of their own, in order
  std::vector<JobId> others_;  // that may have to join the last class: they came, or were first
  Time next_;
  bool has_news_ = false;  // somebody came or went
};

/// The parameters that all of them have, and those of one.
std::vector<ParamSpec> ranked_params(std::vector<ParamSpec> more = {});

}  // namespace trainyard
