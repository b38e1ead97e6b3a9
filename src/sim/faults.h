// Machines that fail and come back, or are slow for a while: given one by one, or drawn at random.
//
// A file has a line for each: time,machine,down|up, as in "2d4h,r0m3,down", or a speed, as in
// "3d,r0m3,0.5": from then on what is on this machine runs at half its rate. Drawn, a machine fails
// after an exponential time of mean `mtbf` and is back after an exponential time of mean `repair`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/cluster.h"

namespace trainyard {

struct Fault {
  Time at;
  MachineId machine = kNoMachine;
  bool up = false;                   // it comes back
  std::optional<double> speed = {};  // neither: it goes on so many times as fast as usual
};

/// "FILE" or "mtbf=30d,repair=4h"; sorted by time. Drawn ones end with `horizon`, each with its
/// repair.
Expected<std::vector<Fault>> read_faults(const std::string& spec, const Cluster& cluster,
                                         Duration horizon, std::uint64_t seed);
Expected<std::vector<Fault>> parse_faults(std::string_view text, std::string_view origin,
                                          const Cluster& cluster);
std::vector<Fault> draw_faults(const Cluster& cluster, Duration mtbf, Duration repair,
                               Duration horizon, std::uint64_t seed);

}  // namespace trainyard
