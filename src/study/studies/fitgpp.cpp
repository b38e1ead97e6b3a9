// FitGpp: trial jobs start at once, and the batch job that is cheapest to pause gives way.
#include <algorithm>
#include <cmath>

#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

constexpr const char* kTrialP95 = "by_class.trial.slowdown.p95";
constexpr const char* kTrialP99 = "by_class.trial.slowdown.p99";
constexpr const char* kBatchP50 = "by_class.batch.slowdown.p50";
constexpr const char* kBatchP95 = "by_class.batch.slowdown.p95";

constexpr const char* kLength = "Length of the trace";
constexpr const char* kLengthOwn = "Length of the trace, each policy its own load";
constexpr const char* kSpread = "Spread of demands";
constexpr const char* kSpreadAxis = "deviation of demands over their mean";
constexpr const char* kSpreadOwn = "Spread of demands, each policy its own load";
constexpr const char* kMap = "Mean and spread of demands";
constexpr const char* kMapOwn = "Mean and spread of demands, each policy its own load";
constexpr const char* kShortMap = "Shortest run time and spread of demands";
constexpr const char* kMatters = "Where preemption matters";
constexpr const char* kReal = "Jobs of the Philly log";

/// The rule of who is a trial job there, as it was fixed before the first run: one GPU and at most
/// 30 min, the longest that a trial job takes in the study's own workload. It makes 57% of the
/// log's jobs trial jobs, which have 0.7% of its GPU time.
constexpr const char* kTrialRule = "trial_longest=30m,trial_gpus=1";

std::string real_workload() {
  return fmt::format("trace:file={},{},jobs={{jobs}},load=0.9,max_gpus=64,pause=helios", kPhillyLog,
                     kTrialRule);
}

std::string machines(int count) {
  return fmt::format(
      "[[rack]]\n[[rack.machine]]\ncount = {}\ngpus = 8\ncpus = 32\nmemory = \"256GiB\"\n", count);
}

std::function<double(const Outcome&)> over(const char* policy, const char* other,
                                           const char* metric) {
  return [=](const Outcome& o) { return o.metric(policy, metric) / o.metric(other, metric); };
}

std::function<double(const Outcome&)> reduction(const char* policy, const char* metric) {
  return [of = over(policy, "fifo", metric)](const Outcome& o) { return 1 - of(o); };
}

std::function<double(const Outcome&)> increase(const char* metric) {
  return [of = over("fitgpp", "fifo", metric)](const Outcome& o) { return of(o) - 1; };
}

/// A sweep of the workload needs only the policies that the measures compare.
Change for_claims(Change change) {
  return [change = std::move(change)](Condition& condition, const std::string& value) {
    std::erase_if(condition.policies, [](const StudyPolicy& policy) {
      return policy.label != "fifo" && policy.label != "trial-first" && policy.label != "fitgpp";
    });
    change(condition, value);
  };
}

Change key_for_claims(const std::string& key) {
  return for_claims(workload_key(key));
}

/// Mean demands of these classes, as a part of a machine: 0.25 is 2 GPUs, 8 CPUs and 64 GiB. No job
/// asks for less than one of each.
Change demand_of(const std::vector<std::string>& classes) {
  return for_claims([classes](Condition& condition, const std::string& part) {
    const std::map<std::string, double> machine{{"gpus", 8}, {"cpus", 32}, {"memory", 256}};
    for (const std::string& job_class : classes)
      for (const auto& [resource, all] : machine)
        workload_key(job_class + "_" + resource)(
            condition, fmt::format("{}", std::max(1.0, all * std::stod(part))));
  });
}

/// The load is the same under every policy, and so are not the arrivals.
Change own_load(Change change) {
  return for_claims([change = std::move(change)](Condition& condition, const std::string& value) {
    workload_key("held_under")(condition, "{policy}");
    change(condition, value);
  });
}

/// What is other than in the base condition, by the words of a value.
Sweep where_it_matters() {
  const auto change = [](Condition& condition, const std::string& value) {
    const auto has = [&](std::string_view words) { return value.find(words) != std::string::npos; };
    if (has("half a machine")) demand_of({"trial"})(condition, "0.5");
    if (has("gangs")) workload_key("trial_workers")(condition, "4");
    if (has("6 h")) workload_key("batch_run")(condition, "6h");
    if (has("8 machines")) condition.cluster = machines(8);
  };
  return {kMatters,
          "condition",
          for_claims(change),
          {"as in the base", "trial jobs of half a machine", "trial gangs of 4 workers",
           "batch jobs of 6 h", "8 machines", "half a machine, 8 machines",
           "batch jobs of 6 h, 8 machines", "half a machine, batch jobs of 6 h, 8 machines",
           "gangs, batch jobs of 6 h, 8 machines",
           "gangs, half a machine, batch jobs of 6 h, 8 machines"}};
}

std::vector<Sweep> of_the_trace() {
  const std::vector<std::string> lengths{"4096", "16384", "65536"};
  return {{kLength, "jobs", key_for_claims("jobs"), lengths},
          {kLengthOwn, "jobs, own load", own_load(workload_key("jobs")), lengths},
          where_it_matters(),
          {kReal,
           "load of the log",
           for_claims([](Condition& condition, const std::string& load) {
             condition.workload = real_workload();
             condition.cluster = "8x8xV100";
             condition.times_jobs = 0.25;  // the log has no more windows of that length
             workload_key("load")(condition, load);
           }),
           {"0.7", "0.9", "1.05"}}};
}

const std::vector<std::string> kSpreads{"0.25", "0.5", "1"};
constexpr const char* kBaseSpread = "0.5";

std::vector<Sweep> of_the_workload() {
  return {
      {"Length of grace periods",
       "times those of the study",
       key_for_claims("grace_scale"),
       {"0.25", "0.5", "1", "2", "4"}},
      {"Share of trial jobs", "share", key_for_claims("trial"), {"0.1", "0.3", "0.5", "0.7"}},
      {kSpread, kSpreadAxis, key_for_claims("demand_spread"), kSpreads},
      {kSpreadOwn, "deviation, own load", own_load(workload_key("demand_spread")), kSpreads},
      {"Mean demand of all jobs",
       "part of a machine",
       demand_of({"trial", "batch"}),
       {"0.125", "0.1875", "0.25", "0.5"}},
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
      {"Load", "load that is held", key_for_claims("load"), {"1.2", "1.5", "2", "3", "4"}},
  };
}

std::vector<Sweep> of_the_rule() {
  const auto setting = [](const std::string& name) {
    return for_claims(policy_setting({"fitgpp"}, name));
  };
  return {
      {"Weight of the grace period",
       "s",
       setting("preempt.s"),
       {"0", "0.5", "1", "2", "4", "8", "16"}},
      {"Most pauses of a job", "P", setting("preempt.P"), {"1", "2", "4", "8", "64"}},
      {"Where a paused job re-enters",
       "place",
       setting("order.reentry"),
       {"head", "submission", "tail"}},
      {"Fallback", "rule", setting("preempt.fallback"), {"random", "none", "literal"}},
      {"P and the fallback", "P", setting("preempt.fallback_P"), {"ignored", "kept"}},
      {"Normalisation", "over", setting("preempt.normalise"), {"all", "candidates"}},
  };
}

/// Where all three numbers come out, if anywhere: over what is not published and decides them.
std::vector<Sweep> maps() {
  const std::vector<SweepMap::Region> regions{{"T", "trial jobs' p95 falls by 96.6% at least",
                                               "trial-p95-reduction", Direction::at_least, 0.966},
                                              {"M", "batch jobs' p50 rises by 18.0% at most",
                                               "batch-p50-increase", Direction::at_most, 0.180},
                                              {"P", "batch jobs' p95 rises by 23.9% at most",
                                               "batch-p95-increase", Direction::at_most, 0.239}};
  const std::vector<std::string> shown{"trial-p95-reduction", "batch-p50-increase",
                                       "batch-p95-increase"};
  const SweepWay spread{"spread", key_for_claims("demand_spread"), kSpreads};
  const std::vector<std::string> parts{"0.125", "0.1875", "0.25"};
  return {map_sweep(kMap, {"part of a machine", demand_of({"trial", "batch"}), parts}, spread,
                    regions, shown),
          map_sweep(kMapOwn,
                    {"part of a machine, own load", own_load(demand_of({"trial", "batch"})), parts},
                    spread, regions, shown),
          map_sweep(kShortMap,
                    {"shortest run time", key_for_claims("shortest"), {"1s", "3s", "10s", "30s"}},
                    spread, regions, shown)};
}

std::vector<Sweep> sweeps() {
  std::vector<Sweep> all = of_the_trace();
  for (const std::vector<Sweep>& some : {of_the_workload(), of_the_rule(), maps()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

Condition base_condition() {
  // Neither is in the paper: a least run time before a pause, and a limit on trial jobs.
  const std::vector<std::string> as_in_the_paper{"yard.min_run=0", "queue.trial_share=0"};
  const auto policy = [&](const char* label, const char* line) {
    return StudyPolicy{label, line, as_in_the_paper};
  };
  StudyPolicy fitgpp = policy("fitgpp", "order=trial-first preempt=fitgpp");
  for (const char* setting :
       {"preempt.s=4", "preempt.P=1", "preempt.normalise=all", "preempt.fallback=random",
        "preempt.fallback_P=ignored", "order.reentry=head"})
    fitgpp.settings.emplace_back(setting);
  return {"base",
          "trial-batch:jobs={jobs},load=2,held_under=fifo,cut=0.1,trial=0.3,grace_scale=1,"
          "demand_spread=0.5,run_spread=1,shortest=10s,trial_gpus=1,trial_cpus=4,trial_memory=32,"
          "batch_gpus=1,batch_cpus=4,batch_memory=32",
          machines(84),
          {{"fifo", "fifo"},
           policy("trial-first", "order=trial-first"),
           policy("lrtp", "order=trial-first preempt=longest-remaining"),
           policy("rand", "order=trial-first preempt=random"),
           fitgpp,
           policy("fitgpp, greedy", "order=trial-first backfill=greedy preempt=fitgpp"),
           policy("fitgpp, shortest first",
                  "order=trial-first order.reentry=submission order.within=remaining "
                  "backfill=greedy preempt=fitgpp"),
           policy("fitgpp+xion",
                  "order=trial-first order.reentry=submission order.within=remaining "
                  "backfill=greedy preempt=benefit queue.trial_worth=30")}};
}

std::vector<Measure> measures() {
  using enum Quantity;
  return {{"trial-p95-reduction", "reduction of the trial jobs' p95 slowdown", share,
           reduction("fitgpp", kTrialP95)},
          {"batch-p50-increase", "increase of the batch jobs' p50 slowdown", share,
           increase(kBatchP50)},
          {"batch-p95-increase", "increase of the batch jobs' p95 slowdown", share,
           increase(kBatchP95)},
          {"order-alone", "reduction of the trial jobs' p95 slowdown by their order alone", share,
           reduction("trial-first", kTrialP95)},
          {"preemption-p95", "trial jobs' p95 slowdown without preemption over that with it", ratio,
           over("trial-first", "fitgpp", kTrialP95)},
          {"preemption-p99", "trial jobs' p99 slowdown without preemption over that with it", ratio,
           over("trial-first", "fitgpp", kTrialP99)},
          {"preemption-batch", "batch jobs' p95 slowdown without preemption over that with it",
           ratio, over("trial-first", "fitgpp", kBatchP95)}};
}

/// The paper's three numbers in each of the three columns, none of which is chosen afterwards.
std::vector<Claim> claims() {
  std::vector<Claim> all;
  for (const std::string& spread : kSpreads) {
    const bool is_base = spread == kBaseSpread;
    const std::string at = is_base ? "" : fmt::format("{} = {}", kSpreadAxis, spread);
    const auto add = [&](const char* id, const char* text, Direction direction, double number) {
      all.push_back({is_base ? id : fmt::format("{}-{}", id, spread), text, "abstract", id,
                     direction, number, TakenAt::base, at});
    };
    add("trial-p95-reduction", "Trial jobs' p95 slowdown falls by 96.6%", Direction::at_least,
        0.966);
    add("batch-p50-increase", "Batch jobs' p50 slowdown rises by 18.0% only", Direction::at_most,
        0.180);
    add("batch-p95-increase", "Batch jobs' p95 slowdown rises by 23.9% only", Direction::at_most,
        0.239);
  }
  const std::vector<Claim> ours{
      {"preemption-adds", "Preemption takes trial jobs' p99 slowdown down, beyond their order",
       "our question: what is left when preemption is taken out", "preemption-p99",
       Direction::at_least, 1},
      {"preemption-matters",
       "Somewhere preemption makes trial jobs' p95 slowdown at least ten times less",
       "our question: where it matters", "preemption-p95", Direction::at_least, 10,
       TakenAt::largest, kMatters}};
  all.insert(all.end(), ours.begin(), ours.end());
  return all;
}

std::vector<StudyTable> tables() {
  using enum Quantity;
  return {{"Slowdown by class",
           {{"trial p50", "by_class.trial.slowdown.p50", ratio},
            {"trial p95", kTrialP95, ratio},
            {"trial p99", kTrialP99, ratio},
            {"batch p50", kBatchP50, ratio},
            {"batch p95", kBatchP95, ratio},
            {"batch p99", "by_class.batch.slowdown.p99", ratio}}},
          {"Pauses",
           {{"pauses", "preemptions", count},
            {"paused jobs", "paused_jobs", count},
            {"GPUs held", "gpu_utilization", share},
            {"away p50", "away_s.p50", seconds},
            {"away p95", "away_s.p95", seconds},
            {"away p99", "away_s.p99", seconds}}}};
}

std::vector<std::string> assumptions() {
  return {
      "From the abstract: the three numbers. From descriptions of the paper: the score, s = 4 and "
      "P = 1, 84 machines of 8 GPUs, 32 CPUs and 256 GiB, of the jobs 30% trial jobs, "
      "the mean and the longest run times and grace periods, truncated normal distributions, and a "
      "load of 2.0, which they hold under FIFO for all policies.",
      "Not known, and chosen by us, the same for every seed: the deviations of run times and grace "
      "periods (equal to the mean), the shortest run time (10 s), and the demands. Both classes "
      "ask "
      "for 1 GPU, 4 CPUs and 32 GiB in the mean, an eighth of a machine in each resource; draws "
      "outside of a machine are drawn again. How far demands spread decides the two numbers of "
      "batch jobs, so there are three columns, with deviations of .25, .5 and 1 times the mean; "
      "the "
      "one in the middle is the base condition, and the numbers are judged in each. Also ours: the "
      "first and the last tenth of the jobs are in no figure on times. The sweeps show how the "
      "claims move with each of these, and what comes out where the load is held under the policy "
      "that is run (\"{policy}\" in the workload's line), so that it is the same under each. These "
      "conditions were fixed before the first run with them.",
      "Real jobs are those of the Microsoft Philly log, every seed another window of it: jobs of "
      "one GPU and at most 30 min are trial jobs, a rule that was fixed before the first run. They "
      "are on 64 GPUs, with the constants of the Helios artifact for pauses, and their arrivals "
      "stretched to the load.",
      "Slowdown is completion time over run time: waiting includes the time after a pause, and the "
      "grace period in which a job makes no progress. What is ours and not the paper's is switched "
      "off: a least run time before a pause, and the limit on what a user's trial jobs take. "
      "No job is paused in vain, also under rand and lrtp: the jobs that are paused are known to "
      "suffice, and one that need not leave stays. The sweep of the fallback has its literal "
      "rule."};
}

// --- What came out -------------------------------------------------------------------------------

/// Null if its trace is not there.
const TableFinding* find_sweep(const Findings& findings, const std::string& title) {
  const auto found = std::ranges::find(findings.sweeps, title,
                                       [](const SweepFinding& sweep) { return sweep.table.title; });
  return found == findings.sweeps.end() ? nullptr : &found->table;
}

const TableFinding& sweep_of(const Findings& findings, const std::string& title) {
  return *find_sweep(findings, title);
}

/// A measure's means along a sweep: "4096: 19.1 %, 8192: 18.7 %".
std::string along(const TableFinding& table, std::size_t measure, double times,
                  std::string_view unit) {
  std::string text;
  for (const TableFinding::Row& row : table.rows)
    text += fmt::format("{}{}: {:.1f}{}", text.empty() ? "" : ", ", row.name,
                        times * row.values[measure].mean, unit);
  return text;
}

double in_table(const Findings& findings, const std::string& policy, std::size_t column) {
  const auto& rows = findings.tables[0].rows;
  return std::ranges::find(rows, policy, &TableFinding::Row::name)->values[column].mean;
}

/// Whether a measure's intervals at the shortest and at the longest trace lie apart.
std::string_view drift(const TableFinding& table, std::size_t measure) {
  const Interval first = table.rows.front().values[measure],
                 last = table.rows.back().values[measure];
  const bool apart = std::abs(first.mean - last.mean) > first.half_width + last.half_width;
  return apart ? "drifts" : "does not drift by more than the intervals";
}

/// What a claim's measure comes to in all sweeps: from where to where, and how often it holds.
std::string in_sweeps(const Findings& findings, std::size_t claim) {
  const Claim& of = findings.claims[claim].claim;
  struct At {
    double value;
    std::string name;
  };
  std::vector<At> all;
  for (const SweepFinding& sweep : findings.sweeps)
    for (const TableFinding::Row& row : sweep.table.rows)
      all.push_back({row.values[claim].mean, sweep.table.title + " " + row.name});
  const auto holds = std::ranges::count_if(all, [&](const At& at) {
    return of.direction == Direction::at_least ? at.value >= of.number : at.value <= of.number;
  });
  const auto [low, high] = std::ranges::minmax_element(all, {}, &At::value);
  return fmt::format(
      "In the sweeps {} is from {:.1f} % ({}) to {:.1f} % ({}), and meets the paper's number at {} "
      "of {} conditions.",
      of.measure, 100 * low->value, low->name, 100 * high->value, high->name, holds, all.size());
}

std::string ablation(const Findings& findings) {
  return fmt::format(
      "By going first alone, without any preemption, the p95 slowdown of trial jobs falls from "
      "{:.1f} "
      "under FIFO to {:.2f}, and with FitGpp's preemption to {:.2f}; their p99 is {:.2f} without "
      "it "
      "and {:.2f} with it. How many times longer the trial jobs' p95 slowdown is without "
      "preemption: "
      "{}. Where that is less than 1, waiting would be quicker than pausing: a victim keeps its "
      "room "
      "for its grace period, 3 min in the mean, and a job that needs the room of several waits for "
      "the slowest of them.",
      in_table(findings, "fifo", 1), in_table(findings, "trial-first", 1),
      in_table(findings, "fitgpp", 1), in_table(findings, "trial-first", 2),
      in_table(findings, "fitgpp", 2), along(sweep_of(findings, kMatters), 4, 1, ""));
}

std::string steadiness(const Findings& findings) {
  const TableFinding &fifo = sweep_of(findings, kLength), &own = sweep_of(findings, kLengthOwn);
  return fmt::format(
      "The load is held under FIFO for all policies, as descriptions of the paper have it. FIFO "
      "leaves GPUs idle behind a head of the queue that does not fit, and a policy with a little "
      "more throughput works off the queue over the length of the trace: the increase of the batch "
      "jobs' p50 slowdown {} with it ({}). Where the load is held under each policy by itself, so "
      "that it is the same under all, it {} ({}).",
      drift(fifo, 1), along(fifo, 1, 100, " %"), drift(own, 1), along(own, 1, 100, " %"));
}

/// Where all three numbers come out, of the conditions of the maps and of the spreads.
std::string all_three(const Findings& findings) {
  std::string where;
  std::size_t conditions = 0, near = 0;
  const auto meets = [](const TableFinding::Row& row, double slack) {
    return row.values[0].mean >= 0.966 - slack && row.values[1].mean <= 0.180 + slack &&
           row.values[2].mean <= 0.239 + slack;
  };
  const auto is_at = [](const TableFinding::Row& row, double slack) {
    return std::abs(row.values[1].mean - 0.180) <= slack &&
           std::abs(row.values[2].mean - 0.239) <= slack;
  };
  constexpr double kNear = 0.05;
  for (const char* title : {kSpread, kSpreadOwn, kMap, kMapOwn, kShortMap}) {
    const TableFinding* table = find_sweep(findings, title);
    if (table == nullptr) continue;
    for (const TableFinding::Row& row : table->rows) {
      ++conditions;
      if (is_at(row, kNear)) ++near;
      if (meets(row, 0))
        where += fmt::format("{}{} {}", where.empty() ? "" : "; ", title, row.name);
    }
  }
  return fmt::format(
      "The three numbers together: of {} conditions over mean and spread of demands, the shortest "
      "run time and how the load is held, all three are met at {}. Both numbers of batch jobs are "
      "within 5 points of the published ones at {} of them; where they fall instead, batch jobs "
      "fare better than published, which is not the same. Not published, and what decides them, "
      "is the distribution of demands.",
      conditions, where.empty() ? "none" : where, near);
}

std::string compositions(const Findings& findings) {
  const auto& rows = findings.tables[0].rows;
  const auto best = std::ranges::min_element(
      rows, {}, [](const TableFinding::Row& row) { return row.values[4].mean; });
  return fmt::format(
      "Of the compositions of stages in the table, \"{}\" has the least p95 slowdown of batch "
      "jobs, "
      "{:.2f} where fitgpp has {:.2f}; trial jobs have {:.2f} there and {:.2f} with fitgpp.",
      best->name, best->values[4].mean, in_table(findings, "fitgpp", 4), best->values[1].mean,
      in_table(findings, "fitgpp", 1));
}

std::vector<std::string> discussion(const Findings& findings) {
  const double under_fifo = in_table(findings, "fifo", 1);
  std::vector<std::string> paragraphs{
      all_three(findings), steadiness(findings), ablation(findings), compositions(findings),
      fmt::format(
          "How much trial jobs can gain is bounded by how badly they fare under FIFO: with a "
          "p95 slowdown of {:.1f} there, no policy can take more than {:.1f} % off. That is "
          "decided by how short the shortest jobs are, a lower bound that is not published: "
          "under FIFO all jobs wait about equally long, so that the shortest are slowed down "
          "most.",
          under_fifo, 100 * (1 - 1 / under_fifo))};
  if (const TableFinding* real = find_sweep(findings, kReal); real != nullptr)
    paragraphs.push_back(fmt::format(
        "On jobs of the Philly log the trial jobs' p95 slowdown falls by: {}; the "
        "batch jobs' p95 changes by: {}. Beside order alone, preemption makes the "
        "trial jobs' p95 smaller by these factors: {}.",
        along(*real, 0, 100, " %"), along(*real, 2, 100, " %"), along(*real, 4, 1, "")));
  for (std::size_t i = 0; i < 3; ++i) paragraphs.push_back(in_sweeps(findings, i));
  return paragraphs;
}

}  // namespace

Study fitgpp_study() {
  Study study;
  study.name = "fitgpp";
  study.title = "FitGpp: low latency for trial-and-error jobs";
  study.paper =
      "H. Yabuuchi, D. Taniwaki, S. Omura: Low-latency job scheduling with "
      "preemption for the development of deep learning. OpML 2019; known to us by its abstract and "
      "by descriptions of it";
  study.summary = {
      "Trial jobs are small and someone watches them. The paper lets a trial job that finds no "
      "room take that of a batch job which is small and quick to leave, and reports that this "
      "makes trial jobs wait hardly at all while batch jobs suffer little."};
  study.assumptions = assumptions();
  study.full = {65'536, 8};
  study.quick = {4'096, 3};
  study.base = base_condition();
  study.measures = measures();
  study.claims = claims();
  study.tables = tables();
  study.sweeps = sweeps();
  study.discussion = discussion;
  return study;
}

}  // namespace trainyard
