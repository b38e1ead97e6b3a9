#include "live/slurm_setup/slurm_conf.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/split.h"

namespace trainyard {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// Up to the first '#' that no backslash precedes.
std::string_view without_comment(std::string_view text) {
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1))
    if (at == 0 || text[at - 1] != '\\') return text.substr(0, at);
  return text;
}

/// The value at the head of `rest`, which may be in quotes; it and the blanks behind it are taken
/// off.
std::string take_value(std::string_view& rest) {
  const bool is_quoted = rest.starts_with('"');
  if (is_quoted) rest.remove_prefix(1);
  const std::size_t end =
      std::min(is_quoted ? rest.find('"') : rest.find_first_of(kBlank), rest.size());
  std::string value(rest.substr(0, end));
  rest.remove_prefix(std::min(end + (is_quoted ? 1 : 0), rest.size()));
  rest = trimmed(rest);
  return value;
}

const SlurmConf::Setting* last_of(const std::vector<SlurmConf::Setting>& settings,
                                  std::string_view name) {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const auto& one) { return same_word(one.name, name); });
  return found == settings.rend() ? nullptr : &*found;
}

/// The commas that are not in brackets separate; empty parts count.
std::vector<std::string_view> split_outside_brackets(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] == '[') inside = true;
    if (list[at] == ']') inside = false;
    if (list[at] != ',' || inside) continue;
    parts.push_back(list.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(list.substr(begin));
  return parts;
}

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// "001-003" behind "r1n": r1n001, r1n002, r1n003. False: more than `most` names, or no range.
bool add_range(std::string_view before, std::string_view range, std::string_view after,
               std::size_t most, std::vector<std::string>& names) {
  const std::size_t dash = std::min(range.find('-'), range.size());
  const std::string_view low = range.substr(0, dash);
  const auto first = whole_number(low);
  const auto last = dash == range.size() ? first : whole_number(range.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= most || low.size() > 32) return false;
  for (std::size_t number = *first; number <= *last; ++number) {
    if (names.size() >= most) return false;
    names.push_back(fmt::format("{}{:0{}}{}", before, number, low.size(), after));
  }
  return true;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool has_word(std::string_view list, std::string_view word) {
  return std::ranges::any_of(split(list, ","), [&](std::string_view part) {
    return same_word(part.substr(0, part.find('=')), word);
  });
}

std::optional<std::vector<std::string>> expand_node_names(std::string_view list, std::size_t most) {
  std::vector<std::string> names;
  for (const std::string_view part : split_outside_brackets(list)) {
    const std::size_t open = part.find('['), close = part.find(']');
    if (open == std::string_view::npos) {
      if (names.size() >= most) return {};
      names.emplace_back(part);
      continue;
    }
    if (close == std::string_view::npos || close < open) return {};
    const std::string_view after = part.substr(close + 1);
    if (after.find('[') != std::string_view::npos) return {};
    for (const std::string_view range : split(part.substr(open + 1, close - open - 1), ","))
      if (!add_range(part.substr(0, open), range, after, most, names)) return {};
  }
  return names;
}

const SlurmConf::Setting* SlurmConf::Partition::find(std::string_view wanted) const {
  return last_of(settings, wanted);
}

const SlurmConf::Setting* SlurmConf::find(std::string_view name) const {
  return last_of(settings_, name);
}

const SlurmConf::Partition* SlurmConf::partition(std::string_view name) const {
  const auto found = std::ranges::find(partitions_, name, &Partition::name);
  return found == partitions_.end() ? nullptr : &*found;
}

Expected<void> SlurmConf::add_line(std::string_view text, std::size_t line,
                                   std::string_view where) {
  std::string_view rest = trimmed(text);
  if (rest.empty()) return {};
  if (same_word(rest.substr(0, rest.find_first_of(kBlank)), "Include")) {
    includes_.push_back(line);
    return {};
  }
  std::vector<Setting> settings;
  while (!rest.empty()) {
    const std::size_t equals = rest.find('=');
    const std::string_view name = trimmed(rest.substr(0, equals));
    if (equals == std::string_view::npos || name.empty() ||
        name.find_first_of(kBlank) != std::string_view::npos)
      return fail("{}:{}: {} is not NAME=VALUE", where, line, quoted(rest));
    rest = trimmed(rest.substr(equals + 1));
    settings.push_back({line, std::string(name), take_value(rest)});
  }
  const Setting first = settings.front();
  if (!same_word(first.name, "PartitionName")) {
    settings_.insert(settings_.end(), settings.begin(), settings.end());
  } else if (same_word(first.value, "DEFAULT")) {
    for_all_partitions_.insert(for_all_partitions_.end(), settings.begin() + 1, settings.end());
  } else {
    Partition partition{line, first.value, for_all_partitions_};
    partition.settings.insert(partition.settings.end(), settings.begin() + 1, settings.end());
    partitions_.push_back(std::move(partition));
  }
  return {};
}

Expected<SlurmConf> SlurmConf::parse(std::string_view text, std::string_view where) {
  SlurmConf conf;
  std::string whole;
  std::size_t line = 0, first = 1;
  for (const std::string_view part : split(text, "\n")) {
    ++line;
    const std::string_view said = trimmed(without_comment(part));
    whole += said.ends_with('\\') ? said.substr(0, said.size() - 1) : said;
    if (said.ends_with('\\')) {
      whole += ' ';
      continue;
    }
    if (auto ok = conf.add_line(whole, first, where); !ok) return tl::make_unexpected(ok.error());
    whole.clear();
    first = line + 1;
  }
  if (auto ok = conf.add_line(whole, first, where); !ok) return tl::make_unexpected(ok.error());
  return conf;
}

}  // namespace trainyard
