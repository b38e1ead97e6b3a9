#include "perf/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "base/stats.h"
#include "perf/nelder_mead.h"

namespace trainyard {
namespace {

int gpus_of(const MeasuredIteration& iteration) {
  return std::accumulate(iteration.gpus.begin(), iteration.gpus.end(), 0);
}

std::set<std::string> held_out_units(const std::vector<MeasuredIteration>& iterations) {
  std::set<std::tuple<std::size_t, int, std::string>> units;
  const bool by_placement =
      std::ranges::any_of(iterations, [](const MeasuredIteration& i) { return i.sync_s >= 0; });
  for (const MeasuredIteration& i : iterations)
    if (!i.extrapolates)
      units.emplace(by_placement ? i.gpus.size() : 0, by_placement ? gpus_of(i) : 0, i.unit);
  std::set<std::string> held_out;
  std::size_t number = 0;
  for (const auto& [machines, gpus, unit] : units)
    if (number++ % 2 == 1) held_out.insert(unit);
  return held_out;
}

bool is_held_out(const MeasuredIteration& iteration, const std::set<std::string>& units) {
  return gpus_of(iteration) > 1 && units.contains(iteration.unit);
}

double median(std::vector<double> values) {
  return values.empty() ? 0 : percentile(values, 0.5);
}

/// The placement over one rack of machines: its links are those of the tiers.
Spread spread_of(const std::vector<int>& gpus, const std::vector<Tier>& tiers) {
  const int most = *std::ranges::max_element(gpus);
  Spread spread = spread_in_machine(tiers, most);
  spread.gpus = std::accumulate(gpus.begin(), gpus.end(), 0);
  if (gpus.size() < 2) return spread;
  spread.tier = kRackTier;
  const Tier& rack = tiers[kRackTier];
  spread.exchanges[kRackTier] = {static_cast<std::int32_t>(gpus.size()), rack.link_gbps(),
                                 rack.latency_us, 0};
  return spread;
}

void learn_compute(const std::vector<const MeasuredIteration*>& training, SpeedFit& fit) {
  std::map<double, std::vector<double>> by_batch;
  std::vector<double> alone;
  for (const MeasuredIteration* i : training) {
    if (i->sync_s >= 0) by_batch[i->batch].push_back(i->step_s - i->sync_s);
    if (i->sync_s < 0 && gpus_of(*i) == 1) by_batch[i->batch].push_back(i->step_s);
    if (i->sync_s >= 0 && gpus_of(*i) == 1) alone.push_back(i->sync_s);
  }
  for (auto& [batch, values] : by_batch) fit.compute_s[batch] = median(std::move(values));
  fit.sync_alone_s = median(std::move(alone));
}

/// What the search moves: logarithms of bandwidths and latencies, and the overlap through a
/// logistic.
constexpr std::size_t kUnknowns = 5;

void set_unknowns(const std::vector<double>& x, SpeedFit& fit) {
  const auto positive = [](double v) { return std::exp(std::clamp(v, -20.0, 30.0)); };
  fit.tiers[kMachineTier].gbps = positive(x[0]);
  fit.tiers[kMachineTier].latency_us = positive(x[1]);
  fit.tiers[kRackTier].gbps = positive(x[2]);
  fit.tiers[kRackTier].latency_us = positive(x[3]);
  fit.model.overlap.value = 1 / (1 + std::exp(-x[4]));
}

/// What synchronisation counts beside the step it is part of, and what is added to it so that the
/// noise of a short one counts little.
constexpr double kSyncWeight = 0.3;
constexpr double kSyncFloor = 0.1;

/// The mean square of log(predicted / measured). A little of every unknown keeps those in bounds
/// that the data say nothing about.
double loss(const std::vector<const MeasuredIteration*>& training, const SpeedFit& fit,
            const std::vector<double>& x) {
  double sum = 0;
  for (const MeasuredIteration* i : training) {
    const auto predicted = fit.predict(*i);
    const double error = std::log(predicted.step_s / i->step_s);
    sum += error * error;
    if (i->sync_s < 0 || gpus_of(*i) == 1) continue;
    const double floor = kSyncFloor * i->step_s;
    const double sync_error = std::log((predicted.sync_s + floor) / (i->sync_s + floor));
    sum += kSyncWeight * sync_error * sync_error;
  }
  double size = 0;
  for (const double v : x) size += v * v;
  return sum / static_cast<double>(training.size()) + 1e-7 * size;
}

Minimum search(const std::vector<const MeasuredIteration*>& training, SpeedFit& fit) {
  const auto value = [&](const std::vector<double>& x) {
    set_unknowns(x, fit);
    return loss(training, fit, x);
  };
  // Gbit/s and us: a network that hardly counts, one that dominates, one of long steps.
  constexpr std::array<std::array<double, kUnknowns>, 3> kStarts{
      {{100, 100, 50, 500, 0}, {20, 1000, 5, 1000, -1}, {50, 20'000, 10, 20'000, -1}}};
  Minimum best{{}, std::numeric_limits<double>::max()};
  for (const auto& start : kStarts) {
    std::vector<double> x(kUnknowns);
    for (std::size_t i = 0; i + 1 < kUnknowns; ++i) x[i] = std::log(start[i]);
    x.back() = start.back();
    Minimum found = minimise(value, x, 1, 800);
    if (found.value < best.value) best = std::move(found);
  }
  set_unknowns(best.at, fit);
  return best;
}

int most_gpus(const std::vector<MeasuredIteration>& iterations) {
  int most = 0;
  for (const MeasuredIteration& i : iterations)
    if (!i.extrapolates) most = std::max(most, gpus_of(i));
  return most;
}

HeldOut held_out_errors(const Measurements& measurements, const SpeedFit& fit) {
  const auto units = held_out_units(measurements.iterations);
  const int learnt_gpus = most_gpus(measurements.iterations);
  HeldOut errors;
  for (const MeasuredIteration& i : measurements.iterations) {
    const auto predicted = fit.predict(i);
    if (predicted.step_s == 0) continue;  // a batch size that was never learnt
    const double error = std::abs(predicted.step_s - i.step_s) / i.step_s;
    if (i.extrapolates && gpus_of(i) > learnt_gpus) errors.larger.push_back(error);
    if (i.extrapolates || !is_held_out(i, units)) continue;
    errors.step.push_back(error);
    if (i.gpus.size() > 1) errors.spread.push_back(error);
    if (i.sync_s <= 0) continue;
    errors.sync.push_back(std::abs(predicted.sync_s - i.sync_s) / i.sync_s);
    if (i.sync_s >= i.step_s / 10) errors.long_sync.push_back(errors.sync.back());
  }
  return errors;
}

}  // namespace

SpeedFit::Prediction SpeedFit::predict(const MeasuredIteration& iteration) const {
  const auto compute = compute_s.find(iteration.batch);
  if (compute == compute_s.end()) return {};
  const IterationTime time =
      iteration_time(model, compute->second, spread_of(iteration.gpus, tiers));
  return {time.total_s() + sync_alone_s, time.exposed_s + sync_alone_s};
}

Errors errors_of(std::vector<double> relative) {
  if (relative.empty()) return {};
  return {relative.size(), percentile(relative, 0.5), percentile(relative, 0.9)};
}

void HeldOut::add(const HeldOut& other) {
  for (const auto part :
       {&HeldOut::step, &HeldOut::sync, &HeldOut::long_sync, &HeldOut::spread, &HeldOut::larger})
    (this->*part).insert((this->*part).end(), (other.*part).begin(), (other.*part).end());
}

Repeats repeat_differences(const Measurements& measurements) {
  std::map<std::pair<std::vector<int>, double>, std::vector<const MeasuredIteration*>> alike;
  for (const MeasuredIteration& i : measurements.iterations) {
    std::vector<int> shape = i.gpus;
    std::ranges::sort(shape);
    if (!i.extrapolates && i.sync_s > 0) alike[{shape, i.batch}].push_back(&i);
  }
  Repeats repeats;
  for (const auto& [key, same] : alike)
    for (const MeasuredIteration* a : same)
      for (const MeasuredIteration* b : same)
        if (a != b) {
          repeats.step.push_back(std::abs(a->step_s - b->step_s) / b->step_s);
          repeats.sync.push_back(std::abs(a->sync_s - b->sync_s) / b->sync_s);
        }
  return repeats;
}

FitReport fit_speed(const Measurements& measurements, double gradient_bytes) {
  const auto units = held_out_units(measurements.iterations);
  std::vector<const MeasuredIteration*> training;
  for (const MeasuredIteration& i : measurements.iterations)
    if (!i.extrapolates && !is_held_out(i, units)) training.push_back(&i);
  SpeedFit fit;
  fit.model.name = measurements.model;
  fit.model.gradient_bytes.value = gradient_bytes;
  learn_compute(training, fit);
  std::erase_if(training,
                [&](const MeasuredIteration* i) { return !fit.compute_s.contains(i->batch); });
  SpeedFit hierarchical = fit;
  hierarchical.model.collective = Collective::hierarchical;
  if (search(training, hierarchical).value < search(training, fit).value) fit = hierarchical;
  return {fit, training.size(), held_out_errors(measurements, fit)};
}

}  // namespace trainyard
