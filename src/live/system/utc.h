// Instants since the Unix epoch as text.
#pragma once

#include <string>

#include "base/time.h"

namespace trainyard {

/// "2026-11-18T11:30:00Z", to the second.
std::string format_utc(Time t);

}  // namespace trainyard
