#include "model/worker_range.h"

#include <charconv>

namespace trainyard {
namespace {

constexpr std::string_view kDots = "..";

/// 0 for anything that is no number from 1 to `most`.
std::int32_t count(std::string_view text, std::int32_t most) {
  std::int32_t value = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), stop, value);
  return status == std::errc{} && end == stop && value >= 1 && value <= most ? value : 0;
}

}  // namespace

Expected<WorkerRange> parse_worker_range(std::string_view text, std::int32_t most) {
  const std::size_t dots = text.find(kDots);
  const std::string_view first = text.substr(0, dots);
  const std::string_view last =
      dots == std::string_view::npos ? first : text.substr(dots + kDots.size());
  const WorkerRange range{count(first, most), count(last, most)};
  if (range.min == 0 || range.max == 0)
    return fail("{} is neither a whole number from 1 to {} nor a range of them, as 2..8",
                quoted(text), most);
  if (range.min > range.max)
    return fail("{} ends before it begins; write {}..{}", quoted(text), range.max, range.min);
  return range;
}

std::string format(const WorkerRange& range) {
  if (range.min == range.max) return std::to_string(range.min);
  return fmt::format("{}{}{}", range.min, kDots, range.max);
}

}  // namespace trainyard
