// Any bytes as a catalogue of models, as a table of Sia's measurements and as a curve of Sia's: an
// error, or models whose speeds are numbers on any cluster, and accuracies that are numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "perf/describe_models.h"
#include "perf/measurements.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void check_speed(const Catalogue& catalogue, const ModelProfile& model, const Cluster& cluster) {
  const Placement placement{{MachineId{0}, 2}, {MachineId{1}, 1}, {MachineId{2}, 4}};
  const double compute_s = compute_time(catalogue, model, cluster, placement, 1, Shares::equal);
  const double factor = stretch(model, compute_s, spread_of(cluster, placement, 1), cluster.tiers);
  require(std::isfinite(compute_s) && compute_s > 0 && std::isfinite(factor) && factor >= 1);
}

void check_curve(const LearningCurve& curve) {
  require(curve.is_known());
  for (const double share : {0.0, 0.3, 1.0}) require(std::isfinite(curve.at(share)));
  const double to_95 = curve.share_to(0.95);
  require(to_95 >= 0 && to_95 <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Cluster cluster = *parse_cluster_shorthand("2x2x4xV100");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Catalogue catalogue;
  if (const auto ok = catalogue.add_toml(text, "input"); !ok) {
    require(!ok.error().message.empty() && catalogue.models().empty());
  } else {
    require(!list_models(catalogue).empty());
    for (const ModelProfile& model : catalogue.models()) {
      require(!model.speeds.empty() && catalogue.find(model.name) != nullptr);
      require(!describe_model(catalogue, model).empty());
      check_speed(catalogue, model, cluster);
      if (model.curve) check_curve(model.curve->learning_curve());
    }
  }
  if (const auto rows = parse_sia_csv(text, "input"))
    for (const MeasuredIteration& row : *rows)
      require(!row.gpus.empty() && row.step_s > 0 && row.sync_s >= 0);
  if (const auto curve = parse_sia_curve(text, "input")) check_curve(*curve);
  return 0;
}
