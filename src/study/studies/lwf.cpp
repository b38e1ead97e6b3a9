// LWF-k and AdaDUAL: where to put jobs that share links, and which all-reduce waits for which.
#include "perf/catalogue.h"
#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

constexpr const char* kCluster = R"([[rack]]
[[rack.machine]]
count = 16
gpus = 4
kind = "V100"
nic_gbps = 10
)";

/// The catalogue's, but for one thing: gradients are exchanged when computing is over, as in the
/// paper's graph of tasks. Flat rings.
std::string models() {
  std::string toml;
  for (const char* name : {"VGG-16", "ResNet-50", "InceptionV3", "LSTM LM"}) {
    const ModelProfile& model = *Catalogue::builtin().find(name);
    toml += fmt::format(
        "[[model]]\nname = \"{}\"\nparameters = {}\ngradient_mb = {}\nbatch = {}\n"
        "collective = \"ring\"\noverlap = 0\nsource = \"the catalogue\"\n"
        "[[model.speed]]\nkind = \"V100\"\nsamples_per_s = {}\n",
        name, model.parameters.value, model.gradient_bytes.value / 1e6, model.batch.value,
        Catalogue::builtin().samples_per_s(model, "V100").value);
  }
  return toml;
}

std::string network(const std::string& loss) {
  return "shared,model=iteration,loss=" + loss;
}

std::vector<StudyPolicy> policies() {
  const std::string srsf = "order=srsf backfill=greedy ", ada = " flow=adadual";
  std::vector<StudyPolicy> all{{"first-fit", srsf + "place=first-fit" + ada},
                               {"list scheduling", srsf + "place=lwf" + ada, {"place.k=64"}},
                               {"random", srsf + "place=random" + ada},
                               {"srsf-1", "srsf-1"},
                               {"srsf-2", "srsf-2"},
                               {"ada-srsf", "ada-srsf"}};
  for (const char* k : {"2", "4", "8"})
    all.push_back({fmt::format("lwf-{}", k), "ada-srsf", {fmt::format("place.k={}", k)}});
  return all;
}

std::function<double(const Outcome&)> times_of(const char* better, const char* worse) {
  return [=](const Outcome& o) {
    return o.metric(worse, "jct_s.mean") / o.metric(better, "jct_s.mean");
  };
}

std::function<double(const Outcome&)> reduction(const char* worse) {
  return [=](const Outcome& o) {
    return 1 - o.metric("ada-srsf", "jct_s.mean") / o.metric(worse, "jct_s.mean");
  };
}

std::vector<Measure> measures() {
  using enum Quantity;
  return {{"over-first-fit", "mean JCT under first-fit over that under LWF-1", ratio,
           times_of("ada-srsf", "first-fit")},
          {"over-list", "mean JCT under list scheduling over that under LWF-1", ratio,
           times_of("ada-srsf", "list scheduling")},
          {"over-random", "mean JCT under random placement over that under LWF-1", ratio,
           times_of("ada-srsf", "random")},
          {"ada-srsf1", "reduction of the mean JCT by Ada-SRSF against SRSF(1)", share,
           reduction("srsf-1")},
          {"ada-srsf2", "reduction of the mean JCT by Ada-SRSF against SRSF(2)", share,
           reduction("srsf-2")}};
}

std::vector<Sweep> sweeps() {
  return {
      {"What sharing costs",
       "eta over b",
       [](Condition& condition, const std::string& eta) { condition.network = network(eta); },
       {"0", "0.1", "0.3", "1", "2"}},
      {"Lengths",
       "iterations, 200 to 6000",
       [](Condition& condition, const std::string& law) {
         workload_key("least")(condition, "200");
         workload_key("lengths")(condition, law);
       },
       {"uniform", "log-uniform"}},
      {"Lengths where sharing costs much",
       "iterations, 200 to 6000, eta = b",
       [](Condition& condition, const std::string& law) {
         workload_key("least")(condition, "200");
         workload_key("lengths")(condition, law);
         condition.network = network("1");
       },
       {"uniform", "log-uniform"}},
      {"Sizes",
       "GPUs a job",
       workload_key("gpus"),
       {"1:80/2:14/4:26/8:30/16:8/32:2", "2:1/4:1/8:1", "8:1/16:1", "1:1/2:1/4:1/8:1/16:1/32:1"}},
      {"Time within which jobs arrive", "span", workload_key("span"), {"5m", "20m", "60m"}},
      {"Link speed",
       "Gbit/s",
       [](Condition& condition, const std::string& gbps) {
         condition.cluster = fmt::format(
             "[[rack]]\n[[rack.machine]]\ncount = 16\ngpus = 4\nkind = \"V100\"\n"
             "nic_gbps = {}\n",
             gbps);
       },
       {"1", "10", "25", "100"}}};
}

std::vector<std::string> discussion(const Findings& findings) {
  std::vector<std::string> paragraphs;
  for (const ClaimFinding& claim : findings.claims)
    paragraphs.push_back(
        fmt::format("{}: the published number is {}, ours is {:.3g} ± {:.2g} ({}).", claim.claim.id,
                    claim.claim.number, claim.ours.mean, claim.ours.half_width, claim.condition));
  return paragraphs;
}

}  // namespace

Study lwf_study() {
  using enum Quantity;
  Study study;
  study.name = "lwf";
  study.title = "LWF-k and AdaDUAL: jobs that share links";
  study.paper =
      "Q. Wang, S. Shi, C. Wang, X. Chu: Communication contention aware scheduling of multiple "
      "deep "
      "learning training jobs. 2020";
  study.summary = {
      "Jobs whose all-reduces share a link slow each other down by more than a fair share. The "
      "paper "
      "places jobs on the GPUs with the least work, held together beyond k of them (LWF-k), and "
      "lets "
      "an all-reduce join another on a link only where that pays (AdaDUAL); waiting ones go by "
      "remaining service (Ada-SRSF). It reports up to 1.59 times the speed of first-fit, and 20.1% "
      "and 36.7% less mean completion time than letting one or two share without asking."};
  study.assumptions = {
      "From the abstract: the three numbers. From memory, and so to be doubted: 16 machines of 4 "
      "GPUs with 10 Gbit/s, 160 jobs of 1 to 32 GPUs within 20 minutes and their mix of sizes, "
      "four "
      "models, 1000 to 6000 iterations each. Ours: which GPU and computing times (the catalogue's "
      "V100), that sharing costs a link eta = 0.3 b, flat rings whose bytes 2 (m - 1) / m count in "
      "b, and that a GPU is one job's alone, so that the work on a machine stands for that on its "
      "GPUs.",
      "Which of the measures are at the base condition and which are the largest over the sweeps "
      "stands with each claim. All policies order the queue by remaining service with exact "
      "estimates, and let small jobs pass one that does not fit."};
  study.full = {160, 16};
  study.quick = {80, 2};
  study.base = {"base",        "contended:jobs={jobs},span=20m", kCluster, policies(), models(),
                network("0.3")};
  study.measures = measures();
  study.claims = {{"lwf-over-first-fit", "LWF-1 is up to 1.59 times as fast as first-fit",
                   "abstract", "over-first-fit", Direction::at_least, 1.59, TakenAt::largest},
                  {"ada-vs-srsf1", "Ada-SRSF takes 20.1% off the mean JCT of SRSF(1)", "abstract",
                   "ada-srsf1", Direction::at_least, 0.201},
                  {"ada-vs-srsf2", "Ada-SRSF takes 36.7% off the mean JCT of SRSF(2)", "abstract",
                   "ada-srsf2", Direction::at_least, 0.367}};
  study.tables = {{"Completion",
                   {{"JCT mean", "jct_s.mean", seconds},
                    {"JCT p50", "jct_s.p50", seconds},
                    {"JCT p95", "jct_s.p95", seconds},
                    {"makespan", "makespan_s", seconds},
                    {"GPU time slowed", "slowed_gpu_s", seconds}}}};
  study.sweeps = sweeps();
  study.discussion = discussion;
  return study;
}

}  // namespace trainyard
