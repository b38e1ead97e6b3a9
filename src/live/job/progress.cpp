#include "live/job/progress.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "live/job/bounded_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr double kMostSteps = 9'007'199'254'740'992.0;  // 2^53: beyond, a double skips numbers
constexpr double kLargest = 1e30;
constexpr double kLongestSeconds = 10.0 * 365 * 86'400;

struct Range {
  double least = 0, most = 0;
};

/// Absent, or null, stays nothing.
Expected<std::optional<double>> number(const json& object, const char* field, Range range) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return std::nullopt;
  if (!found->is_number())
    return fail("{}: {} instead of a number", field, quoted(found->type_name()));
  const double value = found->get<double>();
  // Written so that what is not a number is refused too.
  if (!(value >= range.least && value <= range.most))
    return fail("{}: {} is not from {} to {}", field, value, range.least, range.most);
  return value;
}

Expected<std::int64_t> count(const json& object, const char* field) {
  const auto value = number(object, field, {0, kMostSteps});
  if (!value) return tl::make_unexpected(value.error());
  if (!*value) return 0;
  if (std::floor(**value) != **value) return fail("{}: {} is not a whole number", field, **value);
  return static_cast<std::int64_t>(**value);
}

}  // namespace

Expected<JobProgress> parse_progress(std::string_view text) {
  const auto parsed = parse_bounded_json(text);
  if (!parsed) return tl::make_unexpected(parsed.error());
  const json& object = *parsed;
  if (!object.is_object()) return fail("not a JSON object like {{\"step\": 120, \"total\": 1000}}");
  JobProgress progress;
  for (const auto& [field, target] :
       {std::pair{"step", &progress.step}, std::pair{"total", &progress.total}}) {
    const auto value = count(object, field);
    if (!value) return tl::make_unexpected(value.error());
    *target = *value;
  }
  const Range any{-kLargest, kLargest}, duration{0, kLongestSeconds};
  for (const auto& [field, target, range] :
       {std::tuple{"loss", &progress.loss, any}, std::tuple{"accuracy", &progress.accuracy, any},
        std::tuple{"save_s", &progress.save_s, duration},
        std::tuple{"load_s", &progress.load_s, duration}}) {
    const auto value = number(object, field, range);
    if (!value) return tl::make_unexpected(value.error());
    *target = *value;
  }
  return progress;
}

}  // namespace trainyard
