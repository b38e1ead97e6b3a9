// queue.estimates=residual of the reference: all jobs that have finished are listed, and the list
// is gone through whenever something is to be believed.
#include <cmath>
#include <map>
#include <set>

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

double faded(double jobs_later) {
  return std::exp2(-kFade * jobs_later);
}

}  // namespace

/// Those of the same user that declare about as much, everybody's that do, and all.
State::AlikeKey State::alike(std::size_t j, int width) const {
  const double octave = std::floor(std::log2(job(j).estimate.seconds()));
  return {width, width == 0 ? static_cast<double>(index(job(j).user)) : 0, width < 2 ? octave : 0};
}

/// In the order in which they were learnt from.
Jobs State::finished_alike(const AlikeKey& key) const {
  Jobs jobs;
  for (const std::size_t j : finished)
    if (alike(j, std::get<0>(key)) == key) jobs.push_back(j);
  return jobs;
}

/// What is expected of those that have finished and are alike, as many jobs of one length a bin,
/// and of what the job itself says: a class counts as two jobs of the next narrower one.
void State::believe(std::size_t j) {
  Train& train = trains[j];
  if (!is_residual || train.is_told) return;
  train.outlived = std::max(train.outlived, work_done(j));
  std::map<double, Bin> bins;
  double share = 1;
  for (int width = 0; width < 3; ++width) {
    std::map<double, Bin> own;
    Jobs known = finished_alike(alike(j, width));
    known.resize(told_of[alike(j, width)]);
    double weight = 0;
    for (std::size_t n = 0; n < known.size(); ++n) {
      const double part = static_cast<double>(trains[known[n]].done.us) /
                          static_cast<double>(job(known[n]).estimate.us);
      const double counts = faded(static_cast<double>(known.size() - 1 - n));
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

/// What finished is known from now on. A class tells of it when half as many jobs as it told of
/// have come to it, and what it has told to those that wait is believed anew then; so is what a job
/// that runs has outlived.
void State::refresh_beliefs() {
  std::sort(just_finished.begin(), just_finished.end());
  std::set<AlikeKey> news;
  for (const std::size_t j : just_finished) {
    finished.push_back(j);
    for (int width = 0; width < 3; ++width) {
      const AlikeKey key = alike(j, width);
      double told = 0;
      for (std::size_t n = 0; n < told_of[key]; ++n) told += faded(static_cast<double>(n));
      const std::size_t all = finished_alike(key).size();
      if (static_cast<double>(all - told_of[key]) < told / 2) continue;
      told_of[key] = all;
      news.insert(key);
    }
  }
  just_finished.clear();
  for (std::size_t j = 0; j < trains.size(); ++j) {
    bool hears_news = false;
    for (int width = 0; width < 3; ++width)
      hears_news = hears_news || news.contains(alike(j, width));
    if (belief_ends(j) <= now || (hears_news && trains[j].stage == Stage::queued)) {
      const Duration before = work_of({j});
      believe(j);
      note_less(j, before);
    }
  }
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
  const Duration before = work_of({j});
  trains[j].estimate = estimate;
  if (estimate != job(j).estimate) trains[j].is_told = true;
  note_less(j, before);
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
