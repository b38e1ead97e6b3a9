// What a study runs: every policy of every condition with every seed, each run once however many
// conditions need it. A sweep over a parameter of one policy does not run the others again.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/cluster.h"
#include "study/study.h"

namespace trainyard {

/// The metric of what a pause and the start after it take, the mean over the jobs, in seconds; 0:
/// pauses are free.
inline constexpr const char* kPauseTakes = "pause_takes_s";

/// All that the outcome of a run depends on. Runs on the same workload are neighbours in order.
struct StudyRun {
  std::string cluster, workload;
  std::uint64_t seed;
  std::string policy;
  std::vector<std::string> settings;
  std::string models = {};
  std::string network = "alone";

  auto operator<=>(const StudyRun&) const = default;
};

struct PlanOptions {
  bool quick = false;
  int seeds = 0;          // 0: as many as the study says
  int first_seed = 0;     // 0: the study's own; of split traces others have the part for choosing
  std::string only = {};  // sweeps whose titles begin so, without the base condition; empty: all
  StudyPolicy instead = {};  // its line is run for the policies with this label; no label: none
  std::string traces = {};   // the folder that "{traces}" stands for; empty: there is none
};

struct StudyPlan {
  bool quick;
  Extent extent;
  StudyPolicy instead;  // as it was asked for
  Condition base;
  std::string only;                            // as it was asked for
  std::vector<std::vector<Condition>> sweeps;  // by sweep and value, in the study's order; those
                                               // that are not run are empty
  std::vector<StudyRun> runs;                  // in order, no two the same
  std::vector<std::string> left_out;  // a sentence for each sweep and trace that is not there
  bool uses_traces = false;           // some of the conditions

  /// The place of a run among `runs`.
  [[nodiscard]] std::size_t index(const StudyRun& run) const;
};

StudyRun run_of(const Condition& condition, const StudyPolicy& policy, std::uint64_t seed);

/// A condition's cluster: a shape or TOML.
Expected<Cluster> parse_study_cluster(const std::string& text);

/// The value of the sweep that made this condition.
std::string swept_value(const Sweep& sweep, const Condition& condition);

/// Checks what can be known to be wrong before the first run. Conditions whose trace is not in the
/// folder are left out; that is an error if nothing else was asked for.
Expected<StudyPlan> make_plan(const Study& study, const PlanOptions& options);

}  // namespace trainyard
