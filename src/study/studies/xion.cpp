// Xion: a job is paused only if that pays, the costs of saving and loading included.
#include <algorithm>
#include <cmath>

#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

// The conditions, as they were written down before the first run, from the abstract's words alone
// ("distributed" jobs, overheads "up to hundreds of seconds", FIFO better "in some cases"):
//
//   jobs      2, 4, 8 and 16 GPUs (40, 30, 20 and 10%), as distributed jobs of testbeds have
//   costs     those of the five models whose restarts Sia measured, drawn evenly: 25 to 250 s and
//             what saving, reading and meeting take; 100 s for a pause in the mean
//   lengths   minutes to hours: lognormal with a deviation of 1; the mean is 33 min, which with 160
//             jobs in 8 h on 64 GPUs, as in the testbeds of Pollux and Sia, is a load of 0.9
//   cluster   64 GPUs; 256 in a sweep
//   map       mean lengths of 3 to 300 times the mean cost, loads of 0.5 to 1
constexpr const char* kWorkload =
    "poisson:jobs={jobs},load=0.9,gpus=2:0.4/4:0.3/8:0.2/"
    "16:0.1,duration=lognormal,sigma=1,mean=33m,"
    "models=DeepSpeech2/ResNet-18/YOLOv3/BERT-base/ResNet-50,pause=model,pause_scale=1";
constexpr int kMeanCostSeconds = 100;

constexpr const char* kExactMap = "Map, exact estimates";
constexpr const char* kPhilly = "The Philly log";

std::string philly() {
  return std::string("trace:file=") + kPhillyLog +
         ",jobs={jobs},load=0.9,max_gpus=64,pause=helios,pause_scale=1";
}

std::function<double(const Outcome&)> ratio_of(const char* above, const char* below,
                                               const char* metric) {
  return [=](const Outcome& o) { return o.metric(above, metric) / o.metric(below, metric); };
}

std::function<double(const Outcome&)> reduction_from(const char* baseline) {
  return [of = ratio_of("xion", baseline, "jct_s.mean")](const Outcome& o) { return 1 - of(o); };
}

/// Sweeps compare what the claims compare.
Change for_claims(Change change) {
  return [change = std::move(change)](Condition& condition, const std::string& value) {
    std::erase_if(condition.policies, [](const StudyPolicy& policy) {
      return policy.label != "fifo" && policy.label != "srtf" && policy.label != "xion";
    });
    change(condition, value);
  };
}

Change estimates(const std::string& setting) {
  return policy_setting({"srtf", "xion"}, setting);
}

/// "off by 50%", "history": what SRTF and Xion know.
void know(Condition& condition, const std::string& what) {
  if (what == "history")
    estimates("queue.estimates")(condition, what);
  else if (what != "exact")
    estimates("queue.error")(condition, what == "off by 20%" ? "0.2" : "0.5");
}
const std::vector<std::string> kKnown{"exact", "off by 20%", "off by 50%", "history"};

Sweep map(const std::string& title, const std::string& known, std::vector<SweepMap::Region> regions,
          std::vector<std::string> shown) {
  const SweepWay lengths{"mean length over mean cost",
                         for_claims([known](Condition& condition, const std::string& times) {
                           know(condition, known);
                           workload_key("mean")(
                               condition, fmt::format("{}s", std::stoi(times) * kMeanCostSeconds));
                         }),
                         {"3", "10", "30", "100", "300"}};
  const SweepWay loads{"load", workload_key("load"), {"0.5", "0.6", "0.7", "0.8", "0.9", "1"}};
  return map_sweep(title, lengths, loads, std::move(regions), std::move(shown));
}

std::vector<Sweep> maps() {
  return {map(kExactMap, "exact",
              {{"F", "blind SRTF is worse than FIFO", "srtf-over-fifo", Direction::at_least, 1},
               {"X", "Xion's mean JCT is at least 19% less than blind SRTF's", "jct-reduction",
                Direction::at_least, 0.19}},
              {"jct-reduction", "jct-reduction-fifo", "srtf-over-fifo", "above-the-better"}),
          map("Map, estimates off by up to 20%", "off by 20%", {}, {"above-the-better"}),
          map("Map, estimates off by up to 50%", "off by 50%", {}, {"above-the-better"}),
          map("Map, estimates by history", "history", {}, {"above-the-better"})};
}

/// "load 0.7, costs 10x", "load 0.9, history".
Sweep philly_sweep() {
  Sweep sweep{kPhilly, "condition", {}, {}, {}, {}};
  sweep.change = for_claims([](Condition& condition, const std::string& value) {
    const std::size_t comma = value.find(", ");
    const std::string load = value.substr(5, comma - 5), what = value.substr(comma + 2);
    condition.workload = philly();
    workload_key("load")(condition, load);
    if (what.starts_with("costs "))
      workload_key("pause_scale")(condition, what.substr(6, what.size() - 7));
    else
      know(condition, what);
  });
  for (const char* load : {"0.7", "0.9", "1.05"})
    for (const char* what : {"exact", "costs 10x", "costs 100x", "off by 50%", "history"})
      sweep.values.push_back(fmt::format("load {}, {}", load, what));
  return sweep;
}

Sweep sizes() {
  return {"GPUs of a job",
          "GPUs",
          for_claims([](Condition& condition, const std::string& value) {
            const std::map<std::string, const char*> mixes{
                {"1", "1"},
                {"1 to 16, half of them 1", "1:0.5/2:0.15/4:0.15/8:0.15/16:0.05"},
                {"2 to 16", "2:0.4/4:0.3/8:0.2/16:0.1"},
                {"8 to 32", "8:0.5/16:0.3/32:0.2"}};
            workload_key("gpus")(condition, mixes.at(value));
          }),
          {"1", "1 to 16, half of them 1", "2 to 16", "8 to 32"}};
}

Condition base_condition() {
  const std::vector<std::string> by_estimate{"queue.error=0", "queue.estimates=declared"};
  const auto by = [&](const char* label, const char* line) {
    return StudyPolicy{label, line, by_estimate};
  };
  return {"base",
          kWorkload,
          "8x8xV100",
          {{"fifo", "fifo"},
           by("srtf", "srtf"),
           {"las", "las"},
           by("xion", "xion"),
           {"sjf", "sjf"},
           by("xion, by service", "order=srsf backfill=greedy preempt=benefit"),
           by("xion, best fit", "order=srtf backfill=greedy place=best-fit preempt=benefit"),
           by("xion, reservations", "order=srtf backfill=easy preempt=benefit"),
           by("unified",
              "order=trial-first order.reentry=submission order.within=remaining backfill=greedy "
              "place=delay place.timers=learnt preempt=benefit yard.min_run=10m")}};
}

std::vector<Sweep> sweeps() {
  std::vector<Sweep> all = maps();
  const std::vector<Sweep> others{
      {"Costs of pauses",
       "cost scale",
       for_claims(workload_key("pause_scale")),
       {"0", "0.3", "1", "3", "10"}},
      {"Error of estimates",
       "relative error",
       for_claims(estimates("queue.error")),
       {"0", "0.2", "0.5", "0.9"}},
      {"Where estimates come from",
       "estimates",
       for_claims(estimates("queue.estimates")),
       {"declared", "attained", "history"}},
      {"Whose constants",
       "table",
       for_claims(workload_key("pause")),
       {"model", "helios", "tiresias", "lucid", "titan", "elasticflow"}},
      {"Spread of lengths",
       "deviation of the logarithm",
       for_claims(workload_key("sigma")),
       {"0.5", "1", "1.5", "2"}},
      sizes(),
      {"GPUs of the cluster",
       "cluster",
       for_claims(
           [](Condition& condition, const std::string& value) { condition.cluster = value; }),
       {"8x8xV100", "32x8xV100"}},
      philly_sweep(),
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

std::vector<Measure> measures() {
  using enum Quantity;
  const char* jct = "jct_s.mean";
  return {{"jct-reduction", "reduction of the mean JCT against blind SRTF", share,
           reduction_from("srtf")},
          {"jct-reduction-fifo", "reduction of the mean JCT against FIFO", share,
           reduction_from("fifo")},
          {"waiting-improvement", "mean wait of blind SRTF over that of xion", ratio,
           ratio_of("srtf", "xion", "wait_s.mean")},
          {"waiting-improvement-fifo", "mean wait of FIFO over that of xion", ratio,
           ratio_of("fifo", "xion", "wait_s.mean")},
          {"srtf-over-fifo", "mean JCT of blind SRTF over that of FIFO", ratio,
           ratio_of("srtf", "fifo", jct)},
          {"above-the-better", "mean JCT of xion above that of the better of FIFO and blind SRTF",
           share,
           [=](const Outcome& o) {
             return o.metric("xion", jct) / std::min(o.metric("srtf", jct), o.metric("fifo", jct)) -
                    1;
           }},
          {"pauses", "pauses of xion over those of blind SRTF", ratio,
           ratio_of("xion", "srtf", "preemptions")}};
}

std::vector<Claim> claims() {
  const char* goal = "our reading of \"only when it is beneficial\"";
  const auto best = [&](const char* id, const char* text, const char* at) {
    return Claim{id, text, goal, "above-the-better", Direction::at_most, 0, TakenAt::nowhere, at};
  };
  return {
      {"srtf-beats-fifo-free", "When pauses are free, blind SRTF has a lower mean JCT than FIFO",
       "abstract, in words", "srtf-over-fifo", Direction::at_most, 1, TakenAt::base,
       "cost scale = 0"},
      {"fifo-beats-blind-srtf-somewhere", "In some cases FIFO has a lower mean JCT than blind SRTF",
       "abstract, in words", "srtf-over-fifo", Direction::at_least, 1, TakenAt::largest, kExactMap},
      {"jct-reduction", "The mean JCT is 19% less than blind SRTF's",
       "abstract, which names no baseline", "jct-reduction", Direction::at_least, 0.19},
      {"jct-reduction-fifo", "The mean JCT is 19% less than FIFO's",
       "abstract, which names no baseline", "jct-reduction-fifo", Direction::at_least, 0.19},
      {"waiting-improvement", "Waiting is 1.64 times better than blind SRTF's",
       "abstract, which names no baseline", "waiting-improvement", Direction::at_least, 1.64},
      {"waiting-improvement-fifo", "Waiting is 1.64 times better than FIFO's",
       "abstract, which names no baseline", "waiting-improvement-fifo", Direction::at_least, 1.64},
      best("xion-best-everywhere",
           "Nowhere on the map is Xion above the better of the two by more than the interval",
           kExactMap),
      best("xion-best-everywhere-20", "The same with estimates that are off by up to 20%",
           "Map, estimates off by up to 20%"),
      best("xion-best-everywhere-50", "The same with estimates that are off by up to 50%",
           "Map, estimates off by up to 50%"),
      best("xion-best-everywhere-history", "The same with estimates by history",
           "Map, estimates by history"),
      best("xion-best-on-philly", "The same on the Philly log, whatever costs and estimates",
           kPhilly)};
}

// --- What came out -------------------------------------------------------------------------------

/// Null if its trace is not there.
const TableFinding* sweep_of(const Findings& findings, const std::string& title) {
  const auto found = std::ranges::find(findings.sweeps, title,
                                       [](const SweepFinding& sweep) { return sweep.table.title; });
  return found == findings.sweeps.end() ? nullptr : &found->table;
}

/// The rows of a table whose value in that column is at least so much: "3 / 0.5, 3 / 0.6".
std::string where(const TableFinding& table, std::size_t column, double at_least) {
  std::string text;
  std::size_t rows = 0;
  for (const TableFinding::Row& row : table.rows) {
    if (!(row.values[column].mean >= at_least)) continue;
    text += (text.empty() ? "" : ", ") + row.name;
    ++rows;
  }
  return text.empty() ? "nowhere" : fmt::format("at {} of {}: {}", rows, table.rows.size(), text);
}

std::string verdicts(const Findings& findings, std::size_t first, std::size_t count) {
  std::string text;
  for (std::size_t i = first; i < first + count; ++i)
    text += fmt::format("{}{} {}", i == first ? "" : "; ", findings.claims[i].claim.id,
                        name(findings.claims[i].verdict));
  return text;
}

/// Which composition has the least mean JCT, beside Xion's.
std::string compositions(const Findings& findings) {
  const std::vector<TableFinding::Row>& rows = findings.tables[0].rows;
  const auto jct = [](const TableFinding::Row& row) { return row.values[0].mean; };
  const auto xion = std::ranges::find(rows, "xion", &TableFinding::Row::name);
  const auto best = std::ranges::min_element(rows, {}, jct);
  const double less = 1 - jct(*best) / jct(*xion);
  if (best == xion)
    return "Of the compositions of stages in the table, none has a lower mean JCT than xion.";
  return fmt::format(
      "Of the compositions of stages in the table, \"{}\" has the least mean JCT, {:.1f} % less "
      "than "
      "xion's; what pauses must pay for matters far more than the order, the placement or "
      "reservations beside it.",
      best->name, 100 * less);
}

std::string extremes(const TableFinding& table, std::size_t column) {
  const auto value = [&](const TableFinding::Row& row) { return row.values[column].mean; };
  const auto [low, high] = std::ranges::minmax_element(table.rows, {}, value);
  return fmt::format("{:.1f} % ({}) to {:.1f} % ({})", 100 * value(*low), low->name,
                     100 * value(*high), high->name);
}

std::vector<std::string> discussion(const Findings& findings) {
  const TableFinding &exact = *sweep_of(findings, kExactMap), *philly = sweep_of(findings, kPhilly);
  std::vector<std::string> paragraphs{
      fmt::format(
          "Blind SRTF is worse than FIFO on the map (mean length over mean cost / load) {}. "
          "Xion's mean JCT is at least 19% less than blind SRTF's {}.",
          where(exact, 2, 1), where(exact, 0, 0.19)),
      fmt::format("At the base condition the paper's two numbers are held against both baselines, "
                  "as the abstract names none: {}.",
                  verdicts(findings, 2, 4)),
      compositions(findings),
      ("Xion's rule is not published. Ours follows the arithmetic of the sum of completion times, "
       "and is documented with preempt=benefit. It gains most by seeing that a waiting job would "
       "soon have had room anyhow, which the abstract does not speak of.")};
  if (philly != nullptr)
    paragraphs.push_back(fmt::format(
        "On the Philly log, where most jobs have one GPU, many run for days, and a pause of one "
        "GPU takes 7 s, the mean JCT is less than blind SRTF's by {}. There a long tail decides, "
        "which both cut off, and not what pauses cost.",
        extremes(*philly, 0)));
  return paragraphs;
}

}  // namespace

Study xion_study() {
  using enum Quantity;
  Study study;
  study.name = "xion";
  study.title = "Xion: a pause must pay for itself";
  study.paper =
      "Y. Go, C. Shin, J. Lee, Y. Yoo, G. Yang, C. Yoo: Selective preemption of distributed deep "
      "learning training. IEEE CLOUD 2023, three pages; known to us by its abstract alone";
  study.summary = {
      "Shortest remaining time first has the least average completion time if a pause is free. "
      "Saving and loading distributed jobs costs up to hundreds of seconds, and then even first "
      "come, first served can be better. Xion pauses a job only if that is beneficial, and reports "
      "19% less average completion time and 1.64 times better waiting; the abstract does not say "
      "than what."};
  study.assumptions = {
      "From the abstract: the two numbers, the two observations on SRTF, that jobs are "
      "distributed, "
      "and that pauses cost up to hundreds of seconds. All else is ours, and was written down "
      "before the first run: jobs of 2, 4, 8 and 16 GPUs (40, 30, 20 and 10%); costs of the five "
      "models whose restarts Sia measured (25 to 250 s), drawn evenly, 100 s for a pause in the "
      "mean, loading at the first start included; lognormal lengths of 33 min in the mean, with a "
      "deviation of 1 of their logarithm; 64 GPUs. 160 such jobs in 8 h, as in the testbeds of "
      "Pollux and Sia, are a load of 0.9. The load does not count the time that loading takes: "
      "where jobs are 3 times as long as a pause, a load of 0.8 is more than the cluster has.",
      "The Philly log is another regime, and a sweep: jobs of up to 64 GPUs, every seed another "
      "window of the log, its arrivals stretched to the load, with the constants of the Helios "
      "artifact (7 s for 1 GPU, 30 s up to 8, 60 s for more).",
      "The rule was settled on by trying variants on Poisson workloads and on the Philly log; its "
      "two constants, and that estimates by history are means, were chosen with seeds 101 to 108. "
      "All figures here are of seeds from 1 on, which that choice did not see.",
      "Estimates are exact in the base condition. Blind SRTF and Xion both leave a job alone in "
      "its first minute after loading; no wait is bounded. On the map no allowance is made for the "
      "number of cells: of 30 that are compared, one interval in 40 lies wholly on the wrong side "
      "by chance where there is no difference."};
  study.full = {2'000, 16};
  study.quick = {1'000, 4};
  study.base = base_condition();
  study.measures = measures();
  study.claims = claims();
  study.tables = {{"Completion, waiting and pauses",
                   {{"JCT mean", "jct_s.mean", seconds},
                    {"JCT p99", "jct_s.p99", seconds},
                    {"wait mean", "wait_s.mean", seconds},
                    {"pauses", "preemptions", count},
                    {"GPU time lost", "lost_gpu_s", seconds},
                    {"gain expected", "pause_gain_s.expected", seconds},
                    {"gain", "pause_gain_s.actual", seconds}}}};
  study.sweeps = sweeps();
  study.discussion = discussion;
  return study;
}

}  // namespace trainyard
