// Trainyard's own policy in the studies of all others: the preset `trainyard`, as it is, beside the
// system of each paper under the conditions of that paper's study.
//
// The conditions are not written again here. Each study's base condition and the values of its
// sweeps are taken as they are, each workload, cluster and network once; sweeps of a policy's own
// parameters fall out by that, as they change none of the three. Which tables come first is in
// trainyard_tables.cpp.
#include "study/studies/trainyard.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "policy/registry.h"
#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {

namespace trainyard_study_words {

const std::vector<Metric> kStarvationMetrics{
    {"longest-wait", "longest wait", "wait_s.max", 1, "fifo-easy", 3},
    {"batch-p99", "batch jobs' p99 slowdown", "by_class.batch.slowdown.p99", 0, "fifo-easy"},
    {"pauses-over-xion", "number of pauses", "preemptions", 1, "xion"}};

const std::vector<std::string> kKnown{"exact", "off by 50%", "limits", "none"};

namespace {

const Metric kTrialP95{"trial-p95", "trial jobs' p95 slowdown", "by_class.trial.slowdown.p95"},
    kBatchP50{"batch-p50", "batch jobs' p50 slowdown", "by_class.batch.slowdown.p50"},
    kBatchP95{"batch-p95", "batch jobs' p95 slowdown", "by_class.batch.slowdown.p95"},
    kJct{"jct", "mean JCT", "jct_s.mean"}, kWait{"wait", "mean wait", "wait_s.mean", 1},
    kPauses{"pauses", "number of pauses", "preemptions", 1},
    kMakespan{"makespan", "makespan", "makespan_s"},
    kCommunication{"communication", "communication", "slowed_mean_s", 1},
    kTo90{"to-90", "mean time to 90%", "learning.to_90_s.mean"},
    kTo95{"to-95", "mean time to 95%", "learning.to_95_s.mean"};

}  // namespace

const std::vector<Part>& parts() {
  static const std::vector<Part> all{
      {"fitgpp", fitgpp_study(), "fitgpp", false, {kTrialP95, kBatchP50, kBatchP95}, 4},
      {"xion", xion_study(), "xion", true, {kJct, kWait, kPauses}, 2},
      {"dally", dally_study(), "dally", false, {kMakespan, kJct, kCommunication}, 0.5},
      {"lwf", lwf_study(), "ada-srsf", true, {kJct}},
      {"jpas", jpas_study(), "jpas", false, {kTo90, kTo95}},
      {"jpas spread", jpas_study(), "jpas", false, {kTo90, kTo95}, 0, {"place=spread"}},
      {"market", market_study(), "market", true, {kJct}, 0.6}};
  return all;
}

std::string title_of(const std::string& what, const std::string& detail) {
  return fmt::format("{}, {}", what, detail);
}

std::string line_of(const std::string& policy) {
  const auto preset = std::ranges::find(presets(), policy, &Preset::name);
  return preset == presets().end() ? policy : std::string(preset->line);
}

}  // namespace trainyard_study_words

namespace {

using namespace trainyard_study_words;

constexpr const char *kOurs = "trainyard", *kTheirs = "system";

// --- Policies ------------------------------------------------------------------------------------

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// A line without a stage's member and its parameters, or without one parameter: "place",
/// "place.timers".
std::string without(const std::string& line, const std::string& name) {
  std::vector<std::string> words = words_of(line);
  std::erase_if(words, [&](const std::string& word) {
    return word.starts_with(name + "=") || word.starts_with(name + ".");
  });
  return fmt::format("{}", fmt::join(words, " "));
}

std::string changed(std::string line, const std::vector<std::string>& changes) {
  for (const std::string& change : changes)
    line = without(line, change.substr(0, change.find('='))) + " " + change;
  return line;
}

StudyPolicy ours(const Part& part) {
  return {kOurs, changed(line_of(kOurs), part.ours_changed)};
}

/// The paper's own, as its study runs it.
StudyPolicy system_of(const Part& part) {
  StudyPolicy policy =
      *std::ranges::find(part.study.base.policies, part.system, &StudyPolicy::label);
  policy.line = line_of(policy.line);
  return policy;
}

/// Ours as it is, then without each word of its line: what that stage or parameter is by default is
/// there instead. A member goes with its parameters; a word that others rest on stays.
std::vector<StudyPolicy> without_rules(const Part& part) {
  const std::string line = line_of(kOurs);
  std::vector<StudyPolicy> all{ours(part)};
  all.front().label = "as it is";
  for (const std::string& word : words_of(line)) {
    const std::string rest =
        changed(without(line, word.substr(0, word.find('='))), part.ours_changed);
    if (PolicySpec::parse(rest)) all.push_back({"without " + word, rest});
  }
  return all;
}

// --- Conditions ----------------------------------------------------------------------------------

/// A study's condition with its own system and another policy.
Condition between(const Part& part, const Condition& of_study, const StudyPolicy& other) {
  Condition condition = of_study;
  condition.policies = {system_of(part), other};
  condition.policies.front().label = kTheirs;
  condition.policies.back().label = kOurs;
  condition.times_jobs = part.times_jobs;
  if (part.times_jobs == 0 && condition.workload.find("{jobs}") != std::string::npos)
    workload_key("jobs")(condition, std::to_string(part.study.full.jobs));
  const bool has_windows = condition.workload.starts_with("trace:") &&
                           condition.workload.find("jobs=") != std::string::npos;
  if (has_windows) condition.workload += ",{part}";
  return condition;
}

/// Jobs beyond what runs in minutes.
bool is_too_long(const Condition& condition) {
  return condition.workload.find("jobs=16384") != std::string::npos ||
         condition.workload.find("jobs=32768") != std::string::npos;
}

/// Every workload, cluster and network of the study once, the base condition first.
std::vector<Named> conditions_of(const Part& part) {
  std::vector<Named> all;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen;
  const auto add = [&](const std::string& name, const Condition& condition) {
    const auto& [_, workload, cluster, policies, models, network, times] = condition;
    if (seen.emplace(workload, cluster, models, network).second && !is_too_long(condition))
      all.push_back({name, between(part, condition, ours(part))});
  };
  add("base", part.study.base);
  for (const Sweep& sweep : part.study.sweeps)
    for (const std::string& value : sweep.values) {
      Condition condition = part.study.base;
      sweep.change(condition, value);
      add(fmt::format("{}: {}", sweep.title, value), condition);
    }
  return all;
}

/// All know as much of how long jobs take. Those that go by it are named.
void tell(const std::string& known, const std::vector<std::string>& by_times,
          Condition& condition) {
  if (known == "exact") return;
  if (known == "off by 50%") return policy_setting(by_times, "queue.error")(condition, "0.5");
  workload_key("declared")(condition, known);
  for (const std::string& label : by_times)
    if (known == "none" && label != kOurs)
      policy_setting({label}, "queue.estimates")(condition, "attained");
}

/// Jobs like those of the Philly log, and the log itself, trial jobs as FitGpp's study has them.
std::vector<Named> starvation() {
  const std::string rest = ",jobs={jobs},load=0.9,pause=helios";
  const std::map<std::string, std::string> workloads{
      {"philly-like", "philly-like:trial=0.57" + rest},
      {"the log",
       fmt::format("trace:file={},{{part}},trial_longest=30m,trial_gpus=1{}", kPhillyLog, rest)}};
  std::vector<Named> all;
  for (const auto& [name, workload] : workloads)
    for (const int machines : {1, 8}) {
      Condition condition{"", workload, fmt::format("{}x8xV100", machines), {}};
      workload_key("max_gpus")(condition, std::to_string(8 * machines));
      condition.policies = {
          ours(parts().front()), {"fifo-easy", "fifo-easy"}, {"xion", line_of("xion")}};
      condition.times_jobs = 4;
      all.push_back({fmt::format("{}, {} GPUs", name, 8 * machines), condition});
    }
  return all;
}

// --- Sweeps --------------------------------------------------------------------------------------

/// Through conditions of their own.
Sweep sweep_over(const std::string& title, std::vector<Named> conditions,
                 const std::vector<Metric>& metrics) {
  Sweep sweep{title, title, {}, {}, {}, {}};
  for (const Named& named : conditions) sweep.values.push_back(named.name);
  for (const Metric& metric : metrics) sweep.measures.push_back(metric.id);
  sweep.change = [conditions = std::move(conditions)](Condition& condition,
                                                      const std::string& value) {
    condition = std::ranges::find(conditions, value, &Named::name)->condition;
  };
  return sweep;
}

std::vector<Sweep> by_knowledge(const Part& part) {
  std::vector<Sweep> all;
  const std::vector<Named> conditions = conditions_of(part);
  for (const std::string& known : kKnown) {
    std::vector<Named> told = conditions;
    for (Named& named : told)
      tell(known,
           part.goes_by_times ? std::vector<std::string>{kOurs, kTheirs}
                              : std::vector<std::string>{kOurs},
           named.condition);
    all.push_back(sweep_over(title_of(part.name, known), std::move(told), part.metrics));
    all.back().quick_values = 1;
  }
  return all;
}

/// The base condition with other policies in the place of ours.
Sweep with_others(const Part& part, const std::string& what,
                  const std::vector<StudyPolicy>& others) {
  std::vector<Named> conditions;
  for (const StudyPolicy& other : others)
    conditions.push_back({other.label, between(part, part.study.base, other)});
  Sweep sweep = sweep_over(title_of(what, part.name), std::move(conditions), part.metrics);
  sweep.is_for_foremost = true;
  return sweep;
}

std::vector<StudyPolicy> systems(const Part& part) {
  std::vector<StudyPolicy> all;
  for (const char* name : {"fifo", "sjf", "las"}) all.push_back({name, line_of(name)});
  for (const Part& other : parts()) {
    if (!other.ours_changed.empty()) continue;
    all.push_back(system_of(other));
    // Its rule on single exchanges needs a network that plays them.
    const bool plays = part.study.base.network.find("model=iteration") != std::string::npos;
    if (other.name == "lwf" && !plays) all.back() = {"ada-srsf", line_of("lwf")};
  }
  return all;
}

std::vector<Sweep> sweeps() {
  std::vector<Sweep> all;
  for (const Part& part : parts()) {
    for (Sweep& sweep : by_knowledge(part)) all.push_back(std::move(sweep));
    if (part.ours_changed.empty()) all.push_back(with_others(part, kSystems, systems(part)));
    all.push_back(with_others(part, kAblations, without_rules(part)));
  }
  for (const std::string& known : kKnown) {
    std::vector<Named> told = starvation();
    for (Named& named : told) tell(known, {kOurs, "xion"}, named.condition);
    all.push_back(sweep_over(title_of(kStarvation, known), std::move(told), kStarvationMetrics));
  }
  for (const std::string& known : kKnown) {
    std::vector<Named> told = rival_conditions(ours(parts().front()));
    for (Named& named : told) tell(known, {kOurs, "srsf", "srtf", "xion"}, named.condition);
    all.push_back(sweep_over(title_of(kRivals, known), std::move(told), kRivalMetrics));
    all.back().quick_values = 1;
  }
  return all;
}

// --- What was chosen -----------------------------------------------------------------------------

std::vector<std::string> chosen() {
  return {
      ("Kept apart: the parameters of the preset were chosen on the seeds 1 to 16 and 101 to "
       "108, and on windows of the first 60% of the Philly log. This study has seeds from 2001 "
       "on, and windows of the last 40% of the log. Not kept apart are the two workloads of "
       "Dally's author, which are the same with every seed, and which choices saw; a part of "
       "the log, as some of the choices looked at windows of all of it, with seeds 101 to 105; "
       "and the conditions themselves, which the studies of the papers had before."),
      ("Conditions: of each study its base condition and all values of its sweeps, every "
       "workload, cluster and network once. Sweeps of a policy's own parameters are left out, "
       "as they change none of these; so are those of what is known of times, which is told to "
       "all policies alike here; and FitGpp's traces of 16,384 jobs and more, for the time "
       "they take. Studies differ in their natural sizes: of the number of jobs above, "
       "FitGpp's has 4 times as many, Xion's 2, Dally's 0.5, the market's 0.6, and those of "
       "LWF and JPAS have what their papers have. The quick form has the base conditions alone."),
      ("The paper's system is the one that its study runs, with that study's settings: fitgpp, "
       "xion, dally that pays at the end of every lease, ada-srsf, jpas, and market. In the "
       "study of JPAS policies put each worker on a machine of its own, which is a condition "
       "there: ours avoids the network where it can, so that it is run twice, as it is "
       "(\"jpas\") and with place=spread, where only the flows differ (\"jpas spread\")."),
      ("What is known of times: exact; off by up to 50%, drawn for each job (queue.error=0.5); "
       "time limits only (declared=limits); or nothing (declared=none). All policies are told "
       "the same. Where nothing is declared, the paper's systems that go by times (xion, "
       "ada-srsf, market) take attained service for them (queue.estimates=attained). fitgpp, "
       "dally and jpas do not ask."),
      ("To mean waits, pauses and communication, which may be 0, 1 s or one pause is added "
       "before the ratio is taken. With no difference between two policies one ratio in 40 is "
       "above 1 by more than its interval by chance; no allowance is made for that."),
      ("Without a rule: one word of the preset's line is left out, so that the stage or "
       "parameter is what it is by default; a stage's member goes with its parameters."),
      ("Nobody starves: jobs drawn like those of the Philly log, and of the log itself, "
       "at a load of 0.9 on 8 and on 64 GPUs. A wait is all the time that a job "
       "is in the queue, over all its pauses. fifo-easy goes by what is declared.")};
}

// --- Measures and claims -------------------------------------------------------------------------

Measure measure_of(const Metric& metric) {
  const std::string of = metric.of == kOurs ? metric.what : metric.of + "'s " + metric.what;
  return {metric.id,
          metric.against == kTheirs ? of : fmt::format("{} over {}'s", of, metric.against),
          Quantity::ratio, [metric](const Outcome& o) {
            return (metric_of(o, metric.of, metric.path) + metric.added) /
                   (metric_of(o, metric.against, metric.path) + metric.added);
          }};
}

std::vector<Measure> measures() {
  std::vector<Measure> all;
  for (const Part& part : parts())
    for (const Metric& metric : part.metrics)
      if (std::ranges::find(all, metric.id, &Measure::id) == all.end())
        all.push_back(measure_of(metric));
  for (const auto* metrics : {&kStarvationMetrics, &kRivalMetrics})
    for (const Metric& metric : *metrics)
      if (std::ranges::find(all, metric.id, &Measure::id) == all.end())
        all.push_back(measure_of(metric));
  return all;
}

std::vector<Claim> claims() {
  std::vector<Claim> all;
  const auto add = [&](const Metric& metric, const std::string& name, TakenAt at,
                       const std::string& text) {
    all.push_back({fmt::format("{}-{}", name, metric.id), text, "our goal", metric.id,
                   Direction::at_most, metric.limit, at});
    // Of all that may be known.
    all.back().at = name + ", ";
  };
  for (const Part& part : parts())
    for (const Metric& metric : part.metrics)
      add(metric, part.name, TakenAt::nowhere,
          fmt::format("{}: nowhere is the {} above {}'s by more than the interval", part.name,
                      metric.what, part.system));
  for (const Metric& metric : kStarvationMetrics)
    add(metric, kStarvation, TakenAt::worst,
        fmt::format("At a load of 0.9 the {} is at most {}{}'s", metric.what,
                    metric.limit == 1 ? "" : fmt::format("{} times ", metric.limit),
                    metric.against));
  return all;
}

}  // namespace

Study trainyard_study() {
  Study study;
  study.name = "trainyard";
  study.title = "Trainyard: one policy in the studies of all others";
  study.paper = "none: it is ours, beside the system of each paper under that paper's conditions";
  study.summary = {
      "Every published system is best in its own study. This one asks whether one policy can be as "
      "good as each of them in each of their studies, without a setting that knows which study it "
      "is in. All figures are ratios: ours over that of the paper's system, under the same "
      "condition, jobs and knowledge. Less is better, and 1 is that system."};
  study.assumptions = chosen();
  study.full = {1'000, 5, 2001};
  study.quick = {500, 4, 2001};
  study.base = conditions_of(parts().front()).front().condition;
  study.measures = measures();
  study.claims = claims();
  study.sweeps = sweeps();
  study.foremost = tables_of_trainyard;
  study.discussion = discuss_trainyard;
  return study;
}

}  // namespace trainyard
