// Whether code points survive to another machine: switches and routers may rewrite them. One side
// answers each datagram with the code point that it came with, the other sends one of each and
// compares. An answer is no longer than what was asked, so nobody can be flooded through it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace trainyard {

/// What arrives of each code point at HOST:PORT, where echo_code_points() answers; -1 if no answer
/// came.
Expected<std::vector<int>> probe_code_points(const std::string& peer,
                                             const std::vector<int>& code_points);
/// Answers on this UDP port until `end` is readable.
Expected<void> echo_code_points(int port, int end);

}  // namespace trainyard
