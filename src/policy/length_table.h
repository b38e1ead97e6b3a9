// How long jobs of a class took, as parts of what they declared, and what that says of one that has
// run for so long: the tables of queue.estimates=residual.
//
// Of every job that finished, x = length / declared goes into a bin. Bins are an eighth of an
// octave wide, with 1 in the middle of one; each knows its weight and the mean of its x, and counts
// as that many jobs of exactly that x. So where declarations are right all is at 1, to the last
// digit. What is long ago counts less.
//
// A class has few jobs at first, so it is mixed with a wider one, which counts as kTrust jobs, that
// with one wider still, and the widest with the declaration itself: kTrust jobs of x = 1. Where a
// class knows no job that ran for so long, what is left of the mixture are the wider ones.
//
// Example: one class, in which three jobs have taken 0.2, 0.2 and 0.5 of what they declared. With
// the two of x = 1, a new job is expected to take (0.2 + 0.2 + 0.5 + 2) / 5 = 0.58 of what it
// declares; one that has outlived 0.2 of it, (0.5 + 2) / 3 = 0.83; beyond 0.5, all of it; and one
// that has outlived all that is known, as long again as it has run.
//
// Where lengths vary more than exponential ones do (v, their variance over their mean squared, is
// above 1), most are short, and their mean is that of the few longest, of which too few are known:
// who has run for longer then has more left, and how long it has run says more than the mean does.
// What is left is then believed to be mean^(1/v) x run^(1 - 1/v), between the two. Nothing of that
// happens where jobs declare well.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace trainyard {

class LengthTable {
 public:
  static constexpr double kTrust = 2;  // jobs
  static constexpr int kPerOctave = 8;
  static constexpr int kOctaves = 14;  // to either side of 1; what is beyond counts as the last
  static constexpr std::size_t kBins = 2 * kOctaves * kPerOctave + 1;
  /// A job that has run for so much longer than was expected next has outlived that: lengths are
  /// not known more sharply.
  static constexpr double kSlack = 1.01;

  struct Bin {
    std::size_t at = 0;
    double weight = 0;
    double sum = 0;  // of x
  };

  /// A job that finished has taken this part of what it declared.
  void add(double part);

  [[nodiscard]] double weight() const { return weight_; }
  /// By x; none is empty.
  [[nodiscard]] std::span<const Bin> bins() const { return bins_; }

  /// As numbers, to be kept.
  [[nodiscard]] std::vector<double> numbers() const;
  /// None: these are not such numbers.
  static std::optional<LengthTable> from(std::span<const double> numbers);

 private:
  double weight_ = 0;
  std::vector<Bin> bins_;
};

struct LengthOutlook {
  double length = 1;  // in all, as a part of what it declares
  double until = 1;   // when it has run for longer than this, it has outlived what came next
};

/// What tables say together: those of a class of jobs first, then those of wider ones.
class LengthMixture {
 public:
  explicit LengthMixture(std::span<const LengthTable* const> classes);

  /// Of a job that has outlived this part of what it declared. One that has run for less than the
  /// moment counts as if it had run for that.
  [[nodiscard]] LengthOutlook outlook(double outlived, double moment) const;

 private:
  struct Mass {
    double weight = 0;
    double sum = 0;  // of x
  };
  std::vector<Mass> masses_;  // by x; none is empty
  double variation_ = 0;
};

}  // namespace trainyard
