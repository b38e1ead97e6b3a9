#include "model/read_tiers.h"

#include <algorithm>

#include "model/cluster.h"

namespace trainyard {
namespace {

constexpr double kLeastGbps = 1e-6;

void read_link(TableReader& in, Tier& tier) {
  tier.gbps = in.real("gbps", tier.gbps, kLeastGbps, 1e9);
  tier.latency_us = in.real("latency_us", tier.latency_us, 0, 1e6);
  tier.oversubscription = in.real("oversubscription", tier.oversubscription, 1, 1000);
}

/// [network.NAME] over what the tier has by default.
Expected<void> read_tier(TableReader& network, std::string_view origin, Tier& tier) {
  const toml::table* table = network.table(tier.name);
  if (table == nullptr) return {};
  TableReader in(*table, origin);
  read_link(in, tier);
  return in.finish();
}

/// One [[network.group]] above the tiers so far.
Expected<Tier> read_group(const toml::table& table, std::string_view origin, const Tier& defaults,
                          const std::vector<Tier>& below) {
  TableReader in(table, origin);
  Tier tier = defaults;
  tier.oversubscription = 1;
  tier.name = in.text("name", "");
  tier.racks = static_cast<std::uint32_t>(in.whole("racks", 0, 2, kMaxMachines));
  read_link(in, tier);
  if (tier.name.empty()) in.complain("a group without a name; write name = \"pod\"");
  if (tier.racks == 0) in.complain("a group without racks; write racks = 4 for four of them");
  if (tier.name == defaults.name ||
      std::ranges::any_of(below, [&](const Tier& other) { return other.name == tier.name; }))
    in.complain(fmt::format("there are two tiers named {}", quoted(tier.name)));
  const std::uint32_t inner = std::max(1U, below.back().racks);
  if (tier.racks % inner != 0 || tier.racks == inner)
    in.complain(fmt::format("{} has {} racks; it must have two or more times the {} of {}",
                            quoted(tier.name), tier.racks, inner, quoted(below.back().name)));
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  return tier;
}

}  // namespace

Expected<std::vector<Tier>> read_tiers(const toml::table* network, std::string_view origin) {
  std::vector<Tier> tiers = default_tiers();
  if (network == nullptr) return tiers;
  TableReader in(*network, origin);
  for (Tier& tier : tiers)
    if (auto ok = read_tier(in, origin, tier); !ok) return tl::make_unexpected(ok.error());
  const toml::array* groups = in.tables("group");
  if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
  if (groups == nullptr) return tiers;
  const Tier across = tiers.back();
  tiers.pop_back();
  for (const toml::node& node : *groups) {
    auto tier = read_group(*node.as_table(), origin, across, tiers);
    if (!tier) return tl::make_unexpected(tier.error());
    if (tiers.size() + 1 == kMaxTiers)
      return fail("{}:{}: more than {} tiers", origin, node.source().begin.line, kMaxTiers);
    tiers.push_back(std::move(*tier));
  }
  tiers.push_back(across);
  return tiers;
}

}  // namespace trainyard
