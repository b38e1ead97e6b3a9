#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace trainyard {
namespace {

/// "a=1,b=2" with `key` set to `value`, where it stands or at the end.
std::string with_key(std::string_view settings, std::string_view key, std::string_view value) {
  std::string result;
  bool found = false;
  const auto add = [&](std::string_view text) {
    result += (result.empty() ? "" : ",") + std::string(text);
  };
  while (!settings.empty()) {
    const std::string_view one = settings.substr(0, settings.find(','));
    settings.remove_prefix(std::min(settings.size(), one.size() + 1));
    const bool is_key = one.substr(0, one.find('=')) == key;
    found = found || is_key;
    add(is_key ? fmt::format("{}={}", key, value) : std::string(one));
  }
  if (!found) add(fmt::format("{}={}", key, value));
  return result;
}

void set(StudyPolicy& policy, const std::string& name, const std::string& value) {
  const auto is_it = [&](const std::string& setting) { return setting.starts_with(name + "="); };
  const auto at = std::ranges::find_if(policy.settings, is_it);
  const std::string setting = fmt::format("{}={}", name, value);
  if (at == policy.settings.end())
    policy.settings.push_back(setting);
  else
    *at = setting;
}

}  // namespace

double Outcome::metric(std::string_view policy, std::string_view name) const {
  const auto metrics = by_policy_.find(policy);
  if (metrics == by_policy_.end())
    throw std::logic_error(fmt::format("the study has no policy '{}'", policy));
  const auto value = metrics->second->find(name);
  if (value == metrics->second->end())
    throw std::logic_error(fmt::format("a run has no metric '{}'", name));
  return value->second;
}

Change policy_setting(const std::vector<std::string>& labels, const std::string& setting) {
  return [=](Condition& condition, const std::string& value) {
    for (const std::string& label : labels) {
      const auto policy = std::ranges::find(condition.policies, label, &StudyPolicy::label);
      if (policy == condition.policies.end())
        throw std::logic_error(fmt::format("the study has no policy '{}'", label));
      set(*policy, setting, value);
    }
  };
}

Change workload_key(const std::string& key) {
  return [=](Condition& condition, const std::string& value) {
    const std::string_view workload = condition.workload;
    const std::size_t colon = std::min(workload.find(':'), workload.size());
    const std::string_view settings = workload.substr(std::min(colon + 1, workload.size()));
    condition.workload =
        fmt::format("{}:{}", workload.substr(0, colon), with_key(settings, key, value));
  };
}

Sweep map_sweep(const std::string& title, const SweepWay& down, const SweepWay& across,
                std::vector<SweepMap::Region> regions, std::vector<std::string> measures) {
  constexpr std::string_view kBetween = " / ";
  Sweep sweep{title, fmt::format("{}{}{}", down.axis, kBetween, across.axis), {}, {}, {}, {}};
  sweep.change = [down = down.change, across = across.change, kBetween](Condition& condition,
                                                                        const std::string& pair) {
    const std::size_t at = pair.find(kBetween);
    down(condition, pair.substr(0, at));
    across(condition, pair.substr(at + kBetween.size()));
  };
  for (const std::string& row : down.values)
    for (const std::string& column : across.values)
      sweep.values.push_back(fmt::format("{}{}{}", row, kBetween, column));
  sweep.measures = std::move(measures);
  sweep.map = SweepMap{down.axis, across.axis, down.values, across.values, std::move(regions)};
  return sweep;
}

}  // namespace trainyard
