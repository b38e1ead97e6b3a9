// queue.estimates=residual of the reference: all jobs that have finished are listed, and the list
// is gone through whenever something is to be believed.
#include <cmath>
#include <map>

#include "reference_state.h"

namespace trainyard::reference {
namespace {

constexpr double kTrust = 2, kFade = 1.0 / 1024, kSlack = 1.01, kBinsPerOctave = 8;

double rounded_octave(double part) {
  return std::clamp(std::round(std::log2(part) * kBinsPerOctave), -14 * kBinsPerOctave,
                    14 * kBinsPerOctave);
}

struct Bin {
  double jobs = 0, parts = 0;
};

}  // namespace

/// What is expected of those that have finished and are alike, as many jobs of one length a bin,
/// and of what the job itself says: a class counts as two jobs of the next narrower one.
void State::believe(std::size_t j) {
  Train& train = trains[j];
  if (!is_residual || train.is_told) return;
  train.outlived = std::max(train.outlived, work_done(j));
  const auto octave = [&](std::size_t i) {
    return std::floor(std::log2(job(i).estimate.seconds()));
  };
  const auto is_alike = [&](std::size_t i, int width) {
    return width == 2 || (octave(i) == octave(j) && (width == 1 || job(i).user == job(j).user));
  };
  std::map<double, Bin> bins;
  double share = 1;
  for (int width = 0; width < 3; ++width) {
    std::map<double, Bin> own;
    double later = 0, weight = 0;  // jobs of the class that finished since
    for (std::size_t n = finished.size(); n-- > 0;) {
      if (!is_alike(finished[n], width)) continue;
      const double part = static_cast<double>(trains[finished[n]].done.us) /
                          static_cast<double>(job(finished[n]).estimate.us);
      const double counts = std::exp2(-kFade * later++);
      own[rounded_octave(part)].jobs += counts;
      own[rounded_octave(part)].parts += counts * part;
      weight += counts;
    }
    if (width > 0) share *= kTrust / (weight + kTrust);
    for (const auto& [at, bin] : own) {
      bins[at].jobs += share * bin.jobs;
      bins[at].parts += share * bin.parts;
    }
  }
  bins[0].jobs += share * kTrust;
  bins[0].parts += share * kTrust;

  double all = 0, sum = 0, squares = 0;
  for (const auto& [at, bin] : bins) {
    all += bin.jobs;
    sum += bin.parts;
    squares += bin.parts * bin.parts / bin.jobs;
  }
  const double variation = squares / all / (sum / all * sum / all) - 1;

  const auto declared = static_cast<double>(job(j).estimate.us);
  const double outlived = (static_cast<double>(train.outlived.us) - 0.5) / declared;
  std::erase_if(
      bins, [&](const auto& of) { return of.second.parts / of.second.jobs * kSlack < outlived; });
  double length = 2 * outlived, until = outlived * std::exp2(1 / kBinsPerOctave);
  if (!bins.empty()) {
    double jobs = 0, parts = 0;
    for (const auto& [at, bin] : bins) jobs += bin.jobs, parts += bin.parts;
    length = parts / jobs;
    const double soon = until;
    until = bins.begin()->second.parts / bins.begin()->second.jobs * kSlack;
    if (variation > 1) {  // longer than a minute, the more so the longer it has run
      const double run = std::max(outlived, 6e7 / declared),
                   left = std::max(length - outlived, 0.0);
      length = outlived + run * std::pow(left / run, 1 / variation);
      until = std::min(until, std::max(length, soon));
    }
  }
  train.believed = Duration{std::max<std::int64_t>(std::llround(length * declared), 1)};
  train.believed_until = Duration{std::llround(until * declared) + 1};
}

/// What finished is known from now on, and what has outlived its belief gets another.
void State::refresh_beliefs() {
  std::sort(just_finished.begin(), just_finished.end());
  finished.insert(finished.end(), just_finished.begin(), just_finished.end());
  just_finished.clear();
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (belief_ends(j) <= now) believe(j);
}

/// Of a job that runs: at a full minute.
Time State::belief_ends(std::size_t j) const {
  if (!is_residual || trains[j].stage != Stage::running || trains[j].is_told) return Time::never();
  const Time outlived = end_of(j, trains[j].believed_until);
  Time end = Time{} + minutes(outlived.us / minutes(1).us);
  if (end < outlived) end = end + minutes(1);
  return end;
}

void State::revise(std::size_t j, Duration estimate) {
  trains[j].estimate = estimate;
  if (estimate != job(j).estimate) trains[j].is_told = true;
}

Duration State::left(std::size_t j) const {
  const Train& train = trains[j];
  if (!is_residual || train.is_told) return expected_remaining(j);
  return std::max(train.believed - work_done(j), microseconds(1));
}

Time State::leaves_at(std::size_t j) const {
  const Train& train = trains[j];
  return end_of(j, !is_residual || train.is_told ? train.estimate : train.believed);
}

}  // namespace trainyard::reference
