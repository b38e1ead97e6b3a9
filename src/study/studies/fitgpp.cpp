// FitGpp: trial jobs start at once, and the batch job that is cheapest to pause gives way.
#include "study/studies.h"

namespace trainyard {
namespace {

constexpr const char* kCluster = R"([[rack]]
[[rack.machine]]
count = 84
gpus = 8
cpus = 32
memory = "256GiB"
)";

/// How much less than under first come, first served; negative when it is more.
std::function<double(const Outcome&)> reduction(const char* metric) {
  return [metric](const Outcome& o) {
    return 1 - o.metric("lrtp", metric) / o.metric("fifo", metric);
  };
}

/// How much more than under first come, first served.
std::function<double(const Outcome&)> increase(const char* metric) {
  return [metric](const Outcome& o) {
    return o.metric("lrtp", metric) / o.metric("fifo", metric) - 1;
  };
}

}  // namespace

Study fitgpp_study() {
  using enum Quantity;
  Study study;
  study.name = "fitgpp";
  study.title = "FitGpp: low latency for trial-and-error jobs";
  study.paper =
      "H. Yabuuchi, D. Taniwaki, S. Omura: Low-latency job scheduling with "
      "preemption for the development of deep learning. OpML 2019";
  study.summary = {
      "Trial jobs are small and someone watches them. The paper lets a trial job that finds no "
      "room "
      "take that of a batch job which can be paused at little cost."};
  study.assumptions = {
      "Provisional: FitGpp's own choice of who gives way is not part of it yet. In its place "
      "stands "
      "lrtp, the paper's baseline, which pauses the batch job with the longest remaining time.",
      "The workload is that of Philly's log with a load at which queues grow, not the paper's."};
  study.full = {65'536, 8};
  study.quick = {8'192, 3};
  study.base = {"base",
                "philly-like:jobs={jobs},load=1.3,trial=0.3,grace=180",
                kCluster,
                {{"fifo", "fifo"},
                 {"lrtp", "order=fifo preempt=longest-remaining"},
                 {"rand", "order=fifo preempt=random"}}};
  study.measures = {{"trial-p95", "reduction of the trial jobs' p95 slowdown", share,
                     reduction("by_class.trial.slowdown.p95")},
                    {"batch-p50", "increase of the batch jobs' p50 slowdown", share,
                     increase("by_class.batch.slowdown.p50")},
                    {"batch-p95", "increase of the batch jobs' p95 slowdown", share,
                     increase("by_class.batch.slowdown.p95")}};
  study.claims = {{"trial-p95", "Trial jobs' p95 slowdown falls by 96.6%", "abstract", "trial-p95",
                   Direction::at_least, 0.966},
                  {"batch-p50", "Batch jobs' p50 slowdown rises by 18.0% only", "abstract",
                   "batch-p50", Direction::at_most, 0.180},
                  {"batch-p95", "Batch jobs' p95 slowdown rises by 23.9% only", "abstract",
                   "batch-p95", Direction::at_most, 0.239}};
  study.tables = {{"Slowdown by class",
                   {{"trial p50", "by_class.trial.slowdown.p50", ratio},
                    {"trial p95", "by_class.trial.slowdown.p95", ratio},
                    {"trial p99", "by_class.trial.slowdown.p99", ratio},
                    {"batch p50", "by_class.batch.slowdown.p50", ratio},
                    {"batch p95", "by_class.batch.slowdown.p95", ratio},
                    {"batch p99", "by_class.batch.slowdown.p99", ratio},
                    {"preemptions", "preemptions", count}}}};
  study.sweeps = {
      {"Share of trial jobs", "trial", workload_key("trial"), {"0.1", "0.3", "0.5", "0.7"}}};
  return study;
}

}  // namespace trainyard
