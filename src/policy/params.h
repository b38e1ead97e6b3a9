// Parameters of stages: each stage member declares its own, with default and help, and reads them
// back by name once their texts are known to be right.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace trainyard {

enum class ParamType : std::uint8_t {
  duration,   // "10m"; "never" is longer than any
  whole,      // a whole number from 0 to a billion
  real,       // a number >= 0
  choice,     // one of a few words
  durations,  // up to 15, ascending, separated by '/': "1h/10h"
};

struct ParamSpec {
  std::string name;
  ParamType type{};
  std::string default_value;
  std::string help;
  std::vector<std::string> choices = {};
  std::string from = {};  // whose choice it is, where a paper leaves some open
};

/// What would be right in place of `value`, or nothing when it is right.
Expected<void> check_param(const ParamSpec& spec, std::string_view value);

/// The values of one stage member's parameters. Only names that the member declared may be asked
/// for, and only as the type they were declared with.
class Params {
 public:
  void set(const std::string& name, std::string value) { values_[name] = std::move(value); }

  [[nodiscard]] Duration duration(const std::string& name) const;
  [[nodiscard]] std::int64_t whole(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;
  [[nodiscard]] const std::string& choice(const std::string& name) const {
    return values_.at(name);
  }
  [[nodiscard]] std::vector<Duration> durations(const std::string& name) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace trainyard
