// Forecasts: what promises of starts are worth.
#include <array>
#include <cmath>

#include "study/promises.h"
#include "study/reproduce/findings.h"
#include "study/studies.h"

namespace trainyard {
namespace {

constexpr std::array<const char*, 4> kPolicies{"fifo", "fifo-easy", "srtf", "trainyard"};
constexpr std::array<const char*, 4> kUpTo{"10m", "1h", "3h", "1d"};
constexpr std::array<const char*, 3> kKnown{"exact", "limits", "none"};

std::vector<StudyPolicy> policies() {
  std::vector<StudyPolicy> all;
  for (const char* policy : kPolicies) all.push_back({policy, std::string(kForecastLine) + policy});
  return all;
}

/// Of the promises of all policies that this is counted of.
double pooled(const Outcome& outcome, const std::string& up_to, const std::string& what) {
  double promises = 0, sum = 0;
  for (const char* policy : kPolicies) {
    const double here = outcome.metric(policy, up_to + ".promises");
    promises += here;
    sum += here * outcome.metric(policy, up_to + "." + what);
  }
  return promises > 0 ? sum / promises : std::nan("");
}

/// A minute is added to both: where lengths are exact and no job can go before, both errors are 0.
double error_ratio(const Outcome& outcome, const char* policy) {
  return (outcome.metric(policy, "all.error_s") + 60) /
         (outcome.metric(policy, "all.limits_error_s") + 60);
}

std::vector<Measure> measures() {
  using enum Quantity;
  std::vector<Measure> all;
  for (const std::string up_to : kUpTo)
    all.push_back({"held-" + up_to, "starts within the band, expected within " + up_to, share,
                   [up_to](const Outcome& o) { return pooled(o, up_to, "held"); }});
  all.push_back({"drawn", "starts within the band of the draws alone", share,
                 [](const Outcome& o) { return pooled(o, "all", "drawn_held"); }});
  for (const char* policy : kPolicies) {
    all.push_back({fmt::format("held-{}", policy),
                   fmt::format("starts within the band, {}", policy), share,
                   [policy](const Outcome& o) { return o.metric(policy, "all.held"); }});
    all.push_back({fmt::format("error-{}", policy),
                   fmt::format("median error over that of limits and no arrivals, {}", policy),
                   ratio, [policy](const Outcome& o) { return error_ratio(o, policy); }});
  }
  return all;
}

std::vector<Claim> claims() {
  std::vector<Claim> all;
  for (const char* known : kKnown) {
    for (const std::string up_to : kUpTo) {
      const auto add = [&](const char* id, const char* text, Direction direction, double number) {
        all.push_back({fmt::format("held-{}-{}-{}", up_to, id, known),
                       fmt::format("{}: {} of the starts that are expected within {} are in the "
                                   "band of p10 to p90",
                                   known, text, up_to),
                       "our goal", "held-" + up_to, direction, number, TakenAt::average, known});
      };
      add("least", "at least 75%", Direction::at_least, 0.75);
      add("most", "at most 85%", Direction::at_most, 0.85);
    }
    for (const char* policy : kPolicies)
      all.push_back({fmt::format("error-{}-{}", policy, known),
                     fmt::format("{}: the median error under {} is at most half of that of limits "
                                 "and no arrivals",
                                 known, policy),
                     "our goal", fmt::format("error-{}", policy), Direction::at_most, 0.5,
                     TakenAt::average, known});
  }
  return all;
}

const std::string kGenerated = "philly-like:jobs={jobs},load=0.9,max_gpus=16";

Sweep sweep(const std::string& known) {
  return {known + " times",
          known + " times",
          [known](Condition& condition, const std::string& jobs) {
            if (jobs == "the log, load 0.9")
              condition.workload = fmt::format(
                  "trace:file={},{{part}},jobs={{jobs}},load=0.9,pause=helios,max_gpus=16",
                  kPhillyLog);
            workload_key("load")(condition, jobs.substr(jobs.rfind(' ') + 1));
            workload_key("declared")(condition, known);
          },
          {"philly-like, load 0.9", "philly-like, load 1.0", "the log, load 0.9"}};
}

}  // namespace

Study forecast_study() {
  using enum Quantity;
  Study study;
  study.name = "forecast";
  study.title = "Forecasts: what promises of starts are worth";
  study.paper =
      "none: it is ours, beside \"every job takes its limit, and no other comes\", which "
      "is what Slurm's squeue --start goes by";
  study.summary = {
      "A forecast runs the policy forward from the present state, several times, with lengths and "
      "arrivals drawn from the jobs of late; the band is corrected by how past promises missed. A "
      "promise is only worth something if it is kept as often as it says: four starts in five "
      "should be within p10 to p90, however far ahead they are."};
  study.assumptions = {
      "Each job that waits is promised a start when it is submitted, and at each full hour; a job "
      "that starts as it comes is promised nothing. Promises are sorted by the wait that they "
      "expect (p50): up to 10 minutes, from there to 1 h, 3 h, and a day; those beyond a day are "
      "left out, and so they are from the figures of the other side. The first promises of a run, "
      "when little is on record, count as all others do.",
      "What is known: exact lengths; time limits (declared=limits); or nothing (declared=none, an "
      "hour for every job). The forecast goes by lengths of jobs that finished and by arrivals of "
      "the last seven days, and knows neither the truth nor that declarations are exact.",
      "Kept apart: how lengths are drawn and bands corrected was chosen on philly-like jobs with "
      "the seeds 1 to 6. This study has seeds from 3001 on, and of the Philly log windows of its "
      "last 40%, of which nothing was chosen.",
      "To both median errors a minute is added before the ratio is taken. "
      "Where lengths are exact and the policy is first come, first served, both sides are right to "
      "the microsecond: every start is in the band, and no error can be half of the other."};
  study.full = {500, 4, 3001};
  study.quick = {250, 2, 3001};
  study.base = {"base", kGenerated + ",declared=limits", "2x8xV100", policies()};
  study.measures = measures();
  study.claims = claims();
  for (const char* up_to : {"all", "10m", "1h", "3h", "1d"}) {
    const std::string of = up_to;
    study.tables.push_back({of == "all" ? "All promises" : "Expected within " + of,
                            {{"promises", of + ".promises", count},
                             {"held", of + ".held", share},
                             {"held by the draws alone", of + ".drawn_held", share},
                             {"median error", of + ".error_s", seconds},
                             {"with limits, no arrivals", of + ".limits_error_s", seconds}}});
  }
  for (const char* known : kKnown) study.sweeps.push_back(sweep(known));
  return study;
}

}  // namespace trainyard
