// A job that is paused again and again still gets on: what must hold under every policy, of a whole
// daemon.
//
// One long job holds all GPUs. For an hour short jobs come one after the other, as fast as they can
// be served; some policies pause the long job for them, and each of its runs has to load first.
// Then
//
//  1. no run of it is told to leave before yard.min_run has passed since its first report, or, if
//     there was none, since the time for which it counts as loading;
//  2. a job that reports is told to leave before its first report in a few runs only, as long as
//     nothing is known of its load;
//  3. what counts as its work is no more than the time since the first report of each run.
//
// The daemon is killed and started again in between, which changes none of that.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

struct StarvationResult {
  std::string wrong;  // empty: all held
  std::uint64_t pauses = 0;
};

StarvationResult keep_pausing(const std::string& policy, std::uint64_t seed);

}  // namespace trainyard
