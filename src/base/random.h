// Seeded random numbers that mean the same everywhere: PCG for the bits, and distributions of our
// own, because those of the standard library differ between implementations.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <pcg_random.hpp>
#include <span>

namespace trainyard {

class Random {
 public:
  /// Streams of one seed are independent: arrivals, durations and demands draw from their own, so
  /// that changing one leaves the others as they were.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : bits_(seed, stream) {}

  std::uint64_t bits() { return bits_(); }

  /// How many draws of bits lead from `start`, a generator of the same seed and stream, to here;
  /// and to go as far at once.
  [[nodiscard]] std::uint64_t drawn_since(const Random& start) const {
    return static_cast<std::uint64_t>(bits_ - start.bits_);
  }
  void skip(std::uint64_t draws) { bits_.advance(draws); }

  /// Uniform over [0, 1), 53 bits.
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// Uniform over 0 .. n-1, without bias (n > 0).
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t unfair = (0 - n) % n;
    std::uint64_t draw = bits_();
    while (draw < unfair) draw = bits_();
    return draw % n;
  }

  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

  double normal(double mean, double deviation) {
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    return mean + deviation * radius * std::cos(2 * std::numbers::pi * uniform());
  }

  double lognormal(double mu, double sigma) { return std::exp(normal(mu, sigma)); }

  /// Normal, redrawn until it falls into [low, high], which must hold some of its mass.
  double truncated_normal(double mean, double deviation, double low, double high) {
    double draw = normal(mean, deviation);
    while (draw < low || draw > high) draw = normal(mean, deviation);
    return draw;
  }

  /// Index i with probability weights[i] / their sum.
  std::size_t pick(std::span<const double> weights) {
    double total = 0;
    for (const double w : weights) total += w;
    double left = uniform() * total;
    for (std::size_t i = 0; i + 1 < weights.size(); ++i) {
      if (left < weights[i]) return i;
      left -= weights[i];
    }
    return weights.size() - 1;
  }

 private:
  pcg64 bits_;
};

}  // namespace trainyard
