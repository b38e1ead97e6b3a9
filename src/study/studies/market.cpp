// Market: sizes and kinds of GPU for many jobs at once.
#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

constexpr const char* kSmall = "small markets";
constexpr const char* kLarge = "a large market";

constexpr const char* kThreeKinds = "V100/P100/K80";

/// As many machines of 4 GPUs of each kind.
std::string cluster(const std::string& kinds, int nic_gbps = 100) {
  std::string toml = "[[rack]]\n";
  for (std::size_t at = 0; at <= kinds.size();) {
    const std::size_t end = std::min(kinds.find('/', at), kinds.size());
    toml += fmt::format("[[rack.machine]]\ncount = 5\ngpus = 4\nkind = \"{}\"\nnic_gbps = {}\n",
                        kinds.substr(at, end - at), nic_gbps);
    at = end + 1;
  }
  return toml;
}

const std::vector<std::string>& baselines() {
  static const std::vector<std::string> all{"fifo",  "srtf",      "equal-split",
                                            "allox", "gavel-las", "blind"};
  return all;
}

std::vector<StudyPolicy> policies() {
  std::vector<StudyPolicy> all{{"market", "market"}};
  for (const std::string& name : baselines()) all.push_back({name, name});
  all.push_back({kSmall, "instances:small"});
  all.push_back({kLarge, "instances:large"});
  return all;
}

std::function<double(const Outcome&)> of(const char* policy, const char* metric) {
  return [=](const Outcome& o) { return o.metric(policy, metric); };
}

std::vector<Measure> measures() {
  using enum Quantity;
  std::vector<Measure> all{
      {"gap", "gap to the least sum of completion times, small markets", share,
       of(kSmall, "gap.mean")},
      {"gap-worst", "the same, the worst of 20 markets", share, of(kSmall, "gap.worst")},
      {"even-gap", "gap of even draws without trades", share, of(kSmall, "even_gap.mean")},
      {"gap-large", "gap in a market of 8 jobs and 48 workers", share, of(kLarge, "gap.mean")},
      {"speedup", "time of the exact solution over ours", ratio, of(kLarge, "speedup")},
      {"jain", "Jain's index over completion / completion in an equal split", ratio,
       of(kSmall, "jain")},
      {"jain-unweighted", "the same without the weight of fairness", ratio,
       of(kSmall, "jain_unweighted")},
      {"fairness-cost", "what the weight of fairness adds to the sum", share,
       of(kSmall, "fairness_cost")}};
  for (const std::string& name : baselines())
    all.push_back({"over-" + name, fmt::format("mean JCT under market over that under {}", name),
                   ratio, [name](const Outcome& o) {
                     return o.metric("market", "jct_s.mean") / o.metric(name, "jct_s.mean");
                   }});
  return all;
}

std::vector<Claim> claims() {
  std::vector<Claim> all{
      {"gap-to-optimum", "The sum of completion times is within 2.04% of the least", "abstract",
       "gap", Direction::at_most, 0.0204},
      {"speed-vs-exact", "A hundredth of the exact solver's time",
       "our reading of \"orders of "
       "magnitude\" in the abstract",
       "speedup", Direction::at_least, 100},
      {"fairness-jain", "Jain's index is at least 0.95 with the default weight", "our bound",
       "jain", Direction::at_least, 0.95}};
  for (const std::string& name : baselines())
    all.push_back({"jct-vs-" + name,
                   fmt::format("Nowhere is the mean JCT above that under {}", name), "our goal",
                   "over-" + name, Direction::at_most, 1, TakenAt::largest});
  return all;
}

std::vector<Sweep> sweeps() {
  std::vector<std::string> on_traces;
  for (const std::string& name : baselines()) on_traces.push_back("over-" + name);
  return {
      {"Kinds of GPU",
       "kinds",
       [](Condition& condition, const std::string& kinds) {
         condition.cluster = cluster(kinds);
         workload_key("measured_on")(condition, kinds.substr(kinds.starts_with("A100") ? 5 : 0, 4));
       },
       {kThreeKinds, "A100/V100/T4", "V100"},
       on_traces},
      {"Offered load", "load", workload_key("load"), {"0.5", "0.7", "0.9", "1.1"}, on_traces},
      {"Share of elastic jobs", "elastic", workload_key("elastic"), {"0", "0.5", "1"}, on_traces},
      {"What pauses cost",
       "pause",
       workload_key("pause"),
       {"free", "model", "tiresias"},
       on_traces},
      {"Network",
       "network",
       [](Condition& condition, const std::string& network) {
         condition.cluster = cluster(kThreeKinds, network.starts_with("10 Gbit/s") ? 10 : 100);
         condition.network = network.ends_with("shared") ? "shared" : "alone";
       },
       {"100 Gbit/s", "100 Gbit/s, shared", "10 Gbit/s", "10 Gbit/s, shared"},
       on_traces}};
}

std::vector<std::string> discussion(const Findings& findings) {
  std::vector<std::string> paragraphs;
  for (const ClaimFinding& claim : findings.claims)
    paragraphs.push_back(fmt::format("{}: the number to meet is {}, ours is {:.4g} ± {:.2g} ({}).",
                                     claim.claim.id, claim.claim.number, claim.ours.mean,
                                     claim.ours.half_width, claim.condition));
  return paragraphs;
}

}  // namespace

Study market_study() {
  using enum Quantity;
  Study study;
  study.name = "market";
  study.title = "Market: sizes and kinds of GPU for many jobs at once";
  study.paper =
      "Liu et al.: job sizes and worker sets of synchronous training jobs on mixed GPUs, by "
      "matching "
      "markets in sampled categories of sizes";
  study.summary = {
      "The slowest worker holds back a synchronous job, and several jobs compete for few fast "
      "GPUs. "
      "The paper decides the sizes and the workers of all jobs together: work is shared in "
      "proportion to speed, feasible solutions fall into categories of sizes, a matching market "
      "solves each, and categories are sampled. It reports allocations within 2.04% of the "
      "optimum, "
      "found orders of magnitude faster, and fair."};
  study.assumptions = {
      "From the abstract: the idea and the 2.04%. The model of an iteration, random small markets "
      "of "
      "3 jobs and 9 workers, and even draws of categories follow a public re-implementation's "
      "reading. Ours: what a worker is worth in a matching, draws around the relaxation, trades, "
      "the term of fairness, and all that a trace needs: rounds, weights by the work that is left, "
      "the cost of waiting, and pauses that must pay.",
      "Traces: philly-like jobs on three kinds of GPU, 20 of each, 5 machines of 4; all jobs can "
      "have half to twice their size; throughputs by kind are the catalogue's, which has Gavel's "
      "measurements on K80, P100 and V100 for these models and scales where none is known; exact "
      "estimates; pauses cost what the model's checkpoint says. allox and gavel-las keep a job's "
      "size, as their papers do. The weight by urgency was chosen on other workloads (800 jobs of "
      "other models on 48 GPUs, loads of 0.7 and 0.9, seeds 1 to 3 and 101 to 103), before this "
      "study was run."};
  study.full = {600, 10};
  study.quick = {150, 2};
  study.base = {
      "base",
      "philly-like:jobs={jobs},load=0.8,elastic=1,max_gpus=16,measured_on=V100,pause=model,"
      "models=ResNet-18/ResNet-50/Transformer/LSTM LM/InceptionV3",
      cluster(kThreeKinds), policies()};
  study.measures = measures();
  study.claims = claims();
  study.tables = {{"Completion",
                   {{"JCT mean", "jct_s.mean", seconds},
                    {"JCT p50", "jct_s.p50", seconds},
                    {"JCT p95", "jct_s.p95", seconds},
                    {"slowdown p95", "slowdown.p95", ratio},
                    {"preemptions", "preemptions", count}}}};
  study.sweeps = sweeps();
  study.discussion = discussion;
  return study;
}

}  // namespace trainyard
