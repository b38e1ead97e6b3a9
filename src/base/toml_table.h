// A table of TOML as its readers see it: fields by name, each with what it may be. Every error
// names file, line, field and value and says what would be right; the first one is kept, and a
// field that nobody asked for is one too.
//
//   TableReader in(table, "cluster.toml");
//   machine.gpus = in.whole("gpus", 8, 0, 64);
//   if (auto ok = in.finish(); !ok) return tl::make_unexpected(ok.error());
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/toml.h"

namespace trainyard {

class TableReader {
 public:
  TableReader(const toml::table& table, std::string_view origin) : table_(table), origin_(origin) {}

  std::int64_t whole(std::string_view key, std::int64_t fallback, std::int64_t low,
                     std::int64_t high);
  double real(std::string_view key, double fallback, double low = 0, double high = 1e9);
  /// Of 1 to 100 characters unless said otherwise.
  std::string text(std::string_view key, std::string fallback, std::size_t longest = 100);
  /// An array of such texts; none when the field is not there.
  std::vector<std::string> texts(std::string_view key);

  /// A number, or a text that `parse` understands.
  template <class Parse>
  std::int32_t amount(std::string_view key, std::int32_t fallback, Parse parse) {
    const toml::node* node = find(key);
    if (node == nullptr) return fallback;
    const auto parsed = parse(written(*node));
    if (parsed) return *parsed;
    complain(*node, fmt::format("{}: {}", key, parsed.error().message));
    return fallback;
  }

  /// [key], or null.
  const toml::table* table(std::string_view key);
  /// [[key]], or null.
  const toml::array* tables(std::string_view key);
  /// Whatever it is, or null: for a field that may be of several types.
  const toml::node* find(std::string_view key);

  /// An error at this line, unless there is one already.
  void complain(const toml::node& node, std::string_view message);
  /// The same for the table as a whole.
  void complain(std::string_view message) { complain(table_, message); }

  /// After all fields are read: the first error, also for a field that nobody asked for.
  Expected<void> finish();

 private:
  void refuse(const toml::node& node, std::string_view key, std::string_view wanted);
  /// The value as in the file, a text without its quotation marks.
  static std::string written(const toml::node& node);

  const toml::table& table_;
  std::string_view origin_;
  std::set<std::string, std::less<>> seen_;
  std::optional<std::string> error_;
};

/// The text as TOML; an error names the line.
Expected<toml::table> parse_toml(std::string_view text, std::string_view origin);

}  // namespace trainyard
