#include "base/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace trainyard {
namespace {

std::size_t nearest_rank(std::size_t count, double q) {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(count) - 1e-9));
  return std::clamp<std::size_t>(rank, 1, count) - 1;
}

/// Two-sided 97.5% quantile of Student's t, by degrees of freedom.
double student_t(std::size_t freedom) {
  constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                              2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                              2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                              2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= kTable.size()) return kTable[freedom - 1];
  // Cornish-Fisher expansion around the normal quantile; exact to 0.001 from 30 on.
  constexpr double z = 1.959964;
  const auto n = static_cast<double>(freedom);
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

}  // namespace

double percentile(std::span<double> values, double q) {
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(nearest_rank(values.size(), q));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

Summary summarize(std::span<double> values) {
  if (values.empty()) return {};
  Summary s;
  const auto n = values.size();
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  // Each selection leaves the larger values to its right, so the next looks only there.
  std::size_t from = 0;
  const auto select = [&](double q) {
    const std::size_t rank = nearest_rank(n, q);
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(from);
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(begin, nth, values.end());
    from = rank;
    return *nth;
  };
  s.p50 = select(0.50);
  s.p95 = select(0.95);
  s.p99 = select(0.99);
  s.max = *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(from), values.end());
  return s;
}

Interval mean_interval(std::span<const double> values) {
  if (values.empty()) return {};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (std::ranges::adjacent_find(values, std::not_equal_to{}) == values.end())
    return {values.front(), 0};  // exactly, whatever the sum of them is rounded to
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const double error = std::sqrt(squares / (n - 1) / n);
  return {mean, student_t(values.size() - 1) * error};
}

double jain_index(std::span<const double> values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v, squares += v * v;
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(values.size()) * squares);
}

double ks_distance(std::span<double> a, std::span<double> b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty() ? 0 : 1;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double gap = 0;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    gap = std::max(gap, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                 static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return gap;
}

std::size_t Histogram::bucket(std::uint64_t value) {
  if (value < (1U << kSubBits)) return value;
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;
  return ((exponent + 1ULL) << kSubBits) + ((value >> exponent) - (1U << kSubBits));
}

double Histogram::upper_edge(std::size_t bucket) {
  if (bucket < (1U << kSubBits)) return static_cast<double>(bucket);
  const std::size_t exponent = (bucket >> kSubBits) - 1;
  const auto mantissa = static_cast<double>((bucket & ((1U << kSubBits) - 1)) + (1U << kSubBits));
  return std::ldexp(mantissa + 1, static_cast<int>(exponent)) - 1;
}

void Histogram::add(std::uint64_t value) {
  ++counts_[bucket(value)];
  ++count_;
  max_ = std::max(max_, value);
}

double Histogram::percentile(double q) const {
  if (count_ == 0) return 0;
  const std::uint64_t rank = nearest_rank(count_, q) + 1;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return std::min(upper_edge(i), static_cast<double>(max_));
  }
  return static_cast<double>(max_);
}

}  // namespace trainyard
