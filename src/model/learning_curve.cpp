#include "model/learning_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainyard {
namespace {

constexpr double kNearlyConverged = 0.95;

/// Between two samples, where the accuracy passes from below this one to it.
double crossing(const LearningCurve::Sample& below, const LearningCurve::Sample& above,
                double accuracy) {
  const double part = (accuracy - below.accuracy) / (above.accuracy - below.accuracy);
  return below.share + part * (above.share - below.share);
}

}  // namespace

double Hyperbola::where(double accuracy) const {
  if (accuracy >= limit || slope <= 0)
    return slope <= 0 && at(0) >= accuracy ? 0 : std::numeric_limits<double>::infinity();
  return (1 / (limit - accuracy) - offset) / slope;
}

double LearningCurve::at(double share) const {
  if (measured.empty()) return formula.at(share);
  const auto next = std::ranges::upper_bound(measured, share, {}, &Sample::share);
  if (next == measured.begin()) return next->accuracy;
  if (next == measured.end()) return measured.back().accuracy;
  const Sample& before = *(next - 1);
  const double part = (share - before.share) / (next->share - before.share);
  return before.accuracy + part * (next->accuracy - before.accuracy);
}

double LearningCurve::share_to(double fraction) const {
  const double accuracy = fraction * converged();
  if (measured.empty()) return std::clamp(formula.where(accuracy), 0.0, 1.0);
  const auto first = std::ranges::find_if(
      measured, [&](const Sample& sample) { return sample.accuracy >= accuracy; });
  if (first == measured.end()) return 1;
  return first == measured.begin() ? 0 : crossing(*(first - 1), *first, accuracy);
}

/// With b = 1 / (A - start), the condition acc(e) = 0.95 acc(1) is a quadratic equation in a, whose
/// larger root is the curve that is nearly at A by the end; the smaller one, if positive, is one
/// that hardly learns.
Expected<LearningCurve> make_learning_curve(double limit, double start, double to_95) {
  if (!(start >= 0 && start < limit && std::isfinite(limit)))
    return fail("a learning curve begins at 0 or above and below its limit, not at {} below {}",
                start, limit);
  if (!(to_95 > 0 && to_95 < 1))
    return fail("the share of the work to 95% of the accuracy is between 0 and 1, not {}", to_95);
  const double missing = (1 - kNearlyConverged) * limit, b = 1 / (limit - start);
  const double square = missing * to_95;
  const double linear = missing * b * (1 + to_95) - (1 - kNearlyConverged * to_95);
  const double constant = missing * b * b - (1 - kNearlyConverged) * b;
  const double root = linear * linear - 4 * square * constant;
  const double a = root < 0 ? 0 : (std::sqrt(root) - linear) / (2 * square);
  if (!(a > 0))
    return fail(
        "no learning curve begins at {} of {} and takes {} of the work to 95% of its end; begin "
        "lower, or take less",
        start, limit, to_95);
  return LearningCurve{.formula = {limit, a, b}};
}

}  // namespace trainyard
