#include "perf/describe_models.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace trainyard {
namespace {

std::string marked(const Figure& figure, double scale = 1) {
  const double value = figure.value / scale;
  return fmt::format("{}{}", figure.assumed() ? "~" : "",
                     value < 1000 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value));
}

/// 203000 rather than 2.03e+05.
std::string samples(const Figure& figure) {
  return fmt::format("{}{:.{}f}", figure.assumed() ? "~" : "", figure.value,
                     figure.value < 100 ? 1 : 0);
}

std::string speed_on(const ModelProfile& model, const std::string& kind) {
  for (const KindSpeed& speed : model.speeds)
    if (plain_name(speed.kind) == plain_name(kind)) return samples(speed.samples_per_s);
  return "-";
}

void add_figure(std::string& text, std::string_view what, const std::string& value,
                const std::string& source) {
  text += fmt::format("  {:<22} {:>12}   {}\n", what, value, source);
}

/// The machines with GPUs of the first such machine's kind.
std::vector<MachineId> machines_alike(const Cluster& cluster) {
  std::vector<MachineId> alike;
  for (std::size_t i = 0; i < cluster.machines.size(); ++i) {
    const Machine& machine = cluster.machines[i];
    if (machine.capacity.gpus == 0) continue;
    const MachineId id{static_cast<std::uint32_t>(i)};
    if (alike.empty() || machine.kind == cluster.machine(alike.front()).kind) alike.push_back(id);
  }
  return alike;
}

/// The first of `machines` that, with the very first, makes a placement span the tier.
std::optional<std::size_t> first_at_tier(const Cluster& cluster,
                                         const std::vector<MachineId>& machines, std::size_t tier) {
  for (std::size_t i = 1; i < machines.size(); ++i)
    if (tier_of(cluster, {{machines[0], 1}, {machines[i], 1}}) == tier) return i;
  return std::nullopt;
}

/// Machines in the order in which a gang that spans the tier takes them: turn by turn from both
/// ends.
std::vector<MachineId> order_for_tier(const Cluster& cluster,
                                      const std::vector<MachineId>& machines, std::size_t tier) {
  if (tier == kMachineTier) return {machines.front()};
  const auto other = first_at_tier(cluster, machines, tier);
  if (!other) return {};
  std::vector<MachineId> order;
  for (std::size_t i = 0; i < *other || *other + i < machines.size(); ++i) {
    if (i < *other) order.push_back(machines[i]);
    if (*other + i < machines.size()) order.push_back(machines[*other + i]);
  }
  return order;
}

/// So many GPUs on a few machines of the order, evenly; empty when they do not fit, or do not span
/// exactly this tier.
Placement gang(const Cluster& cluster, const std::vector<MachineId>& order, std::size_t tier,
               std::int32_t gpus) {
  if (order.empty()) return {};
  const std::int32_t in_machine = cluster.machine(order.front()).capacity.gpus;
  const std::int32_t fewest = tier == kMachineTier ? 1 : 2;
  const std::int32_t count = std::max(fewest, (gpus + in_machine - 1) / in_machine);
  if (static_cast<std::size_t>(count) > order.size() || gpus < count) return {};
  Placement placement;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t workers = gpus / count + (i < gpus % count ? 1 : 0);
    if (workers > cluster.machine(order[static_cast<std::size_t>(i)]).capacity.gpus) return {};
    placement.push_back({order[static_cast<std::size_t>(i)], workers});
  }
  return tier_of(cluster, placement) == tier ? placement : Placement{};
}

std::string speed_cell(const Catalogue& catalogue, const ModelProfile& model,
                       const Cluster& cluster, const Placement& placement) {
  if (placement.empty()) return "-";
  const double compute_s = compute_time(catalogue, model, cluster, placement, 1, Shares::equal);
  const Spread spread = spread_of(cluster, placement, 1);
  return fmt::format("{:.4g} ms, x{:.3f}", iteration_time(model, compute_s, spread).total_s() * 1e3,
                     stretch(model, compute_s, spread, cluster.tiers));
}

}  // namespace

std::string list_models(const Catalogue& catalogue) {
  std::string text = fmt::format("{:<14}{:>8}{:>9}{:>11}{:>7}{:>6}{:>9}{:>7}", "model", "M par.",
                                 "grad. MB", "checkp. MB", "batch", "optim", "overlap", "start");
  for (const KindFactor& kind : catalogue.kinds()) text += fmt::format("{:>12}", kind.kind);
  text += '\n';
  for (const ModelProfile& model : catalogue.models()) {
    text += fmt::format("{:<14}{:>8}{:>9}{:>11.0f}{:>7}{:>6}{:>9}{:>7}", model.name,
                        marked(model.parameters, 1e6), marked(model.gradient_bytes, 1e6),
                        model.checkpoint_bytes() / 1e6, model.batch.value, name(model.optimiser),
                        marked(model.overlap), marked(model.start_up_s));
    for (const KindFactor& kind : catalogue.kinds())
      text += fmt::format("{:>12}", speed_on(model, kind.kind));
    text += '\n';
  }
  return text;
}

std::string describe_model(const Catalogue& catalogue, const ModelProfile& model) {
  std::string text = fmt::format("{}: {}\n", model.name, model.task);
  if (!model.aliases.empty()) text += fmt::format("  also {}\n", fmt::join(model.aliases, ", "));
  add_figure(text, "parameters", fmt::format("{:.4g}", model.parameters.value),
             model.parameters.source);
  add_figure(text, "gradient, MB", fmt::format("{:.4g}", model.gradient_bytes.value / 1e6),
             model.gradient_bytes.source);
  add_figure(text, "largest tensor, share", fmt::format("{:.3g}", model.largest_tensor.value),
             model.largest_tensor.source + (model.skewed() ? " (skewed)" : ""));
  add_figure(text, "checkpoint, MB", fmt::format("{:.4g}", model.checkpoint_bytes() / 1e6),
             fmt::format("{} bytes for each parameter with {}",
                         model.optimiser == Optimiser::sgd ? 8 : 12, name(model.optimiser)));
  add_figure(text, "start-up, s", fmt::format("{:.4g}", model.start_up_s.value),
             model.start_up_s.source);
  if (model.messages.value != 1)
    add_figure(text, "collectives an iteration", fmt::format("{:.4g}", model.messages.value),
               model.messages.source);
  if (model.compute_scale.value != 1)
    add_figure(text, "scale of computing", fmt::format("{:.4g}", model.compute_scale.value),
               model.compute_scale.source);
  add_figure(text, "overlap", fmt::format("{:.3g}", model.overlap.value), model.overlap.source);
  add_figure(text, "batch of a GPU", fmt::format("{:.0f}", model.batch.value), model.batch.source);
  if (model.curve) {
    const ModelCurve& curve = *model.curve;
    add_figure(text, "accuracy at the end",
               fmt::format("{:.3g}", curve.learning_curve().converged()), curve.limit.source);
    add_figure(text, "share of run to 95%", fmt::format("{:.3g}", curve.to_95.value),
               curve.to_95.source);
  }
  text += fmt::format("  {:<22} {:>12}\n\nsamples/s of one GPU:\n", "collective",
                      name(model.collective));
  for (const KindFactor& kind : catalogue.kinds()) {
    const Figure speed = catalogue.samples_per_s(model, kind.kind);
    add_figure(text, kind.kind, samples(speed), speed.source);
  }
  for (const KindSpeed& speed : model.speeds)
    if (std::ranges::none_of(catalogue.kinds(), [&](const KindFactor& kind) {
          return plain_name(kind.kind) == plain_name(speed.kind);
        }))
      add_figure(text, speed.kind, samples(speed.samples_per_s), speed.samples_per_s.source);
  return text;
}

std::string describe_speed(const Catalogue& catalogue, const ModelProfile& model,
                           const Cluster& cluster) {
  const std::vector<MachineId> machines = machines_alike(cluster);
  if (machines.empty()) return fmt::format("{}: no GPUs\n", describe(cluster));
  std::string text = fmt::format(
      "one iteration on {}, by the tier a gang of {} spans:\n  {:>4}", describe(cluster),
      cluster.kinds[index(cluster.machine(machines.front()).kind)], "GPUs");
  for (const Tier& tier : cluster.tiers) text += fmt::format("  {:>20}", tier.name);
  for (std::int32_t gpus = 1; gpus <= std::min(cluster.total_gpus, 512); gpus *= 2) {
    text += fmt::format("\n  {:>4}", gpus);
    for (std::size_t tier = 0; tier < cluster.tiers.size(); ++tier)
      text += fmt::format(
          "  {:>20}",
          speed_cell(catalogue, model, cluster,
                     gang(cluster, order_for_tier(cluster, machines, tier), tier, gpus)));
  }
  return text + "\n(x: against the same GPUs in one machine)\n";
}

}  // namespace trainyard
