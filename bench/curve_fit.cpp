// How long it takes to fit a learning curve to what a job told, 5% of it noise and a tenth
// outliers, with as many points as are ever kept. A policy that goes by learning does it for each
// job that told something in a period.
#include "perf/curve_fit.h"

#include "base/random.h"
#include "bench.h"

namespace trainyard::bench {
namespace {

constexpr std::size_t kJobs = 2'000;
constexpr int kReports = 200;

CurvePoints reports(std::uint64_t seed) {
  Random random(seed);
  const LearningCurve truth = must(make_learning_curve(0.9, 0.05, random.uniform(0.1, 0.5)));
  CurvePoints told;
  for (int i = 1; i <= kReports; ++i) {
    const double share = static_cast<double>(i) / kReports;
    const bool is_outlier = random.uniform() < 0.1;
    told.add({share, is_outlier ? random.uniform() : truth.at(share) * random.normal(1, 0.05)});
  }
  return told;
}

}  // namespace

void measure_curve_fits(Table& table) {
  if (!table.wants("curve-fit")) return;
  std::vector<CurvePoints> jobs;
  for (std::uint64_t seed = 1; seed <= kJobs; ++seed) jobs.push_back(reports(seed));
  const double all = median_of(5, [&] {
    return seconds([&] {
      for (const CurvePoints& job : jobs) keep(fit_curve(job));
    });
  });
  table.add({fmt::format("curve-fit: one of {} points", CurvePoints::kMost), all / kJobs * 1e6,
             "us", Target{Target::Is::at_most, 50}});
}

}  // namespace trainyard::bench
