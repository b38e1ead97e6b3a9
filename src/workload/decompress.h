// Workloads that are compressed by gzip or zstd, unpacked into memory. A file that would fill the
// memory is refused while it is unpacked: text of traces shrinks by a factor of 10 or 30, a bomb by
// a thousand and more.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard {

/// The longest text that is taken into memory.
constexpr std::size_t kMostBytes = std::size_t{8} << 30;

struct UnpackLimits {
  std::size_t most_bytes = kMostBytes;
  std::size_t most_growth = 400;                    // times as long as it was compressed,
  std::size_t unquestioned = std::size_t{1} << 26;  // from this length on
};

/// Whether it begins as gzip or zstd do.
bool is_compressed(std::string_view bytes);

/// What is in it; for several parts in a row, as both formats allow, all of them.
Expected<std::string> decompress(std::string_view bytes, const UnpackLimits& limits = {});

}  // namespace trainyard
