// Exchanges that wait for each other instead of sharing a link. Where a link is taken an all-reduce
// waits; those that wait go by remaining service (time left x GPUs), the least first, and one
// behind may pass another whose links are not free yet.
//
// How many may share a link at once is a parameter. With by_size a second one joins a first only if
// what it has to send is less than 1 / (2 (1 + loss)) of what the first has left, `loss` being what
// sharing costs the network (--network): then both together end sooner by it.
//
// The ranks are flow classes (ranked.h), so of more jobs than there are classes the last share one.
#include "policy/flow/ranked.h"
#include "policy/members.h"

namespace trainyard {
namespace {

class AdaDual final : public RankedFlow {
 public:
  AdaDual(const Params& params, PolicyContext& context)
      : RankedFlow(params, context),
        estimates_(context.estimates()),
        rules_{.at_most = static_cast<std::int32_t>(params.whole("at_most")),
               .by_size = params.choice("by_size") == "yes"} {
    rules_.floor = RankedFlow::rules().floor;
  }

  [[nodiscard]] FlowRules rules() const override { return rules_; }

 private:
  [[nodiscard]] Rank rank(JobId job) const override {
    return {.key = estimates_.remaining(job).seconds() * yard_.job(job).gpus(), .job = job};
  }
  [[nodiscard]] std::string why_rank(JobId job) const override {
    return fmt::format("{} GPUs are expected to need {} more", yard_.job(job).gpus(),
                       format(estimates_.remaining(job)));
  }

  const Estimator& estimates_;
  FlowRules rules_;
};

}  // namespace

Member<FlowStage> flow_adadual() {
  std::vector<ParamSpec> params = ranked_params(
      {{"at_most", ParamType::whole, "2",
        "how many share a link at once; 0: however many, and ranks are priorities"},
       {"by_size",
        ParamType::choice,
        "yes",
        "yes: a second one only beside one that has much more left (AdaDUAL); no: whoever comes "
        "(SRSF(n))",
        {"yes", "no"}}});
  params.front().default_value = "256";  // classes: they are places in a line
  return {
      {"adadual", "all-reduces wait for each other, the job with the least remaining service first",
       "Wang et al., Ada-SRSF; as our summary of it says", std::move(params)},
      make_member<FlowStage, AdaDual>};
}

}  // namespace trainyard
