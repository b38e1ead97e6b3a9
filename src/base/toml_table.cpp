#define TOML_IMPLEMENTATION
#include "base/toml_table.h"

#include <algorithm>
#include <sstream>

namespace trainyard {
namespace {

/// "1e9" where printf would write "1e+09".
std::string plain(double number) {
  std::string text = fmt::format("{:g}", number);
  for (const char* sign : {"e+0", "e+"})
    if (const std::size_t at = text.find(sign); at != std::string::npos)
      text.replace(at, std::string_view(sign).size(), "e");
  return text;
}

/// The parser bounds how deep values are within each other, but not the parts of a key: each part
/// of a.b.c is a table within the one before, and to take such a tree down is to recurse through
/// it.
constexpr int kMostKeyParts = 16;

/// Past the text in quotation marks that begins here, also one of several lines. One that does not
/// end is the parser's to refuse.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool has_lines = text.substr(at, 3) == three;
  at += has_lines ? 3 : 1;
  for (; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"')
      ++at;
    else if (has_lines && text.substr(at, 3) == three)
      return at + 3;
    else if (!has_lines && (text[at] == quote || text[at] == '\n'))
      return at + 1;
  }
  return text.size();
}

/// The line (from 1) of a key with too many parts; 0 if there is none.
std::size_t line_of_deep_key(std::string_view text) {
  int parts = 1;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_quoted(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) parts = 1;
    if (c == '.' && ++parts > kMostKeyParts)
      return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + at, '\n'));
    ++at;
  }
  return 0;
}

bool is_text(const toml::node& node, std::size_t longest) {
  const auto* text = node.as_string();
  return text != nullptr && !text->get().empty() && text->get().size() <= longest;
}

}  // namespace

std::int64_t TableReader::whole(std::string_view key, std::int64_t fallback, std::int64_t low,
                                std::int64_t high) {
  const toml::node* node = find(key);
  if (node == nullptr) return fallback;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= low && *value <= high) return *value;
  refuse(*node, key, fmt::format("a whole number from {} to {}", low, high));
  return fallback;
}

double TableReader::real(std::string_view key, double fallback, double low, double high) {
  const toml::node* node = find(key);
  if (node == nullptr) return fallback;
  const auto value = node->value<double>();
  if (node->is_number() && value && *value >= low && *value <= high) return *value;
  refuse(*node, key, fmt::format("a number from {} to {}", plain(low), plain(high)));
  return fallback;
}

std::string TableReader::text(std::string_view key, std::string fallback, std::size_t longest) {
  const toml::node* node = find(key);
  if (node == nullptr) return fallback;
  if (is_text(*node, longest)) return node->as_string()->get();
  refuse(*node, key, fmt::format("a text of 1 to {} characters", longest));
  return fallback;
}

std::vector<std::string> TableReader::texts(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return {};
  std::vector<std::string> texts;
  if (const toml::array* array = node->as_array())
    for (const toml::node& element : *array)
      if (is_text(element, 100)) texts.push_back(element.as_string()->get());
  if (node->is_array() && texts.size() == node->as_array()->size()) return texts;
  refuse(*node, key, "a list of texts of 1 to 100 characters");
  return {};
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr || node->is_table()) return node == nullptr ? nullptr : node->as_table();
  refuse(*node, key, fmt::format("a [{}] table", key));
  return nullptr;
}

const toml::array* TableReader::tables(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (node->is_array_of_tables()) return node->as_array();
  refuse(*node, key, fmt::format("one or more [[{}]] tables", key));
  return nullptr;
}

const toml::node* TableReader::find(std::string_view key) {
  seen_.emplace(key);
  return table_.get(key);
}

void TableReader::complain(const toml::node& node, std::string_view message) {
  if (!error_) error_ = fmt::format("{}:{}: {}", origin_, node.source().begin.line, message);
}

Expected<void> TableReader::finish() {
  for (const auto& [key, node] : table_)
    if (!seen_.contains(key.str()) && !error_)
      error_ = fmt::format("{}:{}: unknown field {}{}", origin_, key.source().begin.line,
                           quoted(key.str()), did_you_mean(key.str(), seen_));
  if (error_) return tl::make_unexpected(Error{*error_});
  return {};
}

void TableReader::refuse(const toml::node& node, std::string_view key, std::string_view wanted) {
  complain(node, fmt::format("{} = {}; it must be {}", key, quoted(written(node)), wanted));
}

std::string TableReader::written(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (node.is_number()) return fmt::format("{}", *node.value<double>());
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

Expected<toml::table> parse_toml(std::string_view text, std::string_view origin) {
  if (const std::size_t line = line_of_deep_key(text); line != 0)
    return fail("{}:{}: a key of more than {} parts with dots between", origin, line,
                kMostKeyParts);
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return fail("{}:{}: {}", origin, parsed.error().source().begin.line,
                parsed.error().description());
  return std::move(parsed).table();
}

}  // namespace trainyard
