// The jobs that learn fastest send first (JPAS).
//
// Every period T, for each job: the curve acc(x) = A - 1/(a x + b) that fits the points it told
// (perf/curve_fit.h), and what the job would gain in the period if it had the network to itself,
//
//   G = (acc(k + r T) - acc(k)) / A        k: where it is, r: its uncontended steps per second.
//
// The largest gain goes first; ties: fewer steps, then submission. One that is at 97% of A has
// little to learn and joins the last class.
//
// A job that has told fewer than three points has no curve. It goes before all others while it is
// new, as new jobs learn most: for three periods of its own time, the one that has had least first.
// Later it is taken to be halfway up a curve of its own age t, acc(x) / A = 1 - 1/(x/t + 1) at x =
// t:
//
//   G = 1/2 - t/(2t + T) = T / (2 (2t + T))
//
// So jobs that tell nothing go by least attained time, among each other and beside those that tell.
//
// Example, T = 10 s, one step a second: A = 1, a = 0.1, b = 1 at step 0 gains 1 - 1/2 = 0.5; at
// step 90 it has 0.9 and gains 1/10 - 1/11 = 0.009, so a job that is at its beginning goes before
// it.
//
// Variants of G: for each step of the period instead of the whole, or for each second that the job
// keeps the network busy in it (Smith's rule: what a second of the bottleneck brings).
#include <limits>

#include "policy/flow/learning_flow.h"
#include "policy/members.h"

namespace trainyard {
namespace {

/// A job at this part of what its curve tends to joins the last class.
constexpr double kParkedAt = 0.97;

class FastestLearner final : public LearningFlow {
 public:
  FastestLearner(const Params& params, PolicyContext& context)
      : LearningFlow(params, context), gain_(params.choice("gain")) {}

 private:
  [[nodiscard]] Rank rank(JobId job) const override {
    const auto prospect = learning().of(job);
    if (!prospect) return rank_without_curve(job);
    const double steps = learning().last_step(job);
    const bool is_parked = prospect->after(0) >= kParkedAt * prospect->limit();
    return {.is_parked = is_parked, .key = -gain(job, *prospect), .tie = steps, .job = job};
  }

  [[nodiscard]] Rank rank_without_curve(JobId job) const {
    constexpr double kNewForPeriods = 3;
    const double had = yard_.work_done(job).seconds() * learning().time_per_work(job);
    const double period_s = period().seconds();
    const bool is_new = had <= kNewForPeriods * period_s;
    const double key =
        is_new ? -std::numeric_limits<double>::infinity() : -period_s / (2 * (2 * had + period_s));
    return {.key = key, .tie = had, .job = job};
  }

  [[nodiscard]] std::string why_rank(JobId job) const override {
    const auto prospect = learning().of(job);
    if (!prospect)
      return fmt::format("no learning curve yet; it has done {} of its work",
                         format(yard_.work_done(job)));
    const double limit = prospect->limit(), now = prospect->after(0);
    if (limit <= 0 || now >= kParkedAt * limit) return "its learning curve has little left to rise";
    return fmt::format("alone on the network it would gain {:.2g}% of its final accuracy in {}",
                       100 * (prospect->after(period().seconds()) - now) / limit, format(period()));
  }

  [[nodiscard]] double gain(JobId job, const Prospect& prospect) const {
    if (prospect.limit() <= 0) return 0;
    const double whole =
        (prospect.after(period().seconds()) - prospect.after(0)) / prospect.limit();
    if (gain_ == "iteration")
      return prospect.steps_per_s() > 0 ? whole / prospect.steps_per_s() : 0;
    return gain_ == "nic-second" ? whole / network_share(job) : whole;
  }

  /// The part of a job's time that goes into sending: what it takes longer than in one machine.
  [[nodiscard]] double network_share(JobId job) const {
    constexpr double kLeast = 1e-3;
    if (yard_.speed() == nullptr) return 1;
    const double inside = yard_.speed()->rate_at(yard_.job(job), kMachineTier).time_per_work();
    return std::max(kLeast, 1 - inside / learning().time_per_work(job));
  }

  std::string gain_;
};

}  // namespace

Member<FlowStage> flow_progress() {
  return {{"progress", "the bytes of the job that learns fastest go first",
           "JPAS: Zhou et al., JNCA 2020; what is not published is ours, in docs/policies.md",
           learning_params({{"gain",
                             ParamType::choice,
                             "period",
                             "of a whole period, or of each of its steps, or of each second of the "
                             "network that it takes",
                             {"period", "iteration", "nic-second"}}})},
          make_member<FlowStage, FastestLearner>};
}

}  // namespace trainyard
