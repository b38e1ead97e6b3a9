#define TOML_IMPLEMENTATION
#include "base/toml_table.h"

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
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return fail("{}:{}: {}", origin, parsed.error().source().begin.line,
                parsed.error().description());
  return std::move(parsed).table();
}

}  // namespace trainyard
