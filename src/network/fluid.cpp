// The fluid model: every job sends for a share of its time, and that share is found together with
// the rates (shared_network.h).
#include <algorithm>
#include <cmath>

#include "base/grow.h"
#include "network/fair_share.h"
#include "network/shared_network.h"

namespace trainyard {
namespace {

/// It settles within a few rounds; where jobs of several classes feed on each other, enough is
/// enough.
constexpr int kMostRounds = 60;

class FluidNetwork final : public SharedNetwork {
 public:
  FluidNetwork(const Links& links, const NetworkOptions& options, const FlowRules& rules)
      : links_(links),
        same_(options.same),
        share_(links.capacities(),
               {.floor = rules.floor, .loss = options.loss, .same = options.same}) {}

  void join(Time /*now*/, Arrival arrival) override {
    Sender sender{.job = arrival.job, .work = std::move(arrival.work)};
    Flow& flow = sender.work.flow;
    flow.links = ways_up(flow);
    sender.activity = sending_share(sender.work, flow.most);
    sender.told_s = sender.work.alone_s();
    const FlowId id = share_.add(flow.links, flow.most, arrival.flow, sender.activity);
    grow_to(flows_, index(id), 0);
    grow_to(flow_of_, index(arrival.job), 0);
    flow_of_[index(arrival.job)] = id;
    flows_[index(id)] = std::move(sender);
  }

  void leave(Time /*now*/, JobId job) override {
    share_.remove(flow_of_[index(job)]);
    flows_[index(flow_of_[index(job)])].job = kNoJob;
  }

  void set_class(Time /*now*/, JobId job, FlowClass flow) override {
    share_.set_class(flow_of_[index(job)], flow);
  }

  Time run_until(Time limit) override { return limit; }

  void take(std::vector<Pace>& paces) override {
    settle();
    for (const FlowId id : changed_) {
      Sender& sender = flows_[index(id)];
      sender.is_listed = false;
      if (sender.job == kNoJob) continue;
      const double iteration_s = sender.work.total_s(share_.rate(id));
      // Exactly as when alone, so that whoever has no company any more is as if it never had.
      const bool is_alone = share_.rate(id) >= sender.work.flow.most;
      if (is_alone ? sender.told_s == iteration_s : !differs(sender.told_s, iteration_s)) continue;
      sender.told_s = iteration_s;
      paces.push_back({sender.job, iteration_s});
    }
    changed_.clear();
  }

  [[nodiscard]] std::vector<LinkLoad> loads() const override { return loads_of(links_, share_); }
  [[nodiscard]] const Links& links() const override { return links_; }

 private:
  struct Sender {
    JobId job = kNoJob;
    IterationWork work = {};
    double activity = 0;
    double told_s = 0;       // the pace that was last taken
    bool is_listed = false;  // in changed_
  };

  /// A share of time, or a pace, which is infinite for a job that cannot send. Every one is found
  /// anew from the rates of the moment, so differences that are too small do not add up.
  [[nodiscard]] bool differs(double a, double b) const {
    return a != b && !(std::abs(a - b) <= same_ * std::min(a, b));
  }

  /// Of an iteration, the share in which it sends.
  static double sending_share(const IterationWork& work, double rate) {
    constexpr double kLeast = 1e-6;
    if (rate <= 0) return 1;
    const double share = work.flow.bytes / rate / work.total_s(rate);
    return std::clamp(share, kLeast, 1.0);
  }

  /// Rates by shares, shares by rates, until they agree.
  void settle() {
    for (int round = 0; round < kMostRounds; ++round) {
      bool is_settled = true;
      for (const FlowId id : share_.settle()) {
        Sender& sender = flows_[index(id)];
        if (!sender.is_listed) changed_.push_back(id);
        sender.is_listed = true;
        const double activity = sending_share(sender.work, share_.rate(id));
        if (!differs(activity, sender.activity)) continue;
        sender.activity = activity;
        moved_.push_back(id);
        is_settled = false;
      }
      for (const FlowId id : moved_) share_.set_activity(id, flows_[index(id)].activity);
      moved_.clear();
      if (is_settled) return;
    }
  }

  const Links& links_;
  double same_;
  FairShare share_;
  std::vector<Sender> flows_;    // by flow
  std::vector<FlowId> flow_of_;  // by job
  std::vector<FlowId> changed_, moved_;
};

}  // namespace

std::unique_ptr<SharedNetwork> make_fluid_network(const Links& links, const NetworkOptions& options,
                                                  const FlowRules& rules) {
  return std::make_unique<FluidNetwork>(links, options, rules);
}

}  // namespace trainyard
