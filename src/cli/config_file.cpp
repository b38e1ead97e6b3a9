#include "cli/config_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <limits>

#include "base/toml_table.h"

namespace trainyard::cli {
namespace {

constexpr std::size_t kLongest = 4096;
/// Of other programs than the one whose options stand at the top of the file.
constexpr std::string_view kTable = "flow";

/// Reads one key into its option's variable.
struct KeyReader {
  TableReader& in;
  std::string key;
  const Option& option;

  void operator()(const Help&) const {}
  void operator()(const Version&) const {}

  void operator()(bool* variable) const {
    const toml::node* node = in.find(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<bool>();
    if (!value) return in.complain(*node, fmt::format("{} must be true or false", key));
    set(variable, *value);
  }

  void operator()(std::string* variable) const {
    const std::string value = in.text(key, *variable, kLongest);
    if (const toml::node* node = in.find(key)) check_word(*node, value);
    set(variable, value);
  }

  void operator()(std::vector<std::string>* variable) const {
    const toml::node* node = in.find(key);
    if (node == nullptr) return;
    const std::vector<std::string> values = in.texts(key);
    for (const std::string& value : values) check_word(*node, value);
    set(variable, values);
  }

  template <std::integral Number>
  void operator()(Number* variable) const {
    if (in.find(key) == nullptr) return;
    const auto most = std::numeric_limits<std::int64_t>::max();
    const Range range = option.takes.range.value_or(Range{0, static_cast<std::uint64_t>(most)});
    const auto value = in.whole(key, 0, static_cast<std::int64_t>(range.low),
                                static_cast<std::int64_t>(range.high));
    set(variable, static_cast<Number>(value));
  }

  /// No command that reads a file has one of these.
  template <class Other>
  void operator()(Other* /*variable*/) const {
    if (const toml::node* node = in.find(key))
      in.complain(*node, fmt::format("{} can be given on the command line only", key));
  }

 private:
  template <class Value>
  void set(Value* variable, const Value& value) const {
    if (!option.is_given) *variable = value;
  }

  void check_word(const toml::node& node, const std::string& word) const {
    const std::vector<std::string>& words = option.takes.words;
    if (words.empty() || std::ranges::find(words, word) != words.end()) return;
    in.complain(node,
                fmt::format("{} = {} is not known{} (known: {})", key, trainyard::quoted(word),
                            did_you_mean(word, words), fmt::join(words, ", ")));
  }
};

}  // namespace

Expected<void> read_config(std::string_view text, std::string_view origin, Command& command,
                           std::string_view except, std::string_view of_table) {
  const auto whole = parse_toml(text, origin);
  if (!whole) return tl::make_unexpected(whole.error());
  TableReader top(*whole, origin);
  const toml::table* own = top.table(of_table.empty() ? kTable : of_table);
  if (!of_table.empty() && own == nullptr) {
    if (whole->contains(of_table)) return fail("{}: {} is not a table", origin, of_table);
    return {};
  }
  TableReader in = of_table.empty() ? std::move(top) : TableReader(*own, origin);
  for (const Option& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--") && name != except)
        std::visit(KeyReader{in, name.substr(2), option}, option.variable);
  return in.finish();
}

}  // namespace trainyard::cli
