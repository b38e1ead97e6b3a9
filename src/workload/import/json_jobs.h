// A JSON array of job objects, one at a time: a trace of a gigabyte never stands in memory whole,
// and an error names the line where its job begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "workload/import/fields.h"

namespace trainyard {

/// Once something is wrong, the error is kept, next() is false, and fields read as zero.
class JsonJobs {
 public:
  explicit JsonJobs(const Source& source);

  /// Goes to the next object of the array; anything else in it is an error.
  bool next();
  [[nodiscard]] const nlohmann::json& job() const { return job_; }

  /// A string or number as text; empty when it is absent or null, an error when it is neither.
  std::string text(std::string_view field);
  InputFields& fields() { return fields_; }
  void check(const Expected<void>& result) {
    if (!result) fields_.complain(result.error().message);
  }
  [[nodiscard]] bool failed() const { return fields_.failed(); }
  [[nodiscard]] const std::optional<Error>& error() const { return fields_.error(); }

 private:
  bool skip_blanks();
  bool open_or_separate();
  std::size_t object_size();
  bool refuse(std::string_view what);

  std::string_view text_;
  std::size_t position_ = 0, line_ = 1;
  bool first_ = true;
  InputFields fields_;
  nlohmann::json job_;
};

/// The same conversion for a value inside a job; nullopt when it is neither text nor a number.
std::optional<std::string> scalar_text(const nlohmann::json& value);

/// Whether it looks like an array of objects of which the first has this field.
bool begins_with_field(std::string_view text, std::string_view field);

}  // namespace trainyard
