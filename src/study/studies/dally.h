// What the study of Dally and its discussion both name.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "study/study.h"

namespace trainyard {

namespace dally_study_words {

/// Of the abstract, and the metric that it is read as.
struct Reduced {
  std::string_view id, what, title, metric;
  double claimed;
};
inline constexpr std::array kReduced{
    Reduced{"makespan", "makespan", "Makespan", "makespan_s", 0.69},
    Reduced{"jct", "mean JCT", "Average JCT", "jct_s.mean", 0.83},
    Reduced{"communication", "communication", "Communication", "slowed_mean_s", 0.98}};

inline const std::vector<std::string> kBaselines{"tiresias", "tiresias-consolidated", "gandiva",
                                                 "fifo-consolidate"};

// Titles of sweeps.
inline constexpr const char *kTimers = ": timers", *kContention = "Contention",
                            *kLeaseEnd = "The end of a lease", *kHeldOut = "Held out",
                            *kAuthors = "The author's workloads",
                            *kIterations = "The author's iterations and leases",
                            *kUndivided = "The author's workloads, lengths undivided",
                            *kLeaseEndUndivided = "The end of a lease, lengths undivided";

/// The cluster of the study with a congested network.
std::string congested_cluster();

/// Ids of measures.
std::vector<std::string> reductions();
std::vector<std::string> timer_measures();

}  // namespace dally_study_words

/// Paragraphs that follow from what was found.
std::vector<std::string> discuss_dally(const Findings& findings);

}  // namespace trainyard
