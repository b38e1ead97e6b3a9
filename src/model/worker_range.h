// The sizes that a gang can have, as people write them: "4", or "2..8" for any from 2 to 8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace trainyard {

struct WorkerRange {
  std::int32_t min = 1, max = 1;

  bool operator==(const WorkerRange&) const = default;
};

/// Numbers from 1 to `most`.
Expected<WorkerRange> parse_worker_range(std::string_view text, std::int32_t most);
std::string format(const WorkerRange& range);

}  // namespace trainyard
