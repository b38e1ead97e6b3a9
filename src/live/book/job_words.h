// The words of a job's life, each set in one place.
//
// A job's state is its Phase (yard/event.h), which the yard keeps; `absent` is called held: the job
// waits for something that is not the yard's business, and the yard does not know it yet. What
// happens to it are happenings: the journal keeps them, and streams and the log tell them. Of
// a job that has not started, WaitsBy says what keeps it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "yard/event.h"

namespace trainyard {

/// In the order of a life.
inline constexpr std::array kJobStates{Phase::absent,   Phase::queued,  Phase::reserved,
                                       Phase::starting, Phase::running, Phase::draining,
                                       Phase::done,     Phase::failed,  Phase::cancelled};

/// "held", "queued", "reserved", "starting", "running", "draining", "done", "failed", "cancelled".
std::string_view state_name(Phase state);
std::optional<Phase> parse_state(std::string_view name);
/// Of all states, or of those before a job's end, with this between them.
std::string state_names(std::string_view between);
std::string unfinished_state_names(std::string_view between);

enum class Happening : std::uint8_t {
  submitted,
  queued,      // nothing but the policy keeps it from starting any more
  starting,    // a run of it is to be started
  running,     // ... and has been
  loaded,      // ... and has shown its first progress since
  pausing,     // it is told to leave, for another job
  paused,      // ... and has left
  returned,    // it has left by itself, and is to go on later
  lost,        // its run is gone, or could not be started; it is queued again
  broken,      // a part of its run is gone, and the rest is told to stop; then it is lost
  cancelling,  // somebody has asked for its end
  stopping,    // it has used up its time
  noted,       // the engine tells something of it that changes nothing
  done,
  failed,
  cancelled,
  machine_closed,  // it starts nothing new
  machine_opened,
  machine_down,  // nothing runs there any more
  machine_up,    // ... but now it may again
  cluster_changed,
  policy_changed,
  erasing_suspended,  // the clock jumped: nothing is erased until an operator says so
  erasing_resumed,
};
constexpr std::size_t kHappenings = static_cast<std::size_t>(Happening::erasing_resumed) + 1;

/// "submitted" ... "machine closed".
std::string_view name(Happening happening);
std::optional<Happening> parse_happening(std::string_view name);

enum class WaitsBy : std::uint8_t {
  nothing,     // it does not wait
  dependency,  // for others to end
  held,        // for its array, its old run, or a machine that is open and large enough
  resources,   // for room
  priority,    // for its turn: there would be room
};
/// "" for nothing.
std::string_view name(WaitsBy waits_by);

/// Told to end for good, and by whom.
enum class Ending : std::uint8_t {
  none,
  by_owner,
  by_operator,    // its grace is cut short
  by_time_limit,  // the same; and it may still ask to be run again
};

/// A run on what the machine was before the daemon's restart: the job is held until it has ended.
enum class OldRun : std::uint8_t {
  none,
  running,
  leaving,  // it had been told to
};

std::string_view name(Ending ending);
std::optional<Ending> parse_ending(std::string_view name);
std::string_view name(OldRun old_run);
std::optional<OldRun> parse_old_run(std::string_view name);

}  // namespace trainyard
