// FitGpp: trial jobs start at once, and the batch job that is cheapest to pause gives way.
#include <algorithm>

#include "study/reproduce/findings.h"
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

constexpr const char* kTrialP95 = "by_class.trial.slowdown.p95";

/// How many times its value under first come, first served.
std::function<double(const Outcome&)> times_fifo(const char* metric) {
  return
      [metric](const Outcome& o) { return o.metric("fitgpp", metric) / o.metric("fifo", metric); };
}

std::function<double(const Outcome&)> reduction(const char* metric) {
  return [of = times_fifo(metric)](const Outcome& o) { return 1 - of(o); };
}

std::function<double(const Outcome&)> increase(const char* metric) {
  return [of = times_fifo(metric)](const Outcome& o) { return of(o) - 1; };
}

/// A sweep of the workload needs only the two policies that the claims compare.
Change key_for_claims(const std::string& key) {
  return [change = workload_key(key)](Condition& condition, const std::string& value) {
    change(condition, value);
    std::erase_if(condition.policies, [](const StudyPolicy& policy) {
      return policy.label != "fifo" && policy.label != "fitgpp";
    });
  };
}

/// Mean demands of these classes, as a part of a machine: 0.25 is 2 GPUs, 8 CPUs and 64 GiB. No job
/// asks for less than one of each.
Change demand_of(const std::vector<std::string>& classes) {
  return [classes](Condition& condition, const std::string& part) {
    const std::map<std::string, double> machine{{"gpus", 8}, {"cpus", 32}, {"memory", 256}};
    for (const std::string& job_class : classes)
      for (const auto& [resource, all] : machine)
        key_for_claims(job_class + "_" + resource)(
            condition, fmt::format("{}", std::max(1.0, all * std::stod(part))));
  };
}

Condition base_condition() {
  // Neither is in the paper: a least run time before a pause, and a limit on trial jobs.
  const std::vector<std::string> as_in_the_paper{"yard.min_run=0", "queue.trial_share=0"};
  std::vector<std::string> fitgpp = as_in_the_paper;
  for (const char* setting :
       {"preempt.s=4", "preempt.P=1", "preempt.normalise=all", "preempt.fallback=random",
        "preempt.fallback_P=ignored", "order.reentry=head"})
    fitgpp.emplace_back(setting);
  return {"base",
          "trial-batch:jobs={jobs},load=2,trial=0.3,grace_scale=1,demand_spread=1,run_spread=1,"
          "shortest=10s",
          kCluster,
          {{"fifo", "fifo"},
           {"lrtp", "lrtp", as_in_the_paper},
           {"rand", "rand", as_in_the_paper},
           {"fitgpp", "fitgpp", fitgpp}}};
}

std::vector<Sweep> sweeps() {
  const std::vector<std::string> fitgpp{"fitgpp"};
  return {
      {"Weight of the grace period",
       "s",
       policy_setting(fitgpp, "preempt.s"),
       {"0", "0.5", "1", "2", "4", "8", "16"}},
      {"Most pauses of a job",
       "P",
       policy_setting(fitgpp, "preempt.P"),
       {"1", "2", "4", "8", "64"}},
      {"Length of grace periods",
       "times those of the study",
       key_for_claims("grace_scale"),
       {"0.25", "0.5", "1", "2", "4"}},
      {"Share of trial jobs", "share", key_for_claims("trial"), {"0.1", "0.3", "0.5", "0.7"}},
      {"Spread of demands",
       "deviation over mean",
       key_for_claims("demand_spread"),
       {"0.25", "0.5", "1", "2"}},
      {"Mean demand of all jobs",
       "part of a machine",
       demand_of({"trial", "batch"}),
       {"0.125", "0.25", "0.375", "0.5"}},
      {"Mean demand of trial jobs",
       "part of a machine",
       demand_of({"trial"}),
       {"0.0625", "0.125", "0.25", "0.375"}},
      {"Shortest run time",
       "run time",
       key_for_claims("shortest"),
       {"1s", "10s", "30s", "1m", "2m"}},
      {"Spread of run times",
       "deviation over mean",
       key_for_claims("run_spread"),
       {"0.25", "0.5", "1", "2"}},
      {"Load", "load held under FIFO", key_for_claims("load"), {"1.2", "1.5", "2", "3", "4"}},
      {"Where a paused job re-enters",
       "place",
       policy_setting(fitgpp, "order.reentry"),
       {"head", "submission", "tail"}},
      {"Fallback",
       "rule",
       policy_setting(fitgpp, "preempt.fallback"),
       {"random", "none", "literal"}},
      {"P and the fallback",
       "P",
       policy_setting(fitgpp, "preempt.fallback_P"),
       {"ignored", "kept"}},
      {"Normalisation", "over", policy_setting(fitgpp, "preempt.normalise"), {"all", "candidates"}},
  };
}

/// Where in the sweeps the claim would not hold: "Shortest run time 1m: 95.4 %, ...".
std::string misses(const Findings& findings, std::size_t claim) {
  const Claim& of = findings.claims[claim].claim;
  std::string text;
  for (const SweepFinding& sweep : findings.sweeps) {
    for (const TableFinding::Row& row : sweep.table.rows) {
      const double ours = row.values[claim].mean;
      const bool holds =
          of.direction == Direction::at_least ? ours >= of.number : ours <= of.number;
      if (!holds)
        text += fmt::format("{}{} {}: {:.1f} %", text.empty() ? "" : ", ", sweep.table.title,
                            row.name, 100 * ours);
    }
  }
  return text.empty() ? "nowhere" : text;
}

std::vector<std::string> discussion(const Findings& findings) {
  std::vector<std::string> paragraphs{
      "How much trial jobs can gain is bounded by how badly they fare under FIFO: with a p95 "
      "slowdown of x there, no policy can take more than 1 - 1/x off. That is decided by how short "
      "the shortest jobs are, a lower bound that is not published: under FIFO all jobs wait about "
      "equally long, and only jobs of less than a minute are slowed down fortyfold by it. So the "
      "first claim holds for jobs from 10 s on, and not for jobs that all last a minute or more, "
      "although FitGpp's own p95 is hardly different.",
      "Batch jobs gain where the paper saw them lose. FIFO leaves GPUs idle behind a head of the "
      "queue that does not fit, trial jobs fill these holes, and the arrivals were recorded under "
      "FIFO: a policy with a little more throughput works off the backlog over the length of the "
      "trace, and batch jobs then wait less than under FIFO. That is why longer traces (the full "
      "run) show more of it than short ones (the quick run), and why lrtp and rand, which lose "
      "more time to pauses, end on the other side. Where trial jobs are much smaller than batch "
      "jobs, or demands vary little, there are fewer holes to gain, and the increase comes close "
      "to what "
      "the paper reports.",
      "Of the choices that the descriptions leave open, none moves a claim: where a paused job "
      "re-enters, whether P binds the fallback, and over which jobs scores are normalised change "
      "the "
      "figures by less than their intervals. The fallback is hardly ever needed: a job of one "
      "worker nearly always finds one job whose pause suffices."};
  for (std::size_t i = 0; i < findings.claims.size(); ++i)
    paragraphs.push_back(fmt::format("{} does not hold in the sweeps at: {}.",
                                     findings.claims[i].claim.id, misses(findings, i)));
  return paragraphs;
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
      "room take that of a batch job which is small and quick to leave, and reports that this "
      "makes trial jobs wait hardly at all while batch jobs suffer little."};
  study.assumptions = {
      "From the abstract: the three numbers. From descriptions of the paper: the score, s = 4 and "
      "P = 1, 84 machines of 8 GPUs, 32 CPUs and 256 GiB, 2^16 jobs of which 30% are trial jobs, "
      "the mean and the longest run times and grace periods, truncated normal distributions, and a "
      "load of 2.0 that is held under FIFO.",
      "Not known, and chosen by us, the same for every seed: all deviations (equal to the mean), "
      "the shortest run time (10 s), and the demands. Both classes ask for 2 GPUs, 8 CPUs and 64 "
      "GiB in the mean, a quarter of a machine in each resource; draws outside of a machine are "
      "drawn again. The sweeps show how the three claims move with each of these.",
      "Slowdown is completion time over run time: waiting includes the time after a pause, and the "
      "grace period in which a job makes no progress. What is ours and not the paper's is switched "
      "off: a least run time before a pause, and the limit on what a user's trial jobs take. "
      "No job is paused in vain, also under rand and lrtp: the jobs that are paused are known to "
      "suffice, and one that need not leave stays. The sweep of the fallback has its literal "
      "rule."};
  study.full = {65'536, 8};
  study.quick = {8'192, 3};
  study.base = base_condition();
  study.measures = {{"trial-p95-reduction", "reduction of the trial jobs' p95 slowdown", share,
                     reduction(kTrialP95)},
                    {"batch-p50-increase", "increase of the batch jobs' p50 slowdown", share,
                     increase("by_class.batch.slowdown.p50")},
                    {"batch-p95-increase", "increase of the batch jobs' p95 slowdown", share,
                     increase("by_class.batch.slowdown.p95")}};
  study.claims = {{"trial-p95-reduction", "Trial jobs' p95 slowdown falls by 96.6%", "abstract",
                   "trial-p95-reduction", Direction::at_least, 0.966},
                  {"batch-p50-increase", "Batch jobs' p50 slowdown rises by 18.0% only", "abstract",
                   "batch-p50-increase", Direction::at_most, 0.180},
                  {"batch-p95-increase", "Batch jobs' p95 slowdown rises by 23.9% only", "abstract",
                   "batch-p95-increase", Direction::at_most, 0.239}};
  study.tables = {{"Slowdown by class",
                   {{"trial p50", "by_class.trial.slowdown.p50", ratio},
                    {"trial p95", kTrialP95, ratio},
                    {"trial p99", "by_class.trial.slowdown.p99", ratio},
                    {"batch p50", "by_class.batch.slowdown.p50", ratio},
                    {"batch p95", "by_class.batch.slowdown.p95", ratio},
                    {"batch p99", "by_class.batch.slowdown.p99", ratio}}},
                  {"Pauses",
                   {{"pauses", "preemptions", count},
                    {"batch jobs", "by_class.batch.jobs", count},
                    {"of them paused", "paused_jobs", count},
                    {"away p50", "away_s.p50", seconds},
                    {"away p95", "away_s.p95", seconds},
                    {"away p99", "away_s.p99", seconds}}}};
  study.sweeps = sweeps();
  study.discussion = discussion;
  return study;
}

}  // namespace trainyard
