// The command line. Only parse.cpp knows the library that reads it.
#pragma once

#include "base/error.h"
#include "cli/command.h"

namespace trainyard::cli {

/// Sets the variables of the command that was given, and returns it: null where the line asked for
/// --help or --version, which are then printed. An error says what is wrong with the line.
Expected<const Command*> parse(Command& program, int argc, char** argv);

}  // namespace trainyard::cli
