// Virtual time: replays a workload on a cluster under a policy. The yard and the policy are the
// ones that run live; the engine (engine.h) only pretends to run the jobs.
//
// Time jumps from one instant at which something happens to the next. At an instant everything
// that happens is told to the yard first: submissions, then machines, then estimates, then what
// jobs do, by (time, sequence). Then the policy decides once; what takes no time (loading, or
// saving in zero seconds) happens at once, and if a job left its GPUs by that, or began to run
// under a policy that may pause it, the policy decides again. What jobs have learnt is nothing to
// decide on: whoever goes by it has a period of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/stats.h"
#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"
#include "policy/policy.h"
#include "policy/registry.h"
#include "sim/beginning.h"
#include "sim/elastic_time.h"
#include "sim/engine.h"
#include "sim/failures.h"
#include "sim/faults.h"
#include "sim/learning_times.h"
#include "sim/pause_gains.h"
#include "sim/pauses.h"
#include "sim/result.h"
#include "sim/tiers.h"
#include "sim/utilization.h"
#include "yard/yard.h"

namespace trainyard {

struct SimOptions {
  std::uint64_t seed = 1;
  std::vector<Fault> faults = {};
  /// What is known of models and kinds of GPU; null: of a placement nothing but its size matters.
  const Catalogue* models = &Catalogue::builtin();
  /// Whether jobs slow each other down where they send over the same links; models must be known.
  NetworkOptions network = {};
  /// Estimates that change while jobs wait or run, as jobs that report their progress change them:
  /// events `estimate_changed`, by time.
  std::vector<Event> revisions = {};
  EngineDelays delays = {};
};

/// Refuses a policy that decides on single exchanges where the network knows only averages.
Expected<void> check_flow_rules(const FlowRules& rules, const NetworkOptions& network);

class Simulation {
 public:
  /// The workload must fit the cluster (check_fits). Cluster and workload must outlive this.
  Simulation(const Cluster& cluster, const Workload& workload, const PolicySpec& policy,
             SimOptions options);

  /// Goes on from there instead of from an empty yard; to be called before anything happens.
  /// Faults and revisions of the past are passed over. Refuses jobs that do not fit the cluster,
  /// and a workload whose other jobs are not submitted later.
  [[nodiscard]] Expected<void> begin(const Beginning& beginning);
  /// All that another simulation of this workload needs to go on from here.
  [[nodiscard]] Beginning save() const;

  /// Sees every change of the yard, after the policy.
  void listen(YardListener& listener) { yard_.listen(listener); }

  /// The next instant at which something happens; Time::never() when all is over.
  [[nodiscard]] Time next();
  /// Goes to that instant. False when there is none.
  bool step();
  /// All that happens up to then, and the clock to there.
  void run_until(Time time);
  /// To the end. `progress` is told now and then how many jobs have been submitted so far.
  /// `after_instant`, when all that happens at one has happened.
  void run(const std::function<void(std::size_t submitted)>& progress = {},
           const std::function<void()>& after_instant = {});

  [[nodiscard]] const Yard& yard() const { return yard_; }
  [[nodiscard]] const Policy& policy() const { return *policy_; }
  /// Null: jobs do not share any.
  [[nodiscard]] const SharedNetwork* network() const { return engine_.network(); }
  /// What pauses were expected to gain, and did.
  [[nodiscard]] const PauseGains& pause_gains() const { return gains_; }
  /// Plans that the yard refused: 0 unless a policy is at fault.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// When the policy asked to be woken.
  [[nodiscard]] Time wake() const { return wake_; }

  /// Of what has happened so far.
  [[nodiscard]] Result result() const;

 private:
  void add_placements_and_pauses(Result& result) const;
  void add_times(Result& result, std::vector<double>& scratch) const;
  void account(Time next);
  void happen(Time at);
  void tell(const Event& event);
  void decide();
  bool carry_out();
  void tell_reports();
  void tell_of(const PendingEvents::Entry& entry);
  void happen_to_machine(const Fault& fault);
  void take_up_jobs(std::span<const JobId> order);

  const Workload& workload_;
  SimOptions options_;
  std::string policy_name_;
  SimulatedEngine engine_;
  Yard yard_;
  PauseGains gains_;
  std::unique_ptr<Policy> policy_;

  std::size_t next_job_ = 0, next_fault_ = 0, next_revision_ = 0;
  Time wake_ = Time::never();
  Time now_;
  bool has_news_ = false;  // at this instant something happened to decide on
  std::vector<Order> carrying_;

  UtilizationRecorder utilization_;
  PauseRecorder pauses_;
  TierRecorder tiers_;
  std::unique_ptr<Failures> failures_;       // null: no machine ever fails
  std::unique_ptr<ElasticTime> elastic_;     // null: no job is elastic
  std::unique_ptr<LearningTimes> learning_;  // null: no learning curve is known
  Histogram decision_ticks_;
  std::uint64_t events_ = 0, refused_ = 0;
  double wall_s_ = 0;
};

}  // namespace trainyard
