// A bound on what is taken of a file system: a part of its size, "50%", or a size, "200GiB".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace trainyard {

struct DiskLimit {
  std::int64_t percent = 0;  // of the file system; 0: `bytes` counts
  std::int64_t bytes = 0;

  /// In bytes, on a file system of this size.
  [[nodiscard]] std::int64_t of(std::uint64_t size) const {
    return percent == 0 ? bytes : static_cast<std::int64_t>(size / 100) * percent;
  }
};

Expected<DiskLimit> parse_disk_limit(std::string_view text);

}  // namespace trainyard
