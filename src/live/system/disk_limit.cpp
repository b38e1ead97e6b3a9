#include "live/system/disk_limit.h"

#include <charconv>

#include "base/resources.h"

namespace trainyard {

Expected<DiskLimit> parse_disk_limit(std::string_view text) {
  if (!text.ends_with('%')) {
    const auto mib = parse_memory(text);
    if (!mib) return tl::make_unexpected(mib.error());
    if (*mib == 0) return fail("{}: 1MiB is the least", quoted(text));
    return DiskLimit{.bytes = static_cast<std::int64_t>(*mib) << 20U};
  }
  const std::string_view digits = text.substr(0, text.size() - 1);
  DiskLimit limit;
  const auto [end, wrong] =
      std::from_chars(digits.data(), digits.data() + digits.size(), limit.percent);
  if (wrong != std::errc() || end != digits.data() + digits.size() || limit.percent < 1 ||
      limit.percent > 100)
    return fail("{}: expected 1% to 100%, or a size such as 200GiB", quoted(text));
  return limit;
}

}  // namespace trainyard
