// A workload's description for people (with bars drawn in the terminal) and for programs.
#pragma once

#include <span>
#include <string>

#include "workload/info.h"

namespace trainyard {

/// What bars are drawn with: eighths of a character cell, or # where the terminal has only ASCII.
enum class Bars { blocks, plain };

std::string to_text(const WorkloadInfo& info, Bars bars);
std::string to_json(const WorkloadInfo& info);

std::string to_text(std::span<const Distance> distances);
std::string to_json(std::span<const Distance> distances);

}  // namespace trainyard
