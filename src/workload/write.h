// Workloads as native CSV.
#pragma once

#include <iosfwd>
#include <string>

#include "base/error.h"
#include "model/workload.h"

namespace trainyard {

/// Only the columns that some job uses; reading it back gives the same jobs.
void write_native(const Workload& workload, std::ostream& out);

/// A part of a workload of which nobody has all at once: all columns, and their names in the first
/// part. Its jobs have names and users.
std::string native_part(const Workload& workload, bool is_first);

/// A whole workload into a file, which is there whole or not at all.
Expected<void> write_native_file(const Workload& workload, const std::string& path);

}  // namespace trainyard
