// Statistics as the reports use them. Percentiles are exact (nearest rank over all values, no
// interpolation and no sketch): p95 is a value that really occurred, and 95% are at most it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

struct Summary {
  double mean = 0, p50 = 0, p95 = 0, p99 = 0, max = 0;
};

/// Reorders `values`. All zero for no values.
Summary summarize(std::span<double> values);

/// The nearest-rank percentile, 0 < q <= 1; reorders `values`, which must not be empty.
double percentile(std::span<double> values, double q);

/// Mean and half-width of its 95% confidence interval (Student's t; 0 for fewer than two values).
struct Interval {
  double mean = 0, half_width = 0;
};
Interval mean_interval(std::span<const double> values);

/// Jain's index (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything.
double jain_index(std::span<const double> values);

/// Kolmogorov-Smirnov: the largest gap between the two empirical distribution functions, 0 to 1.
/// Reorders both.
double ks_distance(std::span<double> a, std::span<double> b);

/// Counts of positive values in buckets 1/32 apart in relative size: percentiles within 3.2%, the
/// maximum exact, a few nanoseconds a value. For what is measured millions of times in a run.
class Histogram {
 public:
  void add(std::uint64_t value);
  [[nodiscard]] double percentile(double q) const;
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  static constexpr unsigned kSubBits = 5;
  static std::size_t bucket(std::uint64_t value);
  static double upper_edge(std::size_t bucket);

  std::array<std::uint64_t, (64 - kSubBits + 1) << kSubBits> counts_{};
  std::uint64_t count_ = 0, max_ = 0;
};

}  // namespace trainyard
