// How fast the kinds of GPU of made-up clusters are, for the simulator (as a catalogue without
// models, testing.h) and for the reference.
#pragma once

#include <map>
#include <string>

namespace trainyard {

inline const std::map<std::string, double> kKindSpeeds{{"P100", 0.5}, {"V100", 1}, {"A100", 2.5}};

}  // namespace trainyard
