#include "perf/describe_fit.h"

#include <filesystem>
#include <iterator>

#include "perf/fit.h"

namespace trainyard {
namespace {

struct ArtifactName {
  std::string_view artifact, catalogue;
};

/// What Sia calls its models. gpt_pmp, a pipeline, has no entry.
constexpr ArtifactName kSiaNames[] = {{"bert", "BERT-base"},     {"cifar10", "ResNet-18"},
                                      {"imagenet", "ResNet-50"}, {"ncf", "NCF"},
                                      {"yolov3", "YOLOv3"},      {"deepspeech2", "DeepSpeech2"}};
constexpr double kUnknownGradientBytes = 100e6;

double gradient_bytes(const Catalogue& catalogue, std::string_view model) {
  for (const auto& [artifact, name] : kSiaNames)
    if (artifact == model) model = name;
  const ModelProfile* profile = catalogue.find(model);
  return profile == nullptr ? kUnknownGradientBytes : profile->gradient_bytes.value;
}

std::string percent(const std::vector<double>& values) {
  if (values.empty()) return fmt::format("{:>16}", "-");
  const Errors errors = errors_of(values);
  return fmt::format("{:>6} {:>4.1f} {:>4.0f}", errors.count, errors.median * 100,
                     errors.p90 * 100);
}

/// count, median and p90 in percent of each.
std::string errors_line(const HeldOut& errors) {
  return percent(errors.step) + percent(errors.spread) + percent(errors.sync) +
         percent(errors.long_sync) + percent(errors.larger);
}

std::string header() {
  return fmt::format("{:<14}{:<9}{:<13}{:>7}{:>16}{:>16}{:>16}{:>16}{:>16}\n", "model", "system",
                     "collective", "overlap", "steps", "of >1 machine", "sync", "sync >=10%",
                     "more GPUs");
}

std::string fit_line(const Measurements& measurements, const FitReport& report) {
  return fmt::format("{:<14}{:<9}{:<13}{:>7.2f}{}\n", measurements.model, measurements.system,
                     name(report.fit.model.collective), report.fit.model.overlap.value,
                     errors_line(report.errors));
}

std::string total_line(std::string_view model, const HeldOut& errors) {
  return fmt::format("{:<43}{}\n", model, errors_line(errors));
}

/// One line a fit, one a model, one for all.
std::string fit_all(const Catalogue& catalogue, const std::vector<Measurements>& all) {
  std::string lines, totals;
  HeldOut everything, of_model;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FitReport report = fit_speed(all[i], gradient_bytes(catalogue, all[i].model));
    everything.add(report.errors);
    of_model.add(report.errors);
    if (!report.errors.step.empty()) lines += fit_line(all[i], report);
    if (i + 1 < all.size() && all[i + 1].model == all[i].model) continue;
    if (!of_model.step.empty()) totals += total_line(all[i].model + ", all systems", of_model);
    of_model = {};
  }
  return header() + lines + totals + total_line("all", everything);
}

std::string repeats_line(const std::vector<Measurements>& all) {
  Repeats repeats;
  for (const Measurements& measurements : all) {
    const Repeats more = repeat_differences(measurements);
    std::ranges::copy(more.step, std::back_inserter(repeats.step));
    std::ranges::copy(more.sync, std::back_inserter(repeats.sync));
  }
  return fmt::format(
      "The same placement in another order (13 and 31): steps differ by {:.1f}%, sync by {:.1f}%, "
      "in the median.\n",
      errors_of(repeats.step).median * 100, errors_of(repeats.sync).median * 100);
}

}  // namespace

Expected<std::string> describe_fit(const Catalogue& catalogue, const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string sia = (fs::path(folder) / "sia").string();
  const std::string gavel = (fs::path(folder) / "gavel" / "simulation_throughputs.json").string();
  std::error_code ignored;
  std::string text;
  if (fs::exists(sia, ignored)) {
    const auto all = read_sia(sia);
    if (!all) return tl::make_unexpected(all.error());
    text += "Sia, half of the placements held out. Each: how many, median and p90 error in %.\n" +
            fit_all(catalogue, *all) + repeats_line(*all);
  }
  if (fs::exists(gavel, ignored)) {
    const auto all = read_gavel(gavel);
    if (!all) return tl::make_unexpected(all.error());
    text += fmt::format(
        "{}Gavel, half of the batch sizes held out; \"of >1 machine\" are its unconsolidated "
        "rows.\n",
        text.empty() ? "" : "\n");
    text += fit_all(catalogue, *all);
  }
  if (text.empty())
    return fail("{}: neither sia/ nor gavel/simulation_throughputs.json is in it", folder);
  return text;
}

}  // namespace trainyard
