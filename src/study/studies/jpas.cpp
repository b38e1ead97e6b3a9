// JPAS: the network first to the jobs that learn fastest.
#include <algorithm>

#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

constexpr double kNicBytesPerS = 10e9 / 8;
constexpr double kComputeS = 1;  // of an iteration
constexpr int kIterations = 500;
constexpr int kWorkers = 4;  // on a machine each

constexpr const char* kCluster = R"([[rack]]
[[rack.machine]]
count = 13
gpus = 8
kind = "V100"
nic_gbps = 10
[network.rack]
latency_us = 0
)";

/// One point of the study's grid; its words are those of the assumptions.
struct Cell {
  std::string collective = "ring";
  int jobs = 12;
  double phi = 1, e = 0.1, omega = 2;
};

/// A model whose communication takes phi times as long as its computing, alone, on four machines.
std::string model(const Cell& cell) {
  constexpr double kOthers = kWorkers - 1;
  const double gradients =
      cell.collective == "single-server" ? 2 * kOthers : 2 * kOthers / kWorkers;
  const double bytes = cell.phi * kComputeS * kNicBytesPerS / gradients;
  return fmt::format(
      "[[model]]\nname = \"learner\"\nparameters = {}\ngradient_mb = {}\nbatch = 1\n"
      "collective = \"{}\"\noverlap = 0\nsource = \"assumed: this study's\"\n"
      "[[model.speed]]\nkind = \"V100\"\nsamples_per_s = 1\n",
      bytes / 4, bytes / 1e6, cell.collective);
}

/// Of so many jobs, or of as many as are run of the base condition.
std::string workload(const Cell& cell, const std::string& jobs) {
  const double alone_s = kIterations * kComputeS * (1 + cell.phi);
  return fmt::format(
      "learning:jobs={},workers={},length={},iterations={},span={},early={},model=learner", jobs,
      kWorkers, kIterations * kComputeS, kIterations, cell.omega * alone_s, cell.e);
}

std::vector<StudyPolicy> policies(const std::vector<std::string>& labels) {
  const std::string flow = "order=fifo place=spread flow=";
  const std::vector<StudyPolicy> all{{"fair", flow + "fair"},
                                     {"fifo", flow + "fifo"},
                                     {"srtf", flow + "srtf"},
                                     {"las", flow + "las"},
                                     {"jpas", flow + "progress"},
                                     {"jpas, true curves", flow + "progress flow.curves=true"},
                                     {"jpas with a floor", flow + "progress flow.floor=0.2"},
                                     {"to-95", flow + "to-95"},
                                     {"to-95, true curves", flow + "to-95 flow.curves=true"}};
  std::vector<StudyPolicy> chosen;
  for (const StudyPolicy& policy : all)
    if (labels.empty() || std::ranges::find(labels, policy.label) != labels.end())
      chosen.push_back(policy);
  return chosen;
}

void use(const Cell& cell, Condition& condition) {
  condition.workload = workload(cell, std::to_string(cell.jobs));
  condition.models = model(cell);
  condition.policies = policies({"fair", "jpas"});
}

std::string name_of(const Cell& cell) {
  return fmt::format("n {}, phi {}, e {}, omega {}", cell.jobs, cell.phi, cell.e, cell.omega);
}

/// All of the grid for one collective.
Sweep grid(const std::string& title, const std::string& collective) {
  std::vector<Cell> cells;
  for (const int jobs : {12, 20})
    for (const double phi : {0.5, 1.0, 2.0})
      for (const double e : {0.1, 0.3})
        for (const double omega : {1.0, 2.0}) cells.push_back({collective, jobs, phi, e, omega});
  Sweep sweep{title, title, {}, {}, {"d90", "d95"}};
  for (const Cell& cell : cells) sweep.values.push_back(name_of(cell));
  sweep.change = [cells](Condition& condition, const std::string& value) {
    use(*std::ranges::find(cells, value, name_of), condition);
  };
  return sweep;
}

/// Where it must not help: all jobs at once, and links that are asked for far more than they have.
Sweep controls() {
  const std::vector<Cell> cells{{"ring", 12, 1, 0.3, 0},
                                {"ring", 20, 1, 0.3, 0},
                                {"ring", 20, 2, 0.3, 1},
                                {"ring", 20, 4, 0.3, 1}};
  Sweep sweep{"Controls", "all at once, and L above 2.5", {}, {}, {"d90", "d95"}};
  for (const Cell& cell : cells) sweep.values.push_back(name_of(cell));
  sweep.change = [cells](Condition& condition, const std::string& value) {
    use(*std::ranges::find(cells, value, name_of), condition);
  };
  return sweep;
}

std::function<double(const Outcome&)> reduction(const char* policy, const char* metric) {
  return [=](const Outcome& o) { return 1 - o.metric(policy, metric) / o.metric("fair", metric); };
}

std::function<double(const Outcome&)> over(const char* policy, const char* other,
                                           const char* metric) {
  return [=](const Outcome& o) { return o.metric(policy, metric) / o.metric(other, metric); };
}

std::vector<Measure> measures() {
  using enum Quantity;
  constexpr const char *k90 = "learning.to_90_s.mean", *k95 = "learning.to_95_s.mean",
                       *kLate = "learning.late_slowdown.p99";
  return {{"d90", "reduction of the mean time to 90%, against fair sharing", share,
           reduction("jpas", k90)},
          {"d95", "reduction of the mean time to 95%, against fair sharing", share,
           reduction("jpas", k95)},
          {"fit", "mean time to 95% by the fit over that by true curves", ratio,
           over("jpas", "jpas, true curves", k95)},
          {"late", "p99 slowdown past 95% with a floor over that of fair sharing", ratio,
           over("jpas with a floor", "fair", kLate)},
          {"late-bare", "the same without a floor", ratio, over("jpas", "fair", kLate)},
          {"d95-floor", "reduction of the mean time to 95% with a floor", share,
           reduction("jpas with a floor", k95)},
          {"to-95-d95", "mean time to 95%: to-95 over jpas", ratio, over("to-95", "jpas", k95)},
          {"to-95-d90", "mean time to 90%: to-95 over jpas", ratio, over("to-95", "jpas", k90)}};
}

std::vector<Sweep> sweeps() {
  const std::vector<std::string> ranked{"jpas", "jpas, true curves", "jpas with a floor"};
  return {grid("Ring", "ring"),
          grid("Sharded parameter servers", "parameter-server"),
          grid("A single parameter server", "single-server"),
          controls(),
          {"Classes", "classes", policy_setting(ranked, "flow.classes"), {"2", "4", "8", "16"}},
          {"Period", "T", policy_setting(ranked, "flow.period"), {"2s", "10s", "60s"}},
          {"Floor",
           "share of the last class",
           policy_setting({"jpas with a floor"}, "flow.floor"),
           {"0.05", "0.1", "0.2", "0.4"},
           {"late", "d95-floor"}},
          {"What goes first",
           "gain of",
           policy_setting(ranked, "flow.gain"),
           {"period", "iteration", "nic-second"}}};
}

/// What came out where, from the findings themselves.
std::vector<std::string> discussion(const Findings& findings) {
  std::vector<std::string> paragraphs;
  for (const SweepFinding& sweep : findings.sweeps) {
    if (sweep.table.title == "Floor" || sweep.table.columns.size() != 2) continue;
    const auto d95 = [](const TableFinding::Row& row) { return row.values[1].mean; };
    const auto [worst, best] = std::ranges::minmax_element(sweep.table.rows, {}, d95);
    const auto gains = std::ranges::count_if(sweep.table.rows, [&](const auto& row) {
      return row.values[1].mean - row.values[1].half_width > 0;
    });
    paragraphs.push_back(fmt::format(
        "{}: the time to 95% is lower than under fair sharing, by more than the interval, in {} of "
        "{} cells; it changes by between {:.0f} % ({}) and {:.0f} % ({}).",
        sweep.table.title, gains, sweep.table.rows.size(), -100 * d95(*best), best->name,
        -100 * d95(*worst), worst->name));
  }
  return paragraphs;
}

}  // namespace

Study jpas_study() {
  using enum Quantity;
  Study study;
  study.name = "jpas";
  study.title = "JPAS: the network first to the jobs that learn fastest";
  study.paper =
      "P. Zhou et al.: JPAS: Job-progress-aware flow scheduling for deep learning clusters. "
      "Journal "
      "of Network and Computer Applications, 2020";
  study.summary = {
      "What is learnt early in a run steers the search for good models. The paper orders jobs by "
      "how fast they learn, gives their flows priorities by that order, and reports that the time "
      "to 90% or 95% of the converged accuracy is up to 38% lower on 13 servers and one switch."};
  study.assumptions = {
      "From the abstract: the greedy order, priorities by it, 13 servers behind one switch, and "
      "the "
      "38%. All else is ours: the form of the curve and its fit, eight classes, what a new and a "
      "nearly converged job get (docs/policies.md, flow=progress), and every condition below, "
      "which was fixed before the first run.",
      "Words: n jobs of 4 workers on a server each, k = 4 n / 13 of them behind a NIC; phi is "
      "communication over computing of a job alone; L = k phi / (1 + phi); e the share of its work "
      "after which a job has 95% of its converged accuracy, which is that at the end of its run; "
      "omega the span of arrivals over the length of a job alone. Every iteration is played: it "
      "computes for 1 s, 5% more or less, then sends. A job tells its accuracy, with 5% noise, "
      "after "
      "each hundredth of its run.",
      "The claim \"up to\" is taken at the cell of the grid with the largest mean; all cells stand "
      "beside it. Everything is against fair sharing. Base: ring, n 12, phi 1, e 0.1, omega 2."};
  study.full = {12, 20};
  study.quick = {10, 2};
  const Cell base;
  study.base = {"base",      workload(base, "{jobs}"),
                kCluster,    policies({}),
                model(base), "shared,model=iteration,jitter=0.05"};
  study.measures = measures();
  study.claims = {
      {"time-to-90-reduction", "The time to 90% is up to 38% lower", "abstract", "d90",
       Direction::at_least, 0.38, TakenAt::largest},
      {"time-to-95-reduction", "The time to 95% is up to 38% lower", "abstract", "d95",
       Direction::at_least, 0.38, TakenAt::largest},
      {"fit-vs-oracle", "The fit is within 10% of the order by true curves", "our requirement",
       "fit", Direction::at_most, 1.10},
      {"late-jobs-not-starved",
       "With a floor, jobs past their early stage are slowed down at most twice as much (p99)",
       "our requirement", "late", Direction::at_most, 2},
      {"to-95-over-jpas", "Shortest to 95% first is sooner at 95% than JPAS", "our aim",
       "to-95-d95", Direction::at_most, 1},
      {"to-95-keeps-90", "Shortest to 95% first is no later at 90% than JPAS", "our aim",
       "to-95-d90", Direction::at_most, 1}};
  study.tables = {{"Time to learn, and what it costs",
                   {{"to 90%", "learning.to_90_s.mean", seconds},
                    {"to 95%", "learning.to_95_s.mean", seconds},
                    {"JCT mean", "jct_s.mean", seconds},
                    {"JCT p99", "jct_s.p99", seconds},
                    {"late slowdown p99", "learning.late_slowdown.p99", ratio}}}};
  study.sweeps = sweeps();
  study.discussion = discussion;
  return study;
}

}  // namespace trainyard
