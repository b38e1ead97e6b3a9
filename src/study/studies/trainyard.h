// What the study of our own policy and its tables both name.
#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace trainyard {

namespace trainyard_study_words {

/// One of a study's metrics, of which less is better: ours, mostly, over that of another policy.
struct Metric {
  std::string id, what, path;
  double added = 0;  // to both, of what may be 0 (seconds, pauses), so that there is a ratio
  std::string against = "system";
  double limit = 1;  // a ratio above it is a loss
  std::string of = "trainyard";
};
/// Of the policies that an operator might run instead, the one with the least.
inline constexpr const char* kBestRival = "the best rival";
double metric_of(const Outcome& outcome, const std::string& policy, const std::string& path);

struct Named {
  std::string name;
  Condition condition;
};

/// A study that our policy takes part in.
struct Part {
  std::string name;
  Study study;
  std::string system;  // what the study calls the paper's own
  bool goes_by_times;  // that system
  std::vector<Metric> metrics;
  double times_jobs = 0;  // of this study's extent; 0: as many as in that study's full run
  std::vector<std::string> ours_changed = {};  // by what is a condition of that study
};
const std::vector<Part>& parts();

/// What may be known of how long jobs take.
extern const std::vector<std::string> kKnown;

// Titles of sweeps: "xion, exact", "Other systems, xion".
inline constexpr const char *kStarvation = "Starvation", *kSystems = "Other systems",
                            *kAblations = "Without a rule", *kRivals = "Rivals";
std::string title_of(const std::string& what, const std::string& detail);

extern const std::vector<Metric> kStarvationMetrics, kRivalMetrics;

/// A preset's line, which takes settings behind it; other lines are as they are.
std::string line_of(const std::string& policy);
/// Our policy and its rivals on workloads of their own.
std::vector<Named> rival_conditions(const StudyPolicy& ours);

}  // namespace trainyard_study_words

/// What is lost first, then all studies and systems.
std::vector<TableFinding> tables_of_trainyard(const Findings& findings);
/// Paragraphs that follow from what was found.
std::vector<std::string> discuss_trainyard(const Findings& findings);

}  // namespace trainyard
