#include "live/job/constraint.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/split.h"

namespace trainyard {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// In small letters, with one "_" for all that is neither letter nor digit.
std::string normal(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (is_word_character(c))
      made += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!made.empty() && made.back() != '_')
      made += '_';
  }
  if (made.ends_with('_')) made.pop_back();
  return made;
}

void add_once(std::string name, std::vector<std::string>& names) {
  if (!name.empty() && std::ranges::find(names, name) == names.end())
    names.push_back(std::move(name));
}

/// By which a kind of GPU goes: the whole first, then its words.
std::vector<std::string> names_of(std::string_view kind) {
  const std::string whole = normal(kind);
  std::vector<std::string> names{whole};
  for (const std::string_view word : split(whole, "_")) add_once(std::string(word), names);
  return names;
}

}  // namespace

Expected<Constraint> parse_constraint(std::string_view text) {
  std::string_view inner = text;
  if (inner.starts_with('[') && inner.ends_with(']')) inner = inner.substr(1, inner.size() - 2);
  Constraint constraint;
  for (const std::string_view alternative : split(inner, "|")) {
    auto& features = constraint.emplace_back();
    for (const std::string_view word : split(alternative, "&,")) {
      const bool is_plain = word.find_first_of("[]()*! \t\"'") == std::string_view::npos;
      if (!is_plain || normal(word).empty())
        return fail("{} is not a constraint; write features, with & or | between: a100, a100|h100",
                    quoted(text));
      features.push_back(normal(word));
    }
  }
  return constraint;
}

std::vector<std::string> features_of(const Cluster& cluster, const Machine& machine) {
  std::vector<std::string> features = names_of(cluster.kinds[index(machine.kind)]);
  add_once(normal(machine.name), features);
  return features;
}

Expected<KindId> kind_named(std::string_view name, const Cluster& cluster) {
  const std::string wanted = normal(name);
  std::vector<std::string> found;
  KindId kind = kAnyKind;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const KindId here{static_cast<std::uint16_t>(k)};
    const auto names = names_of(cluster.kinds[k]);
    if (names.front() == wanted) return here;
    if (std::ranges::find(names, wanted) == names.end()) continue;
    found.push_back(cluster.kinds[k]);
    kind = here;
  }
  if (found.empty())
    return fail("asks for GPUs of kind {}, and there are only: {}", quoted(name),
                fmt::join(cluster.kinds, ", "));
  if (found.size() > 1)
    return fail("asks for GPUs of kind {}, and there are several: name one of {}", quoted(name),
                fmt::join(found, ", "));
  return kind;
}

std::string unmet(std::string_view constraint, const Cluster& cluster, const Machine& machine) {
  if (constraint.empty()) return {};
  const auto features = features_of(cluster, machine);
  const auto wanted = parse_constraint(constraint);
  const auto has = [&](const std::string& feature) {
    return std::ranges::find(features, feature) != features.end();
  };
  if (wanted &&
      std::ranges::any_of(*wanted, [&](const auto& all) { return std::ranges::all_of(all, has); }))
    return {};
  return fmt::format("asks for a machine with {}, and {} has only: {}", quoted(constraint),
                     machine.name, fmt::join(features, ", "));
}

}  // namespace trainyard
