#include "study/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

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

/// Candidates for ticks within [low, high], those most worth having first.
std::vector<std::vector<double>> number_candidates(double low, double high) {
  std::vector<std::vector<double>> ranks(2);
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= last; ++power) {
    const double decade = std::pow(10, power);
    ranks[0].push_back(decade);
    ranks[1].push_back(2 * decade);
    ranks[1].push_back(5 * decade);
  }
  return ranks;
}

std::vector<std::vector<double>> time_candidates(double high) {
  std::vector<std::vector<double>> ranks{{1e-3, 1, kMinute, kHour, kDay},
                                         {1e-2, 1e-1, 10, 10 * kMinute},
                                         {6 * kHour},
                                         {2, 5, 30, 2 * kMinute, 5 * kMinute, 30 * kMinute,
                                          2 * kHour, 12 * kHour, 2 * kDay, 5 * kDay}};
  for (double days = 10; days * kDay <= high; days *= 10) ranks[1].push_back(days * kDay);
  return ranks;
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, std::size_t most, Unit unit) {
  const double least_step = (high - low) / static_cast<double>(most - 1);
  const double step =
      unit == Unit::seconds ? round_up_time_step(least_step) : round_up_step(least_step);
  std::vector<Tick> ticks;
  const double end = std::floor(high / step + 1e-9);
  for (double i = std::ceil(low / step - 1e-9); i <= end && ticks.size() < most; ++i)
    ticks.push_back({i * step, label(i == 0 ? 0 : i * step, step, unit)});
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, double gap, Unit unit) {
  const double distance = gap * std::log(high / low);
  std::vector<double> chosen;
  const auto is_free = [&](double value) {
    return value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9) &&
           std::ranges::none_of(
               chosen, [&](double other) { return std::abs(std::log(value / other)) < distance; });
  };
  const bool time = unit == Unit::seconds;
  const std::size_t enough = time ? 6 : 3;
  for (const auto& rank : time ? time_candidates(high) : number_candidates(low, high)) {
    if (chosen.size() >= enough) break;
    for (const double value : rank)
      if (is_free(value)) chosen.push_back(value);
  }
  // Within less than a few doublings equal steps say more.
  if (chosen.size() < 3 && high / low < 20)
    return linear_ticks(low, high, static_cast<std::size_t>(std::max(2.0, 1 / (2 * gap))), unit);
  std::ranges::sort(chosen);
  std::vector<Tick> ticks;
  for (const double value : chosen) ticks.push_back({value, label(value, value, unit)});
  return ticks;
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
