// The engine that only pretends to run jobs: it carries out the yard's orders in virtual time and
// reports what comes of them. Like a live engine it is the one that knows how fast jobs run: from
// their models, sizes and kinds of GPU and the network between their machines, from machines that
// are slow for a while, and from jobs that send over the same links.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "network/shared_network.h"
#include "perf/catalogue.h"
#include "perf/placement_speed.h"
#include "sim/delays.h"
#include "sim/pending.h"
#include "yard/yard.h"

namespace trainyard {

class SimulatedEngine {
 public:
  /// `models` null: of a placement nothing but its size matters. `machines_change`: set_speed will
  /// be called.
  struct Options {
    const Catalogue* models = nullptr;
    bool machines_change = false;
    std::uint64_t seed = 1;
    EngineDelays delays = {};
  };
  SimulatedEngine(const Cluster& cluster, const Workload& workload, const Options& options);
  ~SimulatedEngine();

  /// For the yard; null where every job runs everywhere as its duration says.
  [[nodiscard]] const PlacementSpeed* speed() const;

  /// It carries them out where jobs share links.
  [[nodiscard]] static FlowClasses flow_classes(const NetworkOptions& network) {
    return network.model == NetworkOptions::Model::none ? FlowClasses::ignored
                                                        : FlowClasses::carried_out;
  }
  /// From now on jobs share the network; the yard has no jobs yet.
  void share_network(const NetworkOptions& network, const FlowRules& rules);

  /// When it will next have something to report, if nothing happens to it up to `limit`; `limit`
  /// when that is nothing before.
  [[nodiscard]] Time next(Time limit);
  /// What happens at this instant, of the job that it happens to; it is up to the caller to tell
  /// the yard. Nothing: no more.
  std::optional<PendingEvents::Entry> take(Time at);
  /// What a job reports that has learnt something.
  [[nodiscard]] LearningPoint point(const Yard& yard, JobId job) const {
    return point_at(yard, job, yard.work_done(job).seconds());
  }

  /// Goes on with a job that the yard has restored: with its load, its work, or its leaving.
  void take_up(const Yard& yard, JobId job);
  /// The jobs to which something is going to happen, in that order.
  [[nodiscard]] std::vector<JobId> order() const { return pending_.order(); }
  /// Begins with an order. What comes of it in no time is returned; the rest is reported later.
  std::optional<EventKind> carry_out(const Yard& yard, const Order& order);
  /// The yard has been told that the job has loaded.
  void begin(const Yard& yard, JobId job);
  /// It has been told that the job goes on at another rate.
  void go_on(const Yard& yard, JobId job);

  struct NewRate {
    JobId job = kNoJob;
    Rate rate;
  };
  /// From now on the jobs on this machine run at so many times their usual rate. Returns those
  /// whose rate changes by it, with the rate: a gang goes as fast as its slowest machine.
  std::vector<NewRate> set_speed(const Yard& yard, MachineId machine, double speed);
  /// What comes of jobs that send over the same links: rates that have changed, and what those
  /// have learnt whose iterations are played. Only where the network is shared.
  std::vector<Event> take_reports(const Yard& yard);

  /// Times the usual.
  [[nodiscard]] double speed_of(MachineId machine) const;
  /// Null: nothing is shared.
  [[nodiscard]] const SharedNetwork* network() const { return network_.get(); }

 private:
  class Speed;

  /// Of a job that runs on links which others may use.
  struct Sharing {
    bool is_in = false;
    double alone_s = 0;  // an iteration, were it alone
    double slowed = 1;   // so many times as long
    double work_s = 0;   // what of its duration an iteration does
    Duration brought;    // work done when it joined
    double report_every = 0;
  };

  [[nodiscard]] Duration time_to_start(const Yard& yard, JobId job) const {
    return options_.delays.start + yard.load_time(job);
  }
  [[nodiscard]] Duration time_to_leave(const Job& job) const {
    return job.grace + job.save + options_.delays.leave;
  }
  void join(const Yard& yard, JobId job);
  void leave(Time now, JobId job);
  [[nodiscard]] bool shares(JobId job) const;
  [[nodiscard]] bool plays_iterations(JobId job) const;
  [[nodiscard]] Rate rate_by(const Yard& yard, const SharedNetwork::Pace& pace);
  [[nodiscard]] LearningPoint point_at(const Yard& yard, JobId job, double done_s) const;

  const Cluster& cluster_;
  Options options_;
  std::unique_ptr<Speed> speed_;
  PendingEvents pending_;

  NetworkOptions::Model sharing_model_ = NetworkOptions::Model::none;
  std::unique_ptr<Links> links_;
  std::unique_ptr<SharedNetwork> network_;
  std::vector<Sharing> sharing_;  // by job
  std::vector<SharedNetwork::Pace> paces_;
};

}  // namespace trainyard
