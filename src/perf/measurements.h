// Measured iteration times by placement, as public artifacts have them, for fitting the speed model
// and finding out how far it is off; and measured learning curves. Nothing else reads these files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/learning_curve.h"

namespace trainyard {

struct MeasuredIteration {
  std::vector<int> gpus;      // on each machine
  double batch = 0;           // of each GPU
  double step_s = 0;          // the whole iteration, > 0
  double sync_s = -1;         // of which synchronisation that compute does not hide; < 0: not known
  std::string unit;           // what is held out together: a placement, or a batch size
  bool extrapolates = false;  // larger than what a fit may learn from
};

struct Measurements {
  std::string model;
  std::string system;  // the kind of GPU or the cluster, as the artifact names it
  std::vector<MeasuredIteration> iterations;
};

/// Sia's folder: MODEL/placements-TAG.csv, and MODEL/scalability-TAG.csv as what extrapolates.
/// Files where a synchronisation is longer than its step count steps without it; then it is added.
Expected<std::vector<Measurements>> read_sia(const std::string& folder);

/// Gavel's simulation_throughputs.json: jobs of 1, 2, 4 and 8 GPUs, on one machine or, as
/// "unconsolidated", spread. How far those were spread is not said; taken as a GPU a machine.
Expected<std::vector<Measurements>> read_gavel(const std::string& file);

/// How a model learnt with one batch of the whole gang, by the share of its iterations.
struct MeasuredCurve {
  std::string model;
  double batch = 0;
  LearningCurve curve = {};
};

/// Sia's folder: MODEL/validation-BATCH.csv, by model and batch.
Expected<std::vector<MeasuredCurve>> read_sia_curves(const std::string& folder);

/// One of those files: the metric after each epoch. A metric that falls, as an error rate or a loss
/// does, counts as the part of its first value that is gone. Before the first epoch a model is
/// taken to know nothing.
Expected<LearningCurve> parse_sia_curve(std::string_view text, std::string_view origin);

/// The rows of one of Sia's files of iteration times.
Expected<std::vector<MeasuredIteration>> parse_sia_csv(std::string_view text,
                                                       std::string_view origin);

}  // namespace trainyard
