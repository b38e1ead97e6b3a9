#include "perf/curve_fit.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <unsupported/Eigen/NonLinearOptimization>

namespace trainyard {
namespace {

using Points = std::span<const LearningPoint>;
using Weights = std::array<double, CurvePoints::kMost>;

// Of s, as a multiple of the last step. A curve that bends much earlier is level by now; one that
// has hardly begun to bend tells nothing of its end.
constexpr double kEarliestBend = 1e-4, kLatestBend = 4;
constexpr int kBends = 16;
constexpr int kRounds = 3;
constexpr std::size_t kFewestToWeigh = 6;  // fewer lie on the curve or nearly so
constexpr double kCauchy = 2.385;          // 95% as good as least squares where noise is normal
constexpr double kMedianToDeviation = 1.4826;
constexpr double kLeastToLearn = 1e-9;  // of the largest accuracy
constexpr double kSmallest = 1e-100;    // of what is divided by

/// acc = limit - rise / (1 + u / bend), with u = step / last step.
struct Candidate {
  double limit = 0, rise = 0, bend = 1;
  double error = 0;

  [[nodiscard]] double at(double u) const { return limit - rise / (1 + u / bend); }
};

/// What is to be fitted.
struct Task {
  Points points;
  double last = 1;   // step
  double scale = 1;  // of accuracies, which are fitted as parts of the largest
  double cap = 0;    // of the limit
  Weights weights{};

  [[nodiscard]] double u(std::size_t i) const { return points[i].step / last; }
  [[nodiscard]] double y(std::size_t i) const { return points[i].accuracy / scale; }
  [[nodiscard]] double error(const Candidate& c) const {
    double sum = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double r = c.at(u(i)) - y(i);
      sum += weights[i] * r * r;
    }
    return sum;
  }
};

/// The best limit and rise for this bend, in closed form.
Candidate best_for(const Task& task, double bend) {
  double w = 0, wz = 0, wzz = 0, wy = 0, wzy = 0;
  for (std::size_t i = 0; i < task.points.size(); ++i) {
    const double z = 1 / (1 + task.u(i) / bend), y = task.y(i);
    const double weight = task.weights[i];
    w += weight, wz += weight * z, wzz += weight * z * z;
    wy += weight * y, wzy += weight * z * y;
  }
  const double spread = w * wzz - wz * wz;
  Candidate c{.bend = bend};
  c.rise = spread > 1e-12 * w * w ? std::max(0.0, (wz * wy - w * wzy) / spread) : 0;
  c.limit = (wy + c.rise * wz) / w;
  if (c.limit > task.cap) {
    c.limit = task.cap;
    c.rise = std::max(0.0, (task.cap * wz - wzy) / wzz);
  }
  c.error = task.error(c);
  return c;
}

Candidate search(const Task& task) {
  Candidate best;
  for (int i = 0; i < kBends; ++i) {
    const double part = static_cast<double>(i) / (kBends - 1);
    const double bend = kEarliestBend * std::pow(kLatestBend / kEarliestBend, part);
    const Candidate c = best_for(task, bend);
    if (i == 0 || c.error < best.error) best = c;
  }
  return best;
}

/// The residuals and their derivatives by limit, log rise and log bend, as Eigen asks for them.
struct Residuals {
  using Scalar = double;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;

  const Task& task;

  [[nodiscard]] static int inputs() { return 3; }
  [[nodiscard]] int values() const { return static_cast<int>(task.points.size()); }

  int operator()(const InputType& x, ValueType& residuals) const {
    const Candidate c{x[0], std::exp(x[1]), std::exp(x[2])};
    for (std::size_t i = 0; i < task.points.size(); ++i)
      residuals[static_cast<Eigen::Index>(i)] =
          std::sqrt(task.weights[i]) * (c.at(task.u(i)) - task.y(i));
    return 0;
  }
  int df(const InputType& x, JacobianType& jacobian) const {
    const double rise = std::exp(x[1]), bend = std::exp(x[2]);
    for (std::size_t i = 0; i < task.points.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      const double root = std::sqrt(task.weights[i]), ratio = task.u(i) / bend, z = 1 / (1 + ratio);
      jacobian(row, 0) = root;
      jacobian(row, 1) = -root * rise * z;
      jacobian(row, 2) = -root * rise * ratio * z * z;
    }
    return 0;
  }
};

/// From there to the best near by; within the same bounds.
Candidate refine(const Task& task, const Candidate& from) {
  if (from.rise < kLeastToLearn) return from;
  Residuals residuals{task};
  Eigen::LevenbergMarquardt<Residuals> solver(residuals);
  solver.parameters.maxfev = 20;
  solver.parameters.ftol = solver.parameters.xtol = 1e-5;
  Eigen::VectorXd x(3);
  x << from.limit, std::log(from.rise), std::log(from.bend);
  solver.minimize(x);
  if (!x.allFinite()) return from;
  const Candidate found = best_for(task, std::clamp(std::exp(x[2]), kEarliestBend, kLatestBend));
  return found.error < from.error ? found : from;
}

double median(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void set_weights(Task& task, const Candidate* curve) {
  const std::size_t n = task.points.size();
  Weights residuals{};
  double deviation = 0;
  if (curve != nullptr) {
    for (std::size_t i = 0; i < n; ++i) residuals[i] = std::abs(curve->at(task.u(i)) - task.y(i));
    Weights sorted = residuals;
    deviation = kMedianToDeviation * kCauchy * median({sorted.data(), n});
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double age = static_cast<double>(n - 1 - i) / static_cast<double>(n - 1);
    const double far = deviation > 0 ? residuals[i] / deviation : 0;
    task.weights[i] = (1 - age / 2) / (1 + far * far);
  }
}

}  // namespace

void CurvePoints::add(const LearningPoint& point) {
  while (!points_.empty() && points_.back().step >= point.step) points_.pop_back();
  points_.push_back(point);
  if (points_.size() <= kMost) return;
  const auto gap = [&](std::size_t i) { return 1 - points_[i - 1].step / points_[i + 1].step; };
  std::size_t closest = 1;  // the first and the newest stay
  for (std::size_t i = 2; i + 1 < points_.size(); ++i)
    if (gap(i) < gap(closest)) closest = i;
  points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(closest));
}

std::optional<Hyperbola> fit_curve(const CurvePoints& told) {
  if (told.size() < kFewestPoints) return {};
  Task task{.points = told.points(), .last = std::max(told.last_step(), kSmallest)};
  double best = 0, largest = kSmallest;
  for (const LearningPoint& point : task.points) {
    best = std::max(best, point.accuracy);
    largest = std::max(largest, std::abs(point.accuracy));
  }
  task.scale = largest;
  task.cap = best <= 1 ? 1 / largest : std::numeric_limits<double>::max();
  set_weights(task, nullptr);
  Candidate curve = search(task);
  curve = refine(task, curve);
  for (int round = 1; round < kRounds && task.points.size() >= kFewestToWeigh; ++round) {
    set_weights(task, &curve);
    curve.error = task.error(curve);
    curve = refine(task, curve);
  }
  const double rise = std::max(curve.rise, kLeastToLearn) * task.scale;
  return Hyperbola{.limit = curve.limit * task.scale,
                   .slope = curve.rise < kLeastToLearn ? 0 : 1 / (rise * curve.bend * task.last),
                   .offset = 1 / rise};
}

}  // namespace trainyard
