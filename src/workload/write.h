// Workloads as native CSV.
#pragma once

#include <iosfwd>
#include <string>

#include "base/error.h"
#include "model/workload.h"

namespace trainyard {

/// Only the columns that some job uses; reading it back gives the same jobs.
void write_native(const Workload& workload, std::ostream& out);

/// The same into a file, which is there whole or not at all.
Expected<void> write_native_file(const Workload& workload, const std::string& path);

}  // namespace trainyard
