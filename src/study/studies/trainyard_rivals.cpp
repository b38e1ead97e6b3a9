// The default policy beside those that an operator might run instead, on workloads of which none is
// a paper's condition as such, and beside the mean JCT that no policy can go below.
#include <fmt/format.h>

#include <algorithm>

#include "study/bound.h"
#include "study/studies.h"
#include "study/studies/dally.h"
#include "study/studies/trainyard.h"

namespace trainyard::trainyard_study_words {

namespace {

const std::vector<std::string> kRivalNames{"srsf", "srtf", "sjf", "xion", "fifo-easy"};
constexpr const char* kBound = "bound";

Metric over_the_bound(const std::string& policy) {
  return {policy + "-over-bound", "mean JCT", "jct_s.mean", 0, kBound, 1e9, policy};
}

/// Longer than xion's own study has them: so many seconds in the mean, and a pause costs about 100.
std::string of_xion(const std::string& load, const std::string& mean) {
  Condition condition = xion_study().base;
  workload_key("load")(condition, load);
  workload_key("mean")(condition, mean);
  return condition.workload;
}

std::string elastic(const std::string& share) {
  Condition condition = market_study().base;
  workload_key("elastic")(condition, share);
  return condition.workload;
}

struct Set {
  std::string name, workload, cluster;
  double times_jobs = 1;
  std::string models = {};
};

std::vector<Set> sets() {
  const std::string philly = "philly-like:jobs={jobs},pause=helios,load=",
                    log = fmt::format("trace:file={},{{part}},pause=helios", kPhillyLog),
                    gangs =
                        "poisson:jobs={jobs},load=0.9,duration=lognormal,sigma=2,mean=2h,"
                        "pause=helios,gpus=";
  const Condition dally = dally_study().base, fitgpp = fitgpp_study().base,
                  market = market_study().base;
  std::vector<Set> all;
  for (const std::string load : {"0.9", "0.7", "0.95", "1.1"})
    all.push_back({"philly-like, load " + load, philly + load, "16x8xV100", 20});
  all.push_back({"the Philly log, 512 GPUs", log, "64x8xV100"});
  all.push_back({"the Philly log, 768 GPUs", log, "96x8xV100"});
  all.push_back({"lognormal gangs", gangs + "1:0.4/2:0.2/4:0.2/8:0.15/16:0.05", "16x8xV100", 8});
  all.push_back({"wide gangs, 64 GPUs", gangs + "1:0.3/4:0.2/8:0.2/16:0.2/32:0.1", "8x8xV100", 4});
  for (const auto& [load, mean] : std::vector<std::pair<std::string, std::string>>{
           {"0.9", "1000s"}, {"1", "3000s"}, {"0.9", "10000s"}})
    all.push_back({fmt::format("Xion's jobs of {}, load {}", mean, load), of_xion(load, mean),
                   "8x8xV100", 2});
  all.push_back({"FitGpp's jobs",
                 "trial-batch:jobs={jobs},load=2,held_under=fifo,cut=0.1,trial=0.3,shortest=10s",
                 fitgpp.cluster, 4});
  all.push_back({"Dally's jobs", dally.workload, dally.cluster, 0.5, dally.models});
  all.push_back({"Dally's jobs, congested", dally.workload, dally_study_words::congested_cluster(),
                 0.5, dally.models});
  for (const std::string share : {"0.5", "1"})
    all.push_back({"elastic jobs, share " + share, elastic(share), market.cluster, 0.6});
  return all;
}

}  // namespace

const std::vector<Metric> kRivalMetrics{
    {"jct-over-best", "mean JCT", "jct_s.mean", 0, kBestRival},
    {"wait-over-srsf", "mean wait", "wait_s.mean", 1, "srsf"},
    {"pauses-over-srsf", "number of pauses", "preemptions", 1, "srsf"},
    {"pauses-over-xion", "number of pauses", "preemptions", 1, "xion"},
    over_the_bound("trainyard"),
    over_the_bound("srsf"),
    over_the_bound("srtf"),
    over_the_bound("sjf"),
    over_the_bound("xion"),
    over_the_bound("fifo-easy")};

double metric_of(const Outcome& outcome, const std::string& policy, const std::string& path) {
  if (policy != kBestRival) return outcome.metric(policy, path);
  double least = outcome.metric(kRivalNames.front(), path);
  for (const std::string& rival : kRivalNames) least = std::min(least, outcome.metric(rival, path));
  return least;
}

std::vector<Named> rival_conditions(const StudyPolicy& ours) {
  std::vector<Named> all;
  for (const Set& set : sets()) {
    Condition condition{set.name, set.workload, set.cluster, {ours}, set.models};
    for (const std::string& rival : kRivalNames)
      condition.policies.push_back({rival, line_of(rival)});
    condition.policies.push_back({kBound, std::string(kLowerBoundLine)});
    condition.times_jobs = set.times_jobs;
    all.push_back({set.name, condition});
  }
  return all;
}

}  // namespace trainyard::trainyard_study_words
