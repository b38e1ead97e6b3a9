// What a running job tells of itself (python/trainyard writes it, any program can): one small JSON
// object in the file that TRAINYARD_REPORT names, replaced as a whole.
//
//   {"step": 120, "total": 1000, "loss": 0.41, "accuracy": 0.87, "save_s": 1.9, "load_s": 4.2}
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace trainyard {

struct JobProgress {
  std::int64_t step = 0, total = 0;  // total 0: not known
  std::optional<double> loss, accuracy;
  std::optional<double> save_s, load_s;  // what its last checkpoint took to write and to read

  bool operator==(const JobProgress&) const = default;
};

/// Anybody may have written it: what is not a finite number of a sensible size is refused.
Expected<JobProgress> parse_progress(std::string_view json);

}  // namespace trainyard
