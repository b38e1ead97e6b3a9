#include "policy/length_table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace trainyard {
namespace {

std::size_t bin_of(double part) {
  constexpr double kMiddle = LengthTable::kOctaves * LengthTable::kPerOctave;
  const double at = std::round(std::log2(part) * LengthTable::kPerOctave) + kMiddle;
  return static_cast<std::size_t>(std::clamp(at, 0.0, 2 * kMiddle));
}

}  // namespace

void LengthTable::add(double part) {
  // Half as much after kMemory more jobs: enough to know of the one in a hundred that is long.
  constexpr double kMemory = 1024;
  static const double kFade = std::exp2(-1 / kMemory);
  weight_ = weight_ * kFade + 1;
  for (Bin& bin : bins_) bin.weight *= kFade, bin.sum *= kFade;
  const std::size_t at = bin_of(part);
  auto bin = std::ranges::lower_bound(bins_, at, {}, &Bin::at);
  if (bin == bins_.end() || bin->at != at) bin = bins_.insert(bin, {at, 0, 0});
  bin->weight += 1;
  bin->sum += part;
}

std::vector<double> LengthTable::numbers() const {
  std::vector<double> all{weight_};
  for (const Bin& bin : bins_)
    all.insert(all.end(), {static_cast<double>(bin.at), bin.weight, bin.sum});
  return all;
}

std::optional<LengthTable> LengthTable::from(std::span<const double> numbers) {
  if (numbers.size() < 4 || numbers.size() % 3 != 1 || numbers[0] <= 0) return {};
  LengthTable table;
  table.weight_ = numbers[0];
  for (std::size_t i = 1; i < numbers.size(); i += 3) {
    const double at = numbers[i], weight = numbers[i + 1], sum = numbers[i + 2];
    const double least = table.bins_.empty() ? 0 : static_cast<double>(table.bins_.back().at) + 1;
    if (at < least || at >= kBins || at != std::floor(at) || weight <= 0 || sum <= 0) return {};
    table.bins_.push_back({static_cast<std::size_t>(at), weight, sum});
  }
  return table;
}

LengthMixture::LengthMixture(std::span<const LengthTable* const> classes) {
  std::array<Mass, LengthTable::kBins> bins{};
  double share = 1;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (i > 0) share *= LengthTable::kTrust / (classes[i]->weight() + LengthTable::kTrust);
    for (const LengthTable::Bin& bin : classes[i]->bins()) {
      bins[bin.at].weight += share * bin.weight;
      bins[bin.at].sum += share * bin.sum;
    }
  }
  Mass& declared = bins[bin_of(1)];
  declared.weight += share * LengthTable::kTrust;
  declared.sum += share * LengthTable::kTrust;

  Mass all;
  double squares = 0;  // of all x
  for (const Mass& mass : bins) {
    if (mass.weight == 0) continue;
    masses_.push_back(mass);
    all.weight += mass.weight;
    all.sum += mass.sum;
    squares += mass.sum * mass.sum / mass.weight;
  }
  variation_ = squares * all.weight / (all.sum * all.sum) - 1;
}

LengthOutlook LengthMixture::outlook(double outlived, double moment) const {
  const auto end_of = [](const Mass& mass) { return mass.sum / mass.weight * LengthTable::kSlack; };
  const auto first = std::ranges::lower_bound(masses_, outlived, {}, end_of);
  const double until = first == masses_.end() ? 0 : end_of(*first);
  Mass later;
  for (auto mass = first; mass != masses_.end(); ++mass) {
    later.weight += mass->weight;
    later.sum += mass->sum;
  }
  const double soon = outlived * std::exp2(1.0 / LengthTable::kPerOctave);
  if (until == 0) return {2 * outlived, soon};
  const double mean = later.sum / later.weight;
  if (variation_ <= 1) return {mean, until};
  const double left = std::pow(std::max(mean - outlived, 0.0), 1 / variation_) *
                      std::pow(std::max(outlived, moment), 1 - 1 / variation_);
  return {outlived + left, std::min(until, std::max(outlived + left, soon))};
}

}  // namespace trainyard
