// A study sets what a paper claims beside what Trainyard measures. It is data and a few lambdas: a
// base condition (workload, cluster, policies), what is measured of it, the paper's claims on that,
// and sweeps, each of which takes one thing of the base condition through several values.
//
//   Study study;
//   study.base = {"base", "poisson:jobs={jobs},trial=0.3", "4x8xV100",
//                 {{"fifo", "fifo"}, {"srtf", "srtf"}}};
//   study.measures = {{"jct", "reduction of the mean JCT", Quantity::share, [](const Outcome& o) {
//     return 1 - o.metric("srtf", "jct_s.mean") / o.metric("fifo", "jct_s.mean"); }}};
//   study.claims = {{"jct", "Jobs complete 40% earlier in the mean", "table 2", "jct",
//                    Direction::at_least, 0.40}};
//   study.sweeps = {{"Offered load", "load", workload_key("load"), {"0.5", "0.7", "0.9"}}};
//
// How it is run, and what becomes of it, is in study/reproduce/. docs/studies/README.md tells how
// to add one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/report/quantity.h"

namespace trainyard {

struct Findings;
struct TableFinding;

/// The numbers of one run, by their path in docs/output.md: "by_class.trial.slowdown.p95". Those on
/// the speed of the simulator are left out: they differ from run to run.
using Metrics = std::map<std::string, double, std::less<>>;

struct StudyPolicy {
  std::string label;                       // what the study calls it
  std::string line;                        // with the settings as PolicySpec::parse takes them;
                                           // "bound": the lower bound of the mean JCT instead;
                                           // "forecast:LINE": how good forecasts are (promises.h)
  std::vector<std::string> settings = {};  // "stage.param=value"
  bool pauses_are_free = false;            // its runs: the workload is given pause=free
};

/// Microsoft's log in the folder of public traces.
inline constexpr const char* kPhillyLog = "{traces}/philly/philly.csv";

struct Condition {
  std::string name;
  /// A file or GENERATOR:key=value,...; "{jobs}" in it becomes the number of jobs of the run,
  /// "{policy}" the line of the policy that is run, with its settings, and "{part}" the part of a
  /// trace that is kept for judging, "from=0.6". With other seeds than the study's own it becomes
  /// the part that choices may see, "until=0.6". "{traces}" becomes the folder of public traces; a
  /// condition whose file is not there is left out, and the findings say so.
  std::string workload;
  std::string cluster;  // "16x8xV100", or the TOML of docs/clusters.md itself
  std::vector<StudyPolicy> policies;
  std::string models = {};        // TOML of docs/models.md, added to the catalogue
  std::string network = "alone";  // or shared, as --network has it
  double times_jobs = 1;          // as many jobs as the extent says
};

/// What the policies of one condition did with one seed.
class Outcome {
 public:
  explicit Outcome(std::map<std::string, const Metrics*, std::less<>> by_policy)
      : by_policy_(std::move(by_policy)) {}

  /// Throws when there is no such label or metric: then the study is wrong, not its input.
  [[nodiscard]] double metric(std::string_view policy, std::string_view name) const;

 private:
  std::map<std::string, const Metrics*, std::less<>> by_policy_;
};

struct Measure {
  std::string id;
  std::string label;  // "reduction of the trial jobs' p95 slowdown"
  Quantity quantity;
  std::function<double(const Outcome&)> value;
};

enum class Direction { at_least, at_most };
/// At one condition; wherever among all the mean is largest, for claims of the kind "up to" or
/// "everywhere"; or on the average over the conditions of sweeps, each counting once; or wherever
/// among those the mean is worst.
/// Or nowhere may the whole interval miss the number: then the condition where it comes nearest to
/// that, or misses it by most.
enum class TakenAt { base, largest, average, worst, nowhere };

struct Claim {
  std::string id, text;
  std::string source;   // where in the paper; begins with "our" where the number is not the paper's
  std::string measure;  // its id
  Direction direction;
  double number;  // that was published, or that is our own goal
  TakenAt taken_at = TakenAt::base;
  /// Other than the base condition: that of a sweep, as "load = 0.9". With `largest`: only the base
  /// condition and those of sweeps whose titles begin so. With `average`, `worst` and `nowhere`:
  /// those sweeps alone.
  std::string at = {};

  [[nodiscard]] bool is_ours() const { return source.starts_with("our"); }
};

/// Makes the base condition that of one value of a sweep.
using Change = std::function<void(Condition& condition, const std::string& value)>;

/// Sets "stage.param" of the policies with these labels, and leaves the others as they are.
Change policy_setting(const std::vector<std::string>& labels, const std::string& setting);
/// Sets one key of the workload's generator.
Change workload_key(const std::string& key);

/// How a sweep over all pairs of two things is shown: a cell for each pair, before all other
/// tables.
struct SweepMap {
  /// Cells whose mean meets the number are marked.
  struct Region {
    std::string mark, label, measure;
    Direction direction;
    double number;
  };
  std::string row_axis, column_axis;
  std::vector<std::string> rows, columns;
  std::vector<Region> regions;
};

struct Sweep {
  std::string title;
  std::string axis;  // "share of trial jobs"
  Change change;
  std::vector<std::string> values;         // numbers and durations are plotted, all are tabled
  std::vector<std::string> measures = {};  // ids; none: all
  std::optional<SweepMap> map = {};        // then values are the pairs, row by row
  bool is_aside = false;                   // claims of the kind "up to" do not look there
  std::size_t quick_values = 0;            // of the quick form: the first so many; 0: all
  bool is_for_foremost = false;            // shown by the study's foremost tables alone
};

/// One of the two things that a map goes through.
struct SweepWay {
  std::string axis;
  Change change;
  std::vector<std::string> values;
};
Sweep map_sweep(const std::string& title, const SweepWay& down, const SweepWay& across,
                std::vector<SweepMap::Region> regions, std::vector<std::string> measures);

/// A row for each policy of the base condition.
struct StudyTable {
  struct Column {
    std::string title, metric;
    Quantity quantity;
  };
  std::string title;
  std::vector<Column> columns;
};

/// How much is run.
struct Extent {
  std::size_t jobs = 0;
  int seeds = 0;
  int first_seed = 1;

  [[nodiscard]] int last_seed() const { return first_seed + seeds - 1; }
};

struct Study {
  std::string name;                      // as on the command line
  std::string title;                     // one line
  std::string paper;                     // authors, title, venue, year
  std::vector<std::string> summary;      // paragraphs: what the paper says
  std::vector<std::string> assumptions;  // paragraphs: what is published, and what we chose
  Extent full, quick;
  Condition base;
  std::vector<Measure> measures;
  std::vector<Claim> claims;
  std::vector<StudyTable> tables;
  std::vector<Sweep> sweeps;
  /// Tables that are made from those of the sweeps, to be read before all else. Of a run with
  /// --only they see the sweeps that were run.
  std::function<std::vector<TableFinding>(const Findings&)> foremost = {};
  /// Paragraphs on what came out of the whole study; none when it is empty.
  std::function<std::vector<std::string>(const Findings&)> discussion = {};
};

}  // namespace trainyard
