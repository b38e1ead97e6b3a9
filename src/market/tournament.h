// Which of n has the largest value, while values change: a tournament, whose winner is known at
// once and which a change replays from that leaf up.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace trainyard {

class Tournament {
 public:
  static constexpr double kOut = -std::numeric_limits<double>::infinity();

  explicit Tournament(std::size_t n)
      : leaves_(std::bit_ceil(n < 1 ? 1 : n)), values_(leaves_, kOut), winners_(2 * leaves_) {
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf)
      winners_[leaves_ + leaf] = static_cast<std::uint32_t>(leaf);
    for (std::size_t match = leaves_; match-- > 1;) winners_[match] = winners_[2 * match];
    winners_[0] = 0;
  }

  [[nodiscard]] std::size_t winner() const { return winners_[leaves_ == 1 ? 0 : 1]; }
  [[nodiscard]] double best() const { return values_[winner()]; }
  [[nodiscard]] double value(std::size_t i) const { return values_[i]; }

  /// Every value anew, in the order of their numbers, and every match once.
  template <class ValueOf>
  void fill(std::size_t n, ValueOf value_of) {
    for (std::size_t i = 0; i < n; ++i) values_[i] = value_of(i);
    for (std::size_t match = leaves_; match-- > 1;) play(match);
  }

  void set(std::size_t i, double value) {
    if (values_[i] == value) return;
    values_[i] = value;
    for (std::size_t match = (leaves_ + i) / 2; match >= 1; match /= 2) play(match);
  }

 private:
  void play(std::size_t match) {
    const std::uint32_t left = winners_[2 * match], right = winners_[2 * match + 1];
    winners_[match] = values_[right] > values_[left] ? right : left;
  }

  std::size_t leaves_;
  std::vector<double> values_;
  std::vector<std::uint32_t> winners_;  // of each match: 1 is the final, 2i and 2i+1 lead to i
};

}  // namespace trainyard
