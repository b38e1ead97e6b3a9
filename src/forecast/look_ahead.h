// What will become of the jobs of a yard: its own policy, run forward from a saved state, several
// times. Each draw takes a length for every unfinished job, and jobs that are yet to come if that
// is asked for; the policy sees neither. The quantiles over the draws are the answer.
//
// With exact lengths and nobody coming all draws are the same, and are what a simulation does from
// there on, to the microsecond (tests/beginning_test.cpp).
//
// Example: one GPU. A runs, and has 1 h or 3 h left with equal chances; B waits. Of ten draws about
// half have B start in 1 h and the others in 3 h: p10 is 1 h and p90 is 3 h.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "forecast/track_record.h"
#include "model/workload.h"
#include "policy/registry.h"
#include "sim/simulation.h"

namespace trainyard {

/// Quantiles by nearest rank: of n times the ceil(q n)-th.
TimeBand band_of(std::vector<Time> times);

/// A job on a machine.
struct Segment {
  JobId job = kNoJob;
  MachineId machine = kNoMachine;
  Time from, to;

  bool operator==(const Segment&) const = default;
};

struct Outlook {
  Time made_at;
  std::size_t draws = 0;
  /// Of each job of the yard: when it next gets GPUs (of one that has some, when it first did), and
  /// when it is done.
  std::vector<TimeBand> starts, ends;
  /// Of the draw that is nearest to the medians of all, up to the horizon.
  std::vector<Segment> segments;
};

/// All the work of a job of which so much is done, for one draw.
using DrawLength = std::function<Duration(const Job& job, Duration done, Random& random)>;
/// Begins a draw. It is asked first of the jobs that have done most.
using BeginDraw = std::function<DrawLength()>;

/// Jobs that came of late, by how long after the span began. Each draw has as many come again, span
/// after span, from another moment of it on, with lengths of their own.
struct Arrivals {
  /// Jobs that were seen for less are taken for those of so long: five jobs within a minute are
  /// no 7,200 a day.
  static constexpr Duration kLeastSpan = days(1);

  std::vector<Job> jobs;  // by submit; none: nobody comes
  Duration span;
};

struct LookAheadOptions {
  std::size_t draws = 32;
  std::uint64_t seed = 1;
  Duration horizon = days(1);
  /// Instants of all draws together. When they are used up no further draw begins, and the one that
  /// is under way counts only if it is the first.
  std::uint64_t most_steps = 20'000'000;
  /// The same by whatever else; asked at each instant. None: never.
  std::function<bool()> is_late = {};
  std::size_t most_segments = 200'000;
  SimOptions simulation = {};
};

/// `known` has the jobs of the beginning. Refuses what Simulation::begin refuses.
Expected<Outlook> look_ahead(const Cluster& cluster, const Workload& known,
                             const PolicySpec& policy, const Beginning& beginning,
                             const BeginDraw& begin_draw, const Arrivals& arrivals,
                             const LookAheadOptions& options);

/// The work that a saved job has done by then.
Duration work_done_by(const SavedJob& saved, const Job& job, Time now);

}  // namespace trainyard
