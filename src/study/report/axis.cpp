#include "study/report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

constexpr double kMinute = 60, kHour = 3600, kDay = 86'400;
constexpr double kZeroStrip = 0.08;  // share of the axis

/// The largest unit that `step` is a whole number of, so that all labels of an axis share one.
std::string time_label(double s, double step) {
  struct Named {
    double s;
    std::string_view name;
  };
  constexpr std::array kUnits{Named{kDay, "d"}, Named{kHour, "h"}, Named{kMinute, "min"},
                              Named{1, "s"}, Named{1e-3, "ms"}};
  if (s == 0) return "0";
  const auto unit = std::ranges::find_if(kUnits, [&](const Named& u) { return step >= u.s; });
  const Named& used = unit == kUnits.end() ? kUnits.back() : *unit;
  return fmt::format("{:.6g} {}", s / used.s, used.name);
}

std::string number_label(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return fmt::format("{:.3g}", value);
  if (size >= 1e9) return fmt::format("{:.4g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.4g}k", value / 1e3);
  return fmt::format("{:.6g}", value);
}

std::string label(double value, double step, Unit unit) {
  switch (unit) {
    case Unit::seconds:
      return time_label(value, step);
    case Unit::share:
      return fmt::format("{:.4g}%", 100 * value);
    case Unit::number:
      break;
  }
  return number_label(value);
}

/// The smallest of 1, 2, 2.5, 5, 10 times a power of ten that is at least `step`.
double round_up_step(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

double round_up_time_step(double step) {
  constexpr std::array kSteps{1.0,          2.0,          5.0,         10.0,        15.0,
                              30.0,         kMinute,      2 * kMinute, 5 * kMinute, 10 * kMinute,
                              15 * kMinute, 30 * kMinute, kHour,       2 * kHour,   3 * kHour,
                              6 * kHour,    12 * kHour};
  if (step < 1) return round_up_step(step);
  const auto* const found = std::ranges::find_if(kSteps, [&](double s) { return s >= step; });
  return found == kSteps.end() ? std::max(1.0, round_up_step(step / kDay)) * kDay : *found;
}

/// A value that a tick of a logarithmic axis may stand at; those of a lower rank are better known.
struct Rung {
  double at;
  int rank;
};

/// 1, 2, 5 and their tens.
void add_decades(std::vector<Rung>& ladder, double unit, int from, int to) {
  for (int power = from; power <= to; ++power) {
    const double decade = unit * std::pow(10, power);
    ladder.insert(ladder.end(), {{decade, 0}, {2 * decade, 1}, {5 * decade, 1}});
  }
}

/// Every rung there is around [low, high], in order.
std::vector<Rung> ladder_for(double low, double high, Unit unit) {
  std::vector<Rung> ladder;
  const auto power_of = [](double value) {
    return static_cast<int>(std::floor(std::log10(value)));
  };
  if (unit != Unit::seconds) {
    add_decades(ladder, 1, power_of(low) - 1, power_of(high) + 1);
    return ladder;
  }
  add_decades(ladder, 1, std::min(power_of(low), 0) - 1, -1);
  ladder.insert(ladder.end(), {{1, 0},
                               {2, 3},
                               {5, 3},
                               {10, 1},
                               {30, 3},
                               {kMinute, 0},
                               {2 * kMinute, 3},
                               {5 * kMinute, 3},
                               {10 * kMinute, 1},
                               {30 * kMinute, 3},
                               {kHour, 0},
                               {2 * kHour, 3},
                               {6 * kHour, 2},
                               {12 * kHour, 3}});
  add_decades(ladder, kDay, 0, std::max(power_of(high / kDay), 0) + 1);
  return ladder;
}

/// The part of the ladder that reaches from low to high and no further.
std::span<const Rung> reaching(const std::vector<Rung>& ladder, double low, double high) {
  const auto first = std::ranges::upper_bound(ladder, low * (1 + 1e-9), {}, &Rung::at) - 1;
  const auto last = std::ranges::lower_bound(ladder, high * (1 - 1e-9), {}, &Rung::at);
  return {first, last + 1};
}

/// Both ends, then the better known ones where there is room, until there are enough.
std::vector<double> chosen_rungs(std::span<const Rung> ladder, double gap, std::size_t enough) {
  std::vector<double> chosen{ladder.front().at, ladder.back().at};
  const double distance = gap * std::log(chosen[1] / chosen[0]);
  for (int rank = 0; rank <= 3 && chosen.size() < enough; ++rank) {
    for (const Rung& rung : ladder) {
      const bool is_free = std::ranges::none_of(
          chosen, [&](double other) { return std::abs(std::log(rung.at / other)) < distance; });
      if (rung.rank == rank && is_free) chosen.push_back(rung.at);
    }
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, std::size_t most, Unit unit) {
  const auto round_up = unit == Unit::seconds ? round_up_time_step : round_up_step;
  double step = round_up((high - low) / static_cast<double>(most - 1));
  const auto first = [&] { return std::floor(low / step + 1e-9); };
  const auto last = [&] { return std::ceil(high / step - 1e-9); };
  while (last() - first() >= static_cast<double>(most)) step = round_up(1.01 * step);
  std::vector<Tick> ticks;
  for (double i = first(); i <= last(); ++i)
    ticks.push_back({i * step, label(i == 0 ? 0 : i * step, step, unit)});
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, double gap, Unit unit) {
  // Within two doublings equal steps say more.
  if (high / low < 4) {
    const auto most = static_cast<std::size_t>(std::max(3.0, 1 / (2 * gap)));
    auto ticks = linear_ticks(low, high, most, unit);
    if (ticks.front().at > 0) return ticks;
  }
  const std::vector<Rung> ladder = ladder_for(low, high, unit);
  const std::size_t enough = unit == Unit::seconds ? 6 : 4;
  std::vector<Tick> ticks;
  for (const double value : chosen_rungs(reaching(ladder, low, high), gap, enough))
    ticks.push_back({value, label(value, value, unit)});
  return ticks;
}

std::string value_label(double value, Unit unit) {
  constexpr std::array kUnits{std::pair{kDay, "d"}, std::pair{kHour, "h"},
                              std::pair{kMinute, "min"}, std::pair{1.0, "s"}};
  if (unit == Unit::share) return fmt::format("{:.3g}%", 100 * value);
  if (unit == Unit::number) return fmt::format("{:.4g}", value);
  for (const auto& [s, name] : kUnits)
    if (value >= 2 * s) return fmt::format("{:.3g} {}", value / s, name);
  return fmt::format("{:.3g} s", value);
}

Projection::Projection(Scale scale, double low, double high, double from_px, double to_px,
                       bool zero_strip)
    : scale_(scale),
      low_(low),
      high_(high),
      zero_px_(from_px),
      from_px_(zero_strip ? from_px + kZeroStrip * (to_px - from_px) : from_px),
      to_px_(to_px) {}

double Projection::operator()(double value) const {
  if (scale_ == Scale::log && value <= 0) return zero_px_;
  const double clamped = std::clamp(value, low_, high_);
  const double share = scale_ == Scale::log ? std::log(clamped / low_) / std::log(high_ / low_)
                                            : (clamped - low_) / (high_ - low_);
  return from_px_ + share * (to_px_ - from_px_);
}

}  // namespace trainyard
