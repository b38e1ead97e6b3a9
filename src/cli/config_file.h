// Options of a command from a file: what an operator would type, kept where the system keeps such
// things. A key is an option's long name without its dashes:
//
//   policy = "srtf"                 # --policy srtf
//   set = ["yard.min_run=5m"]       # --set yard.min_run=5m
//
// One file may have the options of several programs: those of `serve` stand at its top, those of
// another in a table of its own.
//
//   [flow]                          # of flow-agent
//   interface = "eth0"              # --interface eth0
#pragma once

#include <string_view>

#include "base/error.h"
#include "cli/command.h"

namespace trainyard::cli {

/// Sets the variables of those options that the command line left out. All values are checked, also
/// those that the command line goes before; `except` is an option that a file cannot have. Reads
/// the top of the file, or this table alone.
Expected<void> read_config(std::string_view text, std::string_view origin, Command& command,
                           std::string_view except, std::string_view of_table = "");

}  // namespace trainyard::cli
