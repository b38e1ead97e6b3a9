#include "network/shared_network.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/split.h"
#include "network/fair_share.h"
#include "perf/speed.h"

namespace trainyard {
namespace {

struct NetworkSetting {
  std::string_view name;
  double NetworkOptions::*value;
  double least, most;
};

constexpr std::array kSettings = {
    NetworkSetting{"loss", &NetworkOptions::loss, 0, 100},
    NetworkSetting{"jitter", &NetworkOptions::jitter, 0, 0.5},
    NetworkSetting{"steps", &NetworkOptions::steps, 0, 10'000},
};

Expected<void> set_model(std::string_view text, NetworkOptions& options) {
  if (text == "fluid") {
    options.model = NetworkOptions::Model::fluid;
  } else if (text == "iteration") {
    options.model = NetworkOptions::Model::iteration;
  } else {
    return fail("network: model={}: it is fluid (the default) or iteration", quoted(text));
  }
  return {};
}

Expected<void> set(std::string_view part, NetworkOptions& options) {
  const std::size_t equals = std::min(part.find('='), part.size());
  const std::string_view key = part.substr(0, equals);
  const std::string_view text = part.substr(std::min(equals + 1, part.size()));
  if (key == "model") return set_model(text, options);
  const auto setting = std::ranges::find(kSettings, key, &NetworkSetting::name);
  if (setting == kSettings.end())
    return fail("network: unknown {}; known are model, loss, jitter and steps", quoted(key));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= setting->least) ||
      value > setting->most)
    return fail("network: {}={}: it is a number from {} to {}", key, quoted(text), setting->least,
                setting->most);
  options.*(setting->value) = value;
  return {};
}

}  // namespace

IterationWork work_of(const Links& links, const Cluster& cluster, const Placement& placement,
                      std::int32_t gpus_per_worker, const Iteration& iteration) {
  return {flow_of(links, cluster, placement, gpus_per_worker, *iteration.model),
          iteration.compute_s, iteration.model->overlap.value};
}

double IterationWork::total_s(double rate) const {
  if (flow.links.empty()) rate = flow.most;
  if (rate <= 0) return std::numeric_limits<double>::infinity();
  const double communication_s = flow.fixed_s + (flow.bytes > 0 ? flow.bytes / rate : 0);
  return compute_s + exposed_time(communication_s, compute_s, overlap);
}

Expected<NetworkOptions> parse_network(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ",");
  NetworkOptions options;
  if (text == "alone") return options;
  if (parts.front() != "shared")
    return fail(
        "network: {}: it is alone, or shared, as in shared,model=iteration,jitter=0.05,loss=0.3",
        quoted(text));
  options.model = NetworkOptions::Model::fluid;
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (auto ok = set(parts[i], options); !ok) return tl::make_unexpected(ok.error());
  if (options.jitter > 0 && options.model == NetworkOptions::Model::fluid)
    return fail("network: jitter is for model=iteration: the fluid model has no iterations");
  if (options.steps > 0 && options.model == NetworkOptions::Model::fluid)
    return fail("network: steps is for model=iteration: the fluid model has no iterations");
  return options;
}

std::vector<LinkUse> ways_up(const Flow& flow) {
  std::vector<LinkUse> up;
  for (const LinkUse& use : flow.links)
    if (index(use.link) % 2 == 0) up.push_back(use);
  return up;
}

std::vector<SharedNetwork::LinkLoad> loads_of(const Links& links, const FairShare& share) {
  std::vector<SharedNetwork::LinkLoad> loads;
  for (std::size_t i = 0; i < links.capacities().size(); ++i) {
    const LinkId link{static_cast<std::uint32_t>(i)};
    const LinkId up{static_cast<std::uint32_t>(i - i % 2)};
    loads.push_back({link, share.used(up), links.capacity(link)});
  }
  return loads;
}

}  // namespace trainyard
