// Dally: wait for a close placement, as long as it pays. What came out is told in
// dally_discussion.cpp.
#include "study/studies/dally.h"

#include <algorithm>
#include <cmath>

#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

// --- What runs on what ---------------------------------------------------------------------------

/// What of the author's iterations a condition has: a ring all-reduce for each layer instead of one
/// for all, dimension by dimension; and computing times that are scaled, a model at a time.
struct Iterations {
  bool by_layer = false, scaled = false;
};

/// Computing, then communication, nothing of it hidden. Computing times come with the jobs; speeds
/// are not asked for.
std::string models(Iterations iterations) {
  struct Model {
    const char *name, *alias;
    double mb;  // in the author's simulator, which has part of BERT-large
    int layers;
    double scale;
  };
  std::string toml;
  for (const Model& model : {Model{"AlexNet", "alexnet", 244, 8, 0.0199},
                             {"VGG-11", "VGG", 531, 11, 0.01549},
                             {"ResNet-18", "resnet18", 47, 21, 0.001223},
                             {"ResNet-50", "resnet50", 102, 54, 0.03395},
                             {"MobileNetV3", "mobilenet_v3", 9.9, 52, 0.00639},
                             {"BERT-large", "BERT", 562, 66, 0.0001121}})
    toml += fmt::format(
        "[[model]]\nname = \"{}\"\naliases = [\"{}\"]\nparameters = {}\ngradient_mb = {}\n"
        "batch = 1\ncollective = \"{}\"\nmessages = {}\ncompute_scale = {}\noverlap = 0\n"
        "source = \"Dally's public simulator\"\n"
        "[[model.speed]]\nkind = \"V100\"\nsamples_per_s = 1\n",
        model.name, model.alias, model.mb * 1e6 / 4, model.mb,
        iterations.by_layer ? "ring" : "hierarchical", iterations.by_layer ? model.layers : 1,
        iterations.scaled ? model.scale : 1);
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

/// "..., congested" or anything else, on 4 racks.
std::string cluster_of(const std::string& value) {
  return value.find("congested") != std::string::npos ? congested(4) : cluster(4, 1.0, 1.0);
}

const std::vector<std::string> kPays{"preempt.pays=always"};

std::vector<StudyPolicy> policies() {
  const std::string never =
      "place=delay place.timers=fixed place.rack_wait=never "
      "place.net_wait=never ";
  const std::string leases = "preempt=lease preempt.pays=always";
  std::vector<StudyPolicy> all{
      {"tiresias", "order=attained-service backfill=greedy " + never +
                       "place.skew=0.3 place.rack_free=8 " + leases},
      {"tiresias-consolidated", "order=attained-service backfill=greedy " + never + leases},
      {"gandiva",
       "order=fifo backfill=greedy place=consolidate place.wait_for=none preempt=closer",
       {},
       true},
      {"fifo-consolidate", "order=fifo place=consolidate"},
      {"dally", "dally", kPays},
      {"dally-learnt", "dally-learnt", kPays},
      {"no-wait", "dally-no-wait", kPays},
      {"consolidated", "dally-consolidated", kPays}};
  for (const auto& [rack, net] : std::vector<std::pair<std::string, std::string>>{
           {"2h", "4h"}, {"8h", "16h"}, {"24h", "48h"}, {"24h", "never"}})
    all.push_back({"manual " + rack + "/" + net,
                   "dally-manual",
                   {kPays.front(), "place.rack_wait=" + rack, "place.net_wait=" + net}});
  all.push_back({"dally, stays", "dally"});
  all.push_back({"las, delay, by-level", "order=las backfill=greedy place=delay preempt=by-level"});
  all.push_back(
      {"las, close, by-level", "order=las order.thresholds=1h/4h/16h/64h/256h backfill=greedy " +
                                   never + "preempt=by-level"});
  return all;
}

bool is_dally(const StudyPolicy& policy) {
  return policy.line.starts_with("dally");
}

// --- What is swept -------------------------------------------------------------------------------

Change on_cluster(const std::function<std::string(double)>& make) {
  return [make](Condition& condition, const std::string& value) {
    condition.cluster = make(std::stod(value));
  };
}

/// The author's own workloads.
constexpr const char* kTraces = "{traces}/dally/";

Change use_trace(const std::string& more) {
  return [more](Condition& condition, const std::string& value) {
    condition.workload =
        fmt::format("trace:file={}{},pause=gpu{}", kTraces,
                    value.starts_with("batch") ? "batch_500.json" : "poisson_week.json", more);
    condition.cluster = cluster_of(value);
  };
}

void use_arrivals(Condition& condition, const std::string& value) {
  condition.workload = "dally-like:jobs={jobs},pause=gpu,arrivals=poisson,per_day=" + value;
  condition.cluster = congested(4);
}

/// "batch, by layer, scaled, leases of 1h": the author's workload on a normal network, what of the
/// author's iterations there is, and for how long GPUs are leased.
void use_iterations(Condition& condition, const std::string& value) {
  const auto has = [&](std::string_view words) { return value.find(words) != std::string::npos; };
  use_trace("")(condition, value);
  condition.models = models({.by_layer = has("by layer"), .scaled = has("scaled")});
  if (!has("1h")) return;
  for (StudyPolicy& policy : condition.policies) {
    if (policy.line.find("preempt=lease") == std::string::npos && !is_dally(policy)) continue;
    policy.settings.emplace_back("preempt.lease=1h");
    policy.settings.emplace_back("place.lease=1h");
  }
}

/// "normal, shared": the cluster, and whether what jobs send slows others.
void use_contention(Condition& condition, const std::string& value) {
  condition.cluster = cluster_of(value);
  condition.network = value.ends_with("shared") ? "shared" : "alone";
}

/// What jobs of Dally do when their lease is over; "wanted" is what there was before.
void use_lease_end(Condition& condition, const std::string& value) {
  for (StudyPolicy& policy : condition.policies)
    if (is_dally(policy) && policy.label != "dally, stays")
      policy.settings.push_back(value == "wanted" ? "preempt.rebid=wanted"
                                                  : "preempt.pays=" + value);
}

void use_lease_end_congested(Condition& condition, const std::string& value) {
  condition.cluster = congested(4);
  use_lease_end(condition, value);
}

void use_lease_end_undivided(Condition& condition, const std::string& value) {
  use_trace(",times_gpus=yes")(condition, "batch, congested");
  use_lease_end(condition, value);
}

/// Workloads that nothing here was chosen by.
void use_held_out(Condition& condition, const std::string& value) {
  condition.workload = value.starts_with("small")
                           ? "dally-like:jobs={jobs},pause=gpu,max_gpus=8"
                           : "dally-like:jobs={jobs},pause=gpu,arrivals=poisson,per_day=200,"
                             "max_gpus=32";
  condition.cluster = cluster_of(value);
}

using namespace dally_study_words;

/// Each is shown twice: what Dally wins against which baseline, and what the timers do.
void add_sweep(std::vector<Sweep>& all, const Sweep& sweep) {
  all.push_back(sweep);
  all.back().measures = reductions();
  all.push_back(sweep);
  all.back().title += kTimers;
  all.back().measures = timer_measures();
}

std::vector<Sweep> of_the_network_and_load() {
  std::vector<Sweep> all;
  add_sweep(all,
            {"Racks",
             "racks, normal network",
             on_cluster([](double racks) { return cluster(static_cast<int>(racks), 1.0, 1.0); }),
             {"2", "4", "6", "8"}});
  add_sweep(all, {"Racks under congestion",
                  "racks, congested network",
                  on_cluster([](double racks) { return congested(static_cast<int>(racks)); }),
                  {"2", "4", "6", "8"}});
  add_sweep(all, {"Bandwidth",
                  "times slower between machines and racks",
                  on_cluster([](double slower) { return cluster(4, slower, 1.0); }),
                  {"1", "2", "5", "10"}});
  add_sweep(all, {"Oversubscription",
                  "to one between racks",
                  on_cluster([](double over) { return cluster(4, 1.0, over); }),
                  {"1", "2", "4", "8"}});
  add_sweep(all, {kContention,
                  "network, and whether jobs share it",
                  use_contention,
                  {"normal, alone", "normal, shared", "congested, alone", "congested, shared"}});
  add_sweep(
      all,
      {"Arrivals", "jobs a day, congested network", use_arrivals, {"59", "120", "180", "240"}});
  return all;
}

std::vector<Sweep> of_leases() {
  std::vector<Sweep> all;
  all.push_back({"Length of the history",
                 "H in leases",
                 policy_setting({"dally"}, "place.history"),
                 {"18", "72", "288", "1152"},
                 timer_measures()});
  all.push_back({kLeaseEnd,
                 "when its lease is over a job leaves, congested network",
                 use_lease_end_congested,
                 {"wanted", "moved", "always"},
                 timer_measures()});
  all.back().is_aside = true;
  all.push_back({"What a pause costs",
                 "pause",
                 workload_key("pause"),
                 {"free", "gpu", "tiresias"},
                 {"jct-against-tiresias", "jct-against-tiresias-consolidated", "stays-vs-pays",
                  "tuned-vs-best-manual"}});
  return all;
}

std::vector<Sweep> of_other_workloads() {
  std::vector<Sweep> all;
  all.push_back(
      {kHeldOut,
       "workload and network",
       use_held_out,
       {"small batch, normal", "small batch, congested", "arrivals, normal", "arrivals, congested"},
       {"learnt-vs-tuned", "stays-vs-pays", "delay-composition", "close-composition"}});
  const std::vector<std::string> both{"batch, normal", "batch, congested", "week, normal",
                                      "week, congested"};
  add_sweep(all, {kAuthors, "the author's workload and network", use_trace(""), both});
  Sweep iterations{kIterations,
                   "the author's workload, and what of the author's iterations and leases",
                   use_iterations,
                   {"batch", "batch, by layer", "batch, scaled", "batch, by layer, scaled",
                    "batch, leases of 1h", "batch, by layer, scaled, leases of 1h", "week",
                    "week, by layer", "week, scaled", "week, by layer, scaled",
                    "week, leases of 1h", "week, by layer, scaled, leases of 1h"}};
  iterations.quick_values = 2;  // a badly placed job of the others runs for years
  add_sweep(all, iterations);
  all.push_back({kUndivided,
                 "the author's workload, lengths undivided, and network",
                 use_trace(",times_gpus=yes"),
                 both,
                 {"jct", "jct-against-tiresias", "jct-against-tiresias-consolidated",
                  "communication-against-tiresias", "tuned-vs-best-manual", "learnt-vs-tuned"}});
  all.push_back({kLeaseEndUndivided,
                 "when its lease is over a job leaves, the author's batch, congested network",
                 use_lease_end_undivided,
                 {"wanted", "moved", "always"},
                 timer_measures()});
  all.back().is_aside = true;
  return all;
}

std::vector<Sweep> sweeps() {
  std::vector<Sweep> all = of_the_network_and_load();
  for (const std::vector<Sweep>& some : {of_leases(), of_other_workloads()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

// --- What is measured, and claimed ---------------------------------------------------------------

using Value = std::function<double(const Outcome&)>;

/// How much more of it the one has than the other.
Value over(const std::string& one, const std::string& other) {
  return [one, other](const Outcome& o) {
    return o.metric(one, "jct_s.mean") / o.metric(other, "jct_s.mean") - 1;
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

std::vector<Measure> measures() {
  using enum Quantity;
  std::vector<Measure> all;
  for (const Reduced& reduced : kReduced)
    for (const std::string& baseline : kBaselines)
      all.push_back({std::string(reduced.id) + "-against-" + baseline,
                     fmt::format("less {} than {}", reduced.what, baseline), share,
                     [reduced, baseline](const Outcome& o) {
                       return 1 - o.metric("dally", reduced.metric) /
                                      o.metric(baseline, reduced.metric);
                     }});
  all.push_back({"jct", "mean JCT of dally", seconds,
                 [](const Outcome& o) { return o.metric("dally", "jct_s.mean"); }});
  all.push_back({"tuned-vs-best-manual", "mean JCT of tuned over the best fixed timers", share,
                 tuned_against_best});
  all.push_back({"tuned-vs-least", "of tuned over the least that they can be", share,
                 over("dally", "manual 2h/4h")});
  all.push_back({"learnt-vs-tuned", "mean JCT of learnt over tuned timers", share,
                 over("dally-learnt", "dally")});
  all.push_back({"stays-vs-pays", "mean JCT where who wins its GPUs back does not pay", share,
                 over("dally, stays", "dally")});
  all.push_back({"delay-composition", "mean JCT of las, delay, by-level over dally", share,
                 over("las, delay, by-level", "dally")});
  all.push_back({"close-composition", "mean JCT of las, close, by-level over dally", share,
                 over("las, close, by-level", "dally")});
  return all;
}

std::vector<Claim> claims() {
  std::vector<Claim> all;
  for (const Reduced& reduced : kReduced)
    for (const std::string& baseline : kBaselines)
      all.push_back({std::string(reduced.id) + "-against-" + baseline,
                     fmt::format("{} falls by up to {:.0f}%, against {}", reduced.title,
                                 100 * reduced.claimed, baseline),
                     "abstract", std::string(reduced.id) + "-against-" + baseline,
                     Direction::at_least, reduced.claimed, TakenAt::largest});
  all.push_back({"tuned-vs-best-manual",
                 "Tuned timers are at most 5% worse than the best fixed pair",
                 "our reading of the paper's aim", "tuned-vs-best-manual", Direction::at_most, 0.05,
                 TakenAt::largest});
  all.push_back({"learnt-vs-tuned", "Learnt timers are never worse than the published tuner",
                 "ours, on workloads that they were not chosen by", "learnt-vs-tuned",
                 Direction::at_most, 0.0, TakenAt::largest, kHeldOut});
  all.push_back({"close-composition", "las, close, by-level has jobs complete no later than dally",
                 "ours, on workloads that it was not chosen by", "close-composition",
                 Direction::at_most, 0.0, TakenAt::largest, kHeldOut});
  return all;
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
            {"communication, mean", "slowed_mean_s", seconds}}},
          {"Placements",
           {{"on one machine", "placements.machine", count},
            {"in one rack", "placements.rack", count},
            {"across", "placements.across", count},
            {"pauses", "preemptions", count}}}};
}

/// In writing before a run.
std::vector<std::string> conditions() {
  return {
      ("From the abstract: the three numbers, and that they are against consolidation-based "
       "schedulers, which it does not name. From the author's public simulator: the offer "
       "loop, the order, leases at whose end every job gives its GPUs back and bids again, 1 s "
       "for each GPU before they are free again, the tuner and its constants, tiers and bytes, "
       "and that the total of iterations is over all GPUs of a job. Iterations are computing "
       "and then an all-reduce tier by tier, nothing of it hidden. Ours: leases of 20 minutes "
       "and a history of 72 leases; a job leaves when its lease is over, not at the end of an "
       "iteration."),
      ("Baselines as the author's simulator runs them, each reported apart, and none chosen "
       "afterwards: tiresias by attained GPU time without levels, under the same leases and "
       "paying the same, where AlexNet, VGG-11 and MobileNetV3 wait for one machine, but take one "
       "rack as soon as 8 GPUs are free anywhere, as its test is coded, and the others take the "
       "closest there is; tiresias-consolidated, where all wait; gandiva, from which no lease "
       "takes "
       "GPUs, whose jobs move to a closer placement when one is free, and whose pauses cost "
       "nothing; fifo-consolidate, where no job passes another."),
      ("Racks of 8 machines of 8 GPUs. Normal is 600 GB/s in a machine, 200 between machines "
       "of a rack and 400 between racks; congested is a tenth of the last two and an "
       "oversubscription of 8 between racks, fixed before any result was seen. The base "
       "condition is a batch of jobs with the mix of the author's on 4 racks. There is no "
       "contention between jobs but in the sweep of it, where they share links max-min fair, "
       "their traffic averaged. Communication is the mean over jobs of the time on GPUs beyond "
       "the ideal. An \"up to\" is taken where it is largest over all conditions."),
      ("Dally here pays at the end of every lease, as its author's does; \"dally, stays\" is "
       "the preset, whose jobs do not pay if they win back what they held. Two compositions of "
       "stages stand beside it: las, delay, by-level was found on the author's batch; las, "
       "close, by-level (all wait for the closest placement; five levels, each four times the "
       "last) on that batch and on seeds 11 to 13 of the base condition. The learnt timers "
       "were chosen among three ways to treat what is not known yet, by an earlier form of "
       "this study with other lengths and leases. What was chosen is judged on the base "
       "condition's seeds and on workloads that no choice saw (held out)."),
      ("Iterations. The author's simulator reduces gradients layer by layer, a ring each, with its "
       "latencies (by layer), and scales the times of computing, a model at a time, before it adds "
       "those of communication (scaled). The base condition has neither; a sweep has each, both "
       "and "
       "none on the author's workloads, with numbers of layers and scales from that simulator. The "
       "length and the unit of its leases are not public: there are two, 20 minutes and 1 h, with "
       "a "
       "history of 72 of them. These conditions were fixed before the first run with them.")};
}

}  // namespace

std::string dally_study_words::congested_cluster() {
  return congested(4);
}

Study dally_study() {
  Study study;
  study.name = "dally";
  study.title = "Dally: network placement sensitivity, delay timers that tune themselves";
  study.paper =
      "A. Sharma et al.: GPU Cluster Scheduling for Network-Sensitive Deep Learning, 2024 "
      "(abstract; details from the first author's public simulator)";
  study.summary = {
      "A job waits for a placement on one machine, then on one rack, and takes any GPUs only when "
      "timers tuned to the waits of others have run out; jobs that lose most of their time to "
      "communication go first. The paper reports up to 69% less makespan, 83% less average "
      "completion time and 98% less communication than consolidation-based schedulers."};
  study.assumptions = conditions();
  study.full = {500, 8};
  study.quick = {150, 2};
  study.base = {"base", "dally-like:jobs={jobs},pause=gpu", cluster(4, 1.0, 1.0), policies(),
                models({})};
  study.measures = measures();
  study.sweeps = sweeps();
  study.claims = claims();
  study.tables = tables();
  study.discussion = discuss_dally;
  return study;
}

}  // namespace trainyard
