#include "forecast/track_record.h"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

constexpr Duration kLeast = minutes(1);
/// Where all draws agree there is no scale: then it is that of 2%.
constexpr double kLeastWidth = 0.02;

double log_of(Duration wait) {
  return std::log((std::max(wait, Duration{}) + kLeast).seconds());
}

Duration from_log(double log) {
  const double s = std::exp(std::min(log, 25.0)) - kLeast.seconds();
  return Duration{std::llround(std::max(s, 0.0) * 1e6)};
}

/// A band on the logarithmic scale.
struct LogBand {
  LogBand(const TimeBand& band, Time now)
      : middle(log_of(band.p50 - now)),
        below(std::max(middle - log_of(band.p10 - now), kLeastWidth)),
        above(std::max(log_of(band.p90 - now) - middle, kLeastWidth)) {}

  double middle, below, above;
};

struct Miss {
  double u, weight;
  bool is_over;  // false: the job still waits
};

/// Kaplan and Meier's quantiles of 0.1 and 0.9; beyond all that is known, the largest.
BandScale tenths_of(std::vector<Miss>& all) {
  std::ranges::sort(all, [](const Miss& a, const Miss& b) {
    return a.u != b.u ? a.u < b.u : a.is_over > b.is_over;
  });
  double left = 0, later = 1, early = all.back().u, late = all.back().u;
  for (const Miss& miss : all) left += miss.weight;
  for (const Miss& miss : all) {
    const double before = later;
    if (miss.is_over) later *= std::max(1 - miss.weight / left, 0.0);
    left = std::max(left - miss.weight, 1e-9);
    if (before > 0.9 && later <= 0.9) early = miss.u;
    if (before > 0.1 && later <= 0.1) late = miss.u;
  }
  return {std::min(early, 0.0), std::max(late, 0.0)};
}

}  // namespace

TimeBand BandScale::promised(const TimeBand& drawn, Time now) const {
  if (drawn.p50 == Time::never() || (early_ == -1 && late_ == 1)) return drawn;
  const LogBand band(drawn, now);
  const auto at = [&](double u) {
    return u == 0 ? drawn.p50 : now + from_log(band.middle + u * (u < 0 ? band.below : band.above));
  };
  return {std::min(at(early_), drawn.p50), drawn.p50,
          drawn.p90 == Time::never() ? drawn.p90 : std::max(at(late_), drawn.p50)};
}

void TrackRecord::promise(std::int64_t job, Time made, const TimeBand& drawn) {
  if (drawn.p90 == Time::never()) return;
  open_[job] = dropped_ + promises_.size();
  promises_.push_back({job, made, drawn});
  if (promises_.size() <= kMost) return;
  if (find_open(promises_.front().job) == &promises_.front()) open_.erase(promises_.front().job);
  promises_.pop_front();
  ++dropped_;
}

TrackRecord::Promise* TrackRecord::find_open(std::int64_t job) {
  const auto open = open_.find(job);
  return open == open_.end() ? nullptr : &promises_[open->second - dropped_];
}

void TrackRecord::started(std::int64_t job, Time at) {
  if (Promise* promise = find_open(job)) promise->start = at;
  open_.erase(job);
}

void TrackRecord::withdraw(std::int64_t job) {
  if (Promise* promise = find_open(job)) promise->counts = false;
  open_.erase(job);
}

BandScale TrackRecord::scale(Time now) const {
  std::vector<Miss> all{{-1, 0.2 * kTrust, true}, {0, 0.6 * kTrust, true}, {1, 0.2 * kTrust, true}};
  for (const Promise& each : promises_) {
    if (!each.counts) continue;
    const bool is_over = each.start <= now;
    const LogBand band(each.drawn, each.made);
    const double off = log_of((is_over ? each.start : now) - each.made) - band.middle;
    all.push_back({off / (off < 0 ? band.below : band.above), 1, is_over});
  }
  return tenths_of(all);
}

}  // namespace trainyard
