// The key=value part of a generator's spec. What was not given has the default of the parameter
// table, so that the table is what really happens. Reading goes on after an error and returns
// something harmless; finish() then gives the first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

struct Parameter {
  std::string_view name;
  std::string_view initial;  // as it would be written
  std::string_view help;
};

/// GPUs a job asks for, with weights: "8", or "1:0.7/2:0.2/8:0.1".
struct DemandMix {
  std::vector<std::int32_t> gpus;
  std::vector<double> weights;

  [[nodiscard]] double mean_gpus() const;
};

class Settings {
 public:
  static Expected<Settings> parse(std::string_view owner, std::string_view text,
                                  std::span<const Parameter> known);

  std::int64_t whole(std::string_view key, std::int64_t low, std::int64_t high);
  double real(std::string_view key, double low, double high);
  Duration duration(std::string_view key);
  Duration positive_duration(std::string_view key);
  DemandMix mix(std::string_view key, std::int32_t most_gpus);
  /// The text itself.
  [[nodiscard]] const std::string& word(std::string_view key) const { return text(key); }
  /// Words with `/` between them, at most 100, none of them empty.
  std::vector<std::string> words(std::string_view key);
  /// The index of the value among `choices`.
  std::size_t choice(std::string_view key, std::span<const std::string_view> choices);

  [[nodiscard]] Expected<void> finish() const;

 private:
  explicit Settings(std::string_view owner) : owner_(owner) {}
  [[nodiscard]] const std::string& text(std::string_view key) const;
  void complain(std::string_view key, std::string_view wanted);

  std::string owner_;
  std::map<std::string, std::string, std::less<>> values_;
  std::optional<Error> error_;
};

}  // namespace trainyard
