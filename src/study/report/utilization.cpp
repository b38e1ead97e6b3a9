#include "study/report/utilization.h"

#include <algorithm>

namespace trainyard {
namespace {

/// The series' integral from its start to `until_s`, in seconds of a fully used cluster.
double used_s(const UtilizationSeries& series, const std::vector<double>& sums, double until_s) {
  const double position = until_s / series.interval.seconds();
  const auto whole = std::min(static_cast<std::size_t>(position), series.share.size());
  double used = sums[whole];
  if (whole < series.share.size())
    used += series.share[whole] * (position - static_cast<double>(whole));
  return used * series.interval.seconds();
}

std::vector<double> prefix_sums(const std::vector<double>& values) {
  std::vector<double> sums{0};
  for (const double value : values) sums.push_back(sums.back() + value);
  return sums;
}

}  // namespace

Duration end_of(const PolicyRuns& policy) {
  Duration end;
  for (const Run& run : policy.runs) {
    const UtilizationSeries& series = run.result.utilization;
    end = std::max(end, series.interval * static_cast<std::int64_t>(series.share.size()));
  }
  return end;
}

std::vector<double> mean_utilization(const PolicyRuns& policy, Duration end, std::size_t cells) {
  std::vector<double> mean(cells, 0.0);
  const double cell_s = end.seconds() / static_cast<double>(cells);
  for (const Run& run : policy.runs) {
    const UtilizationSeries& series = run.result.utilization;
    if (series.share.empty() || series.interval.us <= 0) continue;
    const std::vector<double> sums = prefix_sums(series.share);
    double before = 0;
    for (std::size_t i = 0; i < cells; ++i) {
      const double after = used_s(series, sums, cell_s * static_cast<double>(i + 1));
      mean[i] += (after - before) / cell_s / static_cast<double>(policy.runs.size());
      before = after;
    }
  }
  return mean;
}

}  // namespace trainyard
