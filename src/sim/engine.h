// The engine that only pretends to run jobs: it carries out the yard's orders in virtual time and
// reports what comes of them. Like a live engine it is the one that knows how fast jobs run: from
// their models, sizes and kinds of GPU and the network between their machines, and from machines
// that are slow for a while.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/cluster.h"
#include "model/workload.h"
#include "perf/catalogue.h"
#include "perf/placement_speed.h"
#include "sim/pending.h"
#include "yard/yard.h"

namespace trainyard {

class SimulatedEngine {
 public:
  /// `models` null: of a placement nothing but its size matters. `machines_change`: set_speed will
  /// be called.
  SimulatedEngine(const Cluster& cluster, const Workload& workload, const Catalogue* models,
                  bool machines_change);
  ~SimulatedEngine();

  /// For the yard; null where every job runs everywhere as its duration says.
  [[nodiscard]] const PlacementSpeed* speed() const;

  /// When it will next have something to report; Time::never(): nothing.
  [[nodiscard]] Time next() const { return pending_.next(); }
  /// What that is, of the job that it happens to; it is up to the caller to tell the yard.
  PendingEvents::Entry take();

  /// Begins with an order. What comes of it in no time is returned; the rest is reported later.
  std::optional<EventKind> carry_out(const Yard& yard, const Order& order);
  /// The yard has been told that the job has loaded, or goes on at another rate.
  void runs(const Yard& yard, JobId job);

  /// From now on the jobs on this machine run at so many times their usual rate. Returns those
  /// whose rate changes by it, with the rate: a gang goes as fast as its slowest machine.
  struct NewRate {
    JobId job = kNoJob;
    Rate rate;
  };
  std::vector<NewRate> set_speed(const Yard& yard, MachineId machine, double speed);

 private:
  class Speed;

  std::unique_ptr<Speed> speed_;
  bool machines_change_;
  PendingEvents pending_;
};

}  // namespace trainyard
