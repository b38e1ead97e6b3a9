// Dally: wait for a close placement, as long as it pays.
#include <algorithm>
#include <filesystem>
#include <limits>

#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

/// Iterations as in the author's simulator: computing, then an all-reduce dimension by dimension,
/// nothing of it hidden. Computing times come with the jobs; speeds are not asked for.
std::string models() {
  struct Gradient {
    const char *name, *alias;
    double mb;  // in the author's simulator, which has part of BERT-large
  };
  std::string toml;
  for (const auto& [name, alias, mb] : {Gradient{"AlexNet", "alexnet", 244},
                                        {"VGG-11", "VGG", 531},
                                        {"ResNet-18", "resnet18", 47},
                                        {"ResNet-50", "resnet50", 102},
                                        {"MobileNetV3", "mobilenet_v3", 9.9},
                                        {"BERT-large", "BERT", 562}})
    toml += fmt::format(
        "[[model]]\nname = \"{}\"\naliases = [\"{}\"]\nparameters = {}\ngradient_mb = {}\n"
        "batch = 1\ncollective = \"hierarchical\"\noverlap = 0\n"
        "source = \"Dally's public simulator\"\n"
        "[[model.speed]]\nkind = \"V100\"\nsamples_per_s = 1\n",
        name, alias, mb * 1e6 / 4, mb);
  return toml;
}

/// Racks of 8 machines of 8 GPUs; between machines so many times slower than normal, between racks
/// too and with this oversubscription.
std::string cluster(int racks, double slower, double oversubscription) {
  return fmt::format(
      "[[rack]]\ncount = {}\n[[rack.machine]]\ncount = 8\ngpus = 8\nkind = \"V100\"\n"
      "[network.rack]\ngbps = {}\n[network.across]\ngbps = {}\noversubscription = {}\n",
      racks, 1600 / slower, 3200 / slower, oversubscription);
}

/// Defined before any result was seen: ten times slower, and eight to one between racks.
std::string congested(int racks) {
  return cluster(racks, 10, 8);
}

constexpr const char* kContention = "Contention";

std::vector<StudyPolicy> policies() {
  const std::string dally = "order=network-sensitivity backfill=greedy place=delay preempt=lease";
  std::vector<StudyPolicy> all{{"tiresias", "tiresias"},
                               {"gandiva", "gandiva"},
                               {"fifo-consolidate", "order=fifo place=consolidate"},
                               {"dally", "dally"},
                               {"dally-learnt", "dally-learnt"},
                               {"no-wait", "dally-no-wait"},
                               {"consolidated", "dally-consolidated"}};
  for (const auto& [rack, net] : std::vector<std::pair<std::string, std::string>>{
           {"2h", "4h"}, {"8h", "16h"}, {"24h", "48h"}, {"24h", "never"}})
    all.push_back({"manual " + rack + "/" + net,
                   "dally-manual",
                   {"place.rack_wait=" + rack, "place.net_wait=" + net}});
  return all;
}

std::function<double(const Outcome&)> reduction(const char* metric, const char* baseline) {
  return [metric, baseline](const Outcome& o) {
    return 1 - o.metric("dally", metric) / o.metric(baseline, metric);
  };
}

/// How much longer jobs take with tuned timers than with the best of the fixed pairs; no waiting
/// and waiting for ever are two of them.
double tuned_against_best(const Outcome& o) {
  double best = std::min(o.metric("no-wait", "jct_s.mean"), o.metric("consolidated", "jct_s.mean"));
  for (const StudyPolicy& policy : policies())
    if (policy.label.starts_with("manual"))
      best = std::min(best, o.metric(policy.label, "jct_s.mean"));
  return o.metric("dally", "jct_s.mean") / best - 1;
}

Change on_cluster(const std::function<std::string(double)>& make) {
  return [make](Condition& condition, const std::string& value) {
    condition.cluster = make(std::stod(value));
  };
}

/// The author's own workloads, where they are at hand.
constexpr const char* kTraces = "../shared/traces/dally/";

void use_trace(Condition& condition, const std::string& value) {
  const bool is_batch = value.starts_with("batch");
  condition.workload = fmt::format("trace:file={}{},pause=free", kTraces,
                                   is_batch ? "batch_500.json" : "poisson_week.json");
  condition.cluster = value.ends_with("congested") ? congested(4) : cluster(4, 1.0, 1.0);
}

void use_week(Condition& condition, const std::string& value) {
  condition.workload = "dally-like:jobs={jobs},arrivals=poisson";
  condition.cluster = value == "congested" ? congested(4) : cluster(4, 1.0, 1.0);
}

/// "normal, shared": the cluster, and whether what jobs send slows others.
void use_contention(Condition& condition, const std::string& value) {
  condition.cluster = value.starts_with("congested") ? congested(4) : cluster(4, 1.0, 1.0);
  condition.network = value.ends_with("shared") ? "shared" : "alone";
}

std::vector<Sweep> sweeps() {
  std::vector<Sweep> all{
      {"Racks",
       "racks, normal network",
       on_cluster([](double racks) { return cluster(static_cast<int>(racks), 1.0, 1.0); }),
       {"2", "4", "6", "8"}},
      {"Racks under congestion",
       "racks, congested network",
       on_cluster([](double racks) { return congested(static_cast<int>(racks)); }),
       {"2", "4", "6", "8"}},
      {"Bandwidth",
       "times slower between machines and racks",
       on_cluster([](double slower) { return cluster(4, slower, 1.0); }),
       {"1", "2", "5", "10"}},
      {"Oversubscription",
       "to one between racks",
       on_cluster([](double over) { return cluster(4, 1.0, over); }),
       {"1", "2", "4", "8"}},
      {kContention,
       "network, and whether jobs share it",
       use_contention,
       {"normal, alone", "normal, shared", "congested, alone", "congested, shared"}},
      {"A week of arrivals", "network", use_week, {"normal", "congested"}},
      {"Length of the history",
       "H in leases",
       policy_setting({"dally"}, "place.history"),
       {"18", "72", "288", "1152"}}};
  if (std::filesystem::exists(std::string(kTraces) + "batch_500.json"))
    all.push_back({"The author's workloads",
                   "workload and network",
                   use_trace,
                   {"batch, normal", "batch, congested", "week, normal", "week, congested"}});
  return all;
}

double largest_without_contention(const Findings& findings, const ClaimFinding& found) {
  double largest = -std::numeric_limits<double>::infinity();
  const auto& measures = findings.study->measures;
  const auto column =
      std::ranges::find(measures, found.claim.measure, &Measure::id) - measures.begin();
  for (const SweepFinding& sweep : findings.sweeps)
    for (const TableFinding::Row& row : sweep.table.rows)
      if (!row.name.ends_with("shared"))
        largest = std::max(largest, row.values[static_cast<std::size_t>(column)].mean);
  return largest;
}

/// What contention does to the claims: rows come in pairs, alone and shared.
std::string on_contention(const Findings& findings) {
  const auto sweep = std::ranges::find(findings.sweeps, kContention,
                                       [](const SweepFinding& s) { return s.table.title; });
  std::string text =
      "Contention is ours: the original has none, and in all other conditions what a job sends "
      "slows no other. Where jobs share links, from alone to shared:";
  const auto& [title, heading, columns, rows] = sweep->table;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    text += fmt::format("{} {}", c == 0 ? "" : ";", columns[c].title);
    for (std::size_t r = 0; r + 1 < rows.size(); r += 2)
      text += fmt::format("{} {:.0f} % to {:.0f} % ({})", r == 0 ? "" : ",",
                          100 * rows[r].values[c].mean, 100 * rows[r + 1].values[c].mean,
                          r == 0 ? "normal" : "congested");
  }
  text += ".";
  for (const ClaimFinding& found : findings.claims)
    if (found.condition.ends_with("shared"))
      text += fmt::format(" {} is largest with contention; without, it is {:.0f} %.",
                          found.claim.id, 100 * largest_without_contention(findings, found));
  return text;
}

std::vector<std::string> discussion(const Findings& findings) {
  const std::string traces =
      findings.sweeps.size() == sweeps().size() &&
              findings.sweeps.back().table.title == "The author's workloads"
          ? "The author's own two workloads are the last sweep."
          : "The author's own workloads were not at hand; generated ones with their mix stand in.";
  return {
      traces, on_contention(findings),
      "What Dally wins it wins by communication: it keeps jobs within machines and racks, and so "
      "ends the whole workload sooner than a scheduler that spreads them. Without contention jobs "
      "on the average do not complete sooner than under Tiresias in our runs. Its order looks at "
      "the network alone: "
      "jobs that have not run come first, and jobs of one GPU, which are not sensitive, last, "
      "however short; least attained service, which Tiresias orders by, is close to the best that "
      "can be done for the mean without knowing run times. How the published comparison came to "
      "its 83% we do not know; its baseline may wait for consolidation with every job and let "
      "no job pass meanwhile, as fifo-consolidate does here.",
      "The published tuner learns from the waits of jobs that got a close placement, and these are "
      "at most as long as the timer was. It cannot see that jobs which gave up would have been "
      "better off waiting, and a longer history (the sweep) does not help. On these workloads "
      "jobs wait for days, so that fixed timers that never give up a close placement are better "
      "than tuned ones, by far when the network is slow. The learnt timers look at what a close "
      "placement is worth to the job; they were "
      "chosen among three ways to treat what is not known yet, by this study."};
}

std::vector<Measure> measures() {
  using enum Quantity;
  return {
      {"makespan-reduction", "reduction of the makespan", share,
       reduction("makespan_s", "tiresias")},
      {"jct-reduction", "reduction of the mean JCT", share, reduction("jct_s.mean", "tiresias")},
      {"communication-reduction", "reduction of communication", share,
       reduction("slowed_gpu_s", "tiresias")},
      {"jct-against-fifo-consolidate", "reduction of the mean JCT against fifo-consolidate", share,
       reduction("jct_s.mean", "fifo-consolidate")},
      {"tuned-vs-best-manual", "mean JCT of tuned over the best fixed timers", share,
       tuned_against_best},
      {"learnt-vs-tuned", "mean JCT of learnt over tuned timers", share, [](const Outcome& o) {
         return o.metric("dally-learnt", "jct_s.mean") / o.metric("dally", "jct_s.mean") - 1;
       }}};
}

std::vector<Claim> claims() {
  return {{"makespan-reduction", "Makespan falls by up to 69%", "abstract", "makespan-reduction",
           Direction::at_least, 0.69, TakenAt::largest},
          {"jct-reduction", "Average JCT falls by up to 83%", "abstract", "jct-reduction",
           Direction::at_least, 0.83, TakenAt::largest},
          {"communication-reduction", "Communication falls by up to 98%", "abstract",
           "communication-reduction", Direction::at_least, 0.98, TakenAt::largest},
          {"tuned-vs-best-manual", "Tuned timers are at most 5% worse than the best fixed pair",
           "our reading of the paper's aim", "tuned-vs-best-manual", Direction::at_most, 0.05,
           TakenAt::largest},
          {"learnt-vs-tuned", "Learnt timers are never worse than the published tuner", "ours",
           "learnt-vs-tuned", Direction::at_most, 0.0, TakenAt::largest}};
}

std::vector<StudyTable> tables() {
  using enum Quantity;
  return {{"Completion and communication",
           {{"makespan", "makespan_s", seconds},
            {"JCT mean", "jct_s.mean", seconds},
            {"JCT p50", "jct_s.p50", seconds},
            {"JCT p95", "jct_s.p95", seconds},
            {"JCT p99", "jct_s.p99", seconds},
            {"wait mean", "wait_s.mean", seconds},
            {"communication, GPU time", "slowed_gpu_s", seconds}}},
          {"Placements",
           {{"on one machine", "placements.machine", count},
            {"in one rack", "placements.rack", count},
            {"across", "placements.across", count},
            {"pauses", "preemptions", count}}}};
}

}  // namespace

Study dally_study() {
  Study study;
  study.name = "dally";
  study.title = "Dally: network placement sensitivity, delay timers that tune themselves";
  study.paper =
      "A. Sharma et al.: Dally, a network-placement-sensitive cluster scheduler for deep learning "
      "(abstract; details from the first author's public simulator)";
  study.summary = {
      "A job waits for a placement on one machine, then on one rack, and takes any GPUs only when "
      "timers tuned to the waits of others have run out; jobs that lose most of their time to "
      "communication go first. The paper reports up to 69% less makespan, 83% less average "
      "completion time and 98% less communication than consolidation-based schedulers."};
  study.assumptions = {
      "From the abstract: the three numbers. From the author's simulator: the offer loop, the "
      "order, the tuner and its constants, tiers and bytes. Iterations are computing and then an "
      "all-reduce tier by tier, nothing of it hidden. Ours: leases of 20 minutes, a history of 72 "
      "leases, and 62 s for every start (Tiresias' average restart); the author's own workloads do "
      "not say what a start or a pause costs, and there both are free.",
      "Racks of 8 machines of 8 GPUs. Normal is 600 GB/s in a machine, 200 between machines of a "
      "rack and 400 between racks; congested is a tenth of the last two and an oversubscription "
      "of 8 between racks, fixed before any result was seen. The base condition is a batch of jobs "
      "with the mix of the author's on 4 racks. There is no contention between jobs but in "
      "the sweep of it, where they share links max-min fair, their traffic averaged.",
      "Reductions are against Tiresias with the parameters of its public simulator, which "
      "consolidates models with skewed tensors; gandiva is its affinity placement alone. An \"up "
      "to\" is taken where it is largest over all conditions."};
  study.full = {500, 8};
  study.quick = {150, 2};
  study.base = {"base", "dally-like:jobs={jobs}", cluster(4, 1.0, 1.0), policies(), models()};
  study.measures = measures();
  study.claims = claims();
  study.tables = tables();
  study.sweeps = sweeps();
  study.discussion = discussion;
  return study;
}

}  // namespace trainyard
