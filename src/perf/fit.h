// Fits the speed model (speed.h) to measured iterations, and says how far it is off where it was
// not fitted.
//
// Per model and system: what a batch takes to compute is the median of what was measured at that
// batch size (step less synchronisation; of single GPUs where the latter is unknown). Five numbers
// are searched: bandwidth and latency inside a machine and between machines, and the overlap; and
// of ring and hierarchical the one that fits better. "Bandwidth" and "latency" are what makes the
// formula fit: the latency of a step also holds what GPUs on one bus lose to each other.
//
// The search minimises the mean square of log(predicted / measured), of steps and with less weight
// of synchronisation, over the training half: every second placement (or batch size, where
// placements are few) is held out, in the order of machines, GPUs, name. Whatever single GPUs did
// is in the training half. Same data, same fit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "perf/measurements.h"
#include "perf/speed.h"

namespace trainyard {

struct SpeedFit {
  ModelProfile model;  // collective, overlap and gradient_bytes count
  std::vector<Tier> tiers = default_tiers();
  std::map<double, double> compute_s;  // by batch
  double sync_alone_s = 0;             // what a single GPU reports as synchronisation

  struct Prediction {
    double step_s = 0, sync_s = 0;
  };
  [[nodiscard]] Prediction predict(const MeasuredIteration& iteration) const;
};

/// Of relative errors.
struct Errors {
  std::size_t count = 0;
  double median = 0, p90 = 0;
};

/// Relative errors where the fit did not learn.
struct HeldOut {
  std::vector<double> step;
  std::vector<double> sync;       // of more than one GPU
  std::vector<double> long_sync;  // the same, where it is a tenth of the step or more
  std::vector<double> spread;     // steps of more than one machine
  std::vector<double> larger;     // steps of more GPUs than it learnt from

  void add(const HeldOut& other);
};

struct FitReport {
  SpeedFit fit;
  std::size_t trained = 0;
  HeldOut errors;
};

/// The gradient's size only sets the scale of the fitted bandwidths.
FitReport fit_speed(const Measurements& measurements, double gradient_bytes);

/// Of values whose order does not matter.
Errors errors_of(std::vector<double> relative);

/// How much two measurements of the same shape and batch differ ("13" and "31"): no prediction from
/// the shape can be closer on average.
struct Repeats {
  std::vector<double> step, sync;
};
Repeats repeat_differences(const Measurements& measurements);

}  // namespace trainyard
