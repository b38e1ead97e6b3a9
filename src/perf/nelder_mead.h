// Minimises a function of a few variables without its derivatives: the simplex of Nelder and Mead
// (1965), with their coefficients. A simplex of n + 1 points moves downhill by reflecting its worst
// point through the others, stretches where that pays, and shrinks around a minimum. It finds a
// local one; callers start it from several points.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace trainyard {

struct Minimum {
  std::vector<double> at;
  double value = 0;
};

namespace nelder_mead {

/// centre + t (centre - worst)
inline std::vector<double> along(const std::vector<double>& centre,
                                 const std::vector<double>& worst, double t) {
  std::vector<double> point(centre);
  for (std::size_t i = 0; i < point.size(); ++i) point[i] += t * (centre[i] - worst[i]);
  return point;
}

inline std::vector<double> centre_of_all_but_last(const std::vector<Minimum>& simplex) {
  std::vector<double> centre(simplex.front().at.size(), 0.0);
  for (std::size_t p = 0; p + 1 < simplex.size(); ++p)
    for (std::size_t i = 0; i < centre.size(); ++i)
      centre[i] += simplex[p].at[i] / static_cast<double>(simplex.size() - 1);
  return centre;
}

}  // namespace nelder_mead

template <class Function>
Minimum minimise(Function f, std::vector<double> start, double step, int steps) {
  std::vector<Minimum> simplex{{start, f(start)}};
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::vector<double> point = start;
    point[i] += step;
    simplex.push_back({point, f(point)});
  }
  Minimum& worst = simplex.back();
  for (; steps > 0; --steps) {
    std::ranges::stable_sort(simplex, {}, &Minimum::value);
    const Minimum& best = simplex.front();
    if (worst.value - best.value < 1e-10 * (std::abs(best.value) + 1e-12)) break;
    const auto centre = nelder_mead::centre_of_all_but_last(simplex);
    const auto try_at = [&](double t) {
      auto point = nelder_mead::along(centre, worst.at, t);
      const double value = f(point);
      return Minimum{std::move(point), value};
    };
    Minimum moved = try_at(1);
    if (moved.value < best.value) {
      if (Minimum further = try_at(2); further.value < moved.value) moved = std::move(further);
    } else if (moved.value >= simplex[simplex.size() - 2].value) {
      moved = try_at(moved.value < worst.value ? 0.5 : -0.5);
    }
    if (moved.value < worst.value) {
      worst = std::move(moved);
      continue;
    }
    for (std::size_t p = 1; p < simplex.size(); ++p) {
      for (std::size_t i = 0; i < start.size(); ++i)
        simplex[p].at[i] = (simplex[p].at[i] + simplex[0].at[i]) / 2;
      simplex[p].value = f(simplex[p].at);
    }
  }
  return *std::ranges::min_element(simplex, {}, &Minimum::value);
}

}  // namespace trainyard
