#include "model/constraint.h"

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

/// All but its name.
std::vector<std::string> shared_features(std::string_view kind,
                                         const std::vector<std::string>& declared) {
  std::vector<std::string> features = names_of(kind);
  for (const std::string& feature : declared) add_once(normal(feature), features);
  return features;
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

std::string describe(const Constraint& constraint) {
  std::vector<std::string> alternatives;
  for (const auto& features : constraint)
    alternatives.push_back(fmt::format("{}", fmt::join(features, "&")));
  return fmt::format("{}", fmt::join(alternatives, "|"));
}

std::vector<std::string> features_of(std::string_view name, std::string_view kind,
                                     const std::vector<std::string>& declared) {
  std::vector<std::string> features = shared_features(kind, declared);
  add_once(normal(name), features);
  return features;
}

std::vector<std::string> features_of(const Cluster& cluster, const Machine& machine) {
  return features_of(machine.name, cluster.kinds[index(machine.kind)], machine.features);
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

bool meets(const Constraint& constraint, const std::vector<std::string>& features) {
  const auto has = [&](const std::string& feature) {
    return std::ranges::find(features, feature) != features.end();
  };
  return constraint.empty() || std::ranges::any_of(constraint, [&](const auto& all) {
           return std::ranges::all_of(all, has);
         });
}

bool meets(const Constraint& constraint, const Cluster& cluster, const Machine& machine) {
  return constraint.empty() || meets(constraint, features_of(cluster, machine));
}

std::string describe_features(const Cluster& cluster) {
  constexpr std::size_t kMostGroups = 8;
  std::vector<std::string> groups;
  const std::vector<Machine>& machines = cluster.machines;
  const auto are_alike = [](const Machine& a, const Machine& b) {
    return a.kind == b.kind && a.features == b.features;
  };
  for (std::size_t first = 0, next = 0; first < machines.size(); first = next) {
    for (next = first + 1; next < machines.size(); ++next)
      if (!are_alike(machines[first], machines[next])) break;
    const std::string& begin = machines[first].name;
    const std::string who = next == first + 1
                                ? begin + " has"
                                : fmt::format("{} to {} have", begin, machines[next - 1].name);
    if (groups.size() == kMostGroups) return fmt::format("{}; ...", fmt::join(groups, "; "));
    groups.push_back(fmt::format(
        "{} {}", who,
        fmt::join(
            shared_features(cluster.kinds[index(machines[first].kind)], machines[first].features),
            ", ")));
  }
  return fmt::format("{}", fmt::join(groups, "; "));
}

}  // namespace trainyard
