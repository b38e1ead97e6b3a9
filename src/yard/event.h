// What the yard is told, and what it tells: facts come in as events, and orders go out to the
// engine. Both are plain values, so that a journal can keep them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "model/flow_class.h"
#include "model/learning_curve.h"
#include "perf/rate.h"

namespace trainyard {

/// A job's life:
///   absent -> queued -> [reserved ->] starting -> running -> done | failed
///                ^                                   |
///                +---------- draining <--------------+         and cancelled from anywhere
/// A job that holds GPUs can also return to the queue by itself, or be lost and go back there; one
/// that drains can come to its end instead of leaving. One that runs is starting again for an
/// instant when it turns out that it had not loaded yet. reserved: its room is being made; it holds
/// what was free of it. starting: it loads. draining: it has been told to leave and saves. The last
/// three before `done` hold the job's GPUs.
enum class Phase : std::uint8_t {
  absent,
  queued,
  reserved,
  starting,
  running,
  draining,
  done,
  failed,
  cancelled,
};

constexpr bool holds_gpus(Phase p) {
  return p == Phase::starting || p == Phase::running || p == Phase::draining;
}
constexpr bool has_ended(Phase p) {
  return p >= Phase::done;
}
std::string_view name(Phase phase);

enum class EventKind : std::uint8_t {
  clock,             // time has come this far; nobody in particular
  submitted,         // a job: absent -> queued
  loaded,            // starting -> running; of a job that runs, with event.estimate.work: it was
                     // believed to have loaded, and has only now
  finished,          // running or draining -> done
  drained,           // draining -> queued
  crashed,           // starting, running or draining -> failed: its own fault, it is not run again
  returned,          // left by itself, saved, and wants to go on later: it queues again
  lost,              // gone without a trace: it queues again, from its last checkpoint
  cancelled,         // by its user, from any phase before its end
  rate_changed,      // of a job that holds GPUs: it goes on at event.rate
  estimate_changed,  // of a job that has not ended: event.estimate is what is believed of it now
  learnt,            // of a job that runs: how good it is after how many steps, event.point
  machine_down,      // its jobs go back to the queue and to their last checkpoint
  machine_up,
  machine_closed,  // takes no more jobs; who is there stays
};

/// What is believed of a job; < 0: as it was believed before.
struct Estimate {
  Duration work{-1};   // all of it
  Duration pause{-1};  // from being told to leave until it has left
  Duration load{-1};   // from being placed to running

  bool operator==(const Estimate&) const = default;
};

struct Event {
  Time at;
  EventKind kind{};
  std::uint32_t subject = 0;  // the number of a job or machine
  Rate rate{};                // of rate_changed
  /// Of estimate_changed; of `finished`, where `work` is how much it was in the end (not given: the
  /// job's duration); and of `loaded`, where `work` is what the job has done by now (not given:
  /// what it had done before the run).
  Estimate estimate{};
  LearningPoint point{};  // of learnt

  static Event of(Time at, EventKind kind, JobId job) {
    return {at, kind, static_cast<std::uint32_t>(job)};
  }
  static Event of(Time at, EventKind kind, MachineId machine) {
    return {at, kind, static_cast<std::uint32_t>(machine)};
  }
  static Event rate_of(Time at, JobId job, Rate rate) {
    return {at, EventKind::rate_changed, static_cast<std::uint32_t>(job), rate};
  }
  static Event estimate_of(Time at, JobId job, const Estimate& estimate) {
    return {at, EventKind::estimate_changed, static_cast<std::uint32_t>(job), {}, estimate};
  }
  static Event learnt_by(Time at, JobId job, const LearningPoint& point) {
    return {at, EventKind::learnt, static_cast<std::uint32_t>(job), {}, {}, point};
  }
  static Event loaded_with(Time at, JobId job, Duration work) {
    return {at, EventKind::loaded, static_cast<std::uint32_t>(job), {}, {.work = work}};
  }
  static Event finished_after(Time at, JobId job, Duration work) {
    return {at, EventKind::finished, static_cast<std::uint32_t>(job), {}, {.work = work}};
  }
};

static_assert(sizeof(Event) <= 64, "a cache line: replays make millions of them");

/// For the engine to carry out, and to report on.
struct Order {
  enum class Kind : std::uint8_t {
    start,  // report `loaded` when it runs, then `finished`
    pause,  // report `drained` when it has left
    stop,   // it is over, wherever it stands (cancelled, or its machine is gone): report nothing
    flow,   // a job that holds GPUs goes on in another flow class: report nothing
  };
  Kind kind{};
  JobId job = kNoJob;
  FlowClass flow = kFirstFlow;  // of `start` and `flow`
};

/// Why the yard refuses an event or a plan's action. Nothing was changed then.
enum class Verdict : std::uint8_t {
  ok,
  time_went_back,
  no_such_subject,
  wrong_phase,
  wrong_gang,   // not the job's workers, or not as many as it may have, or a machine named twice
  no_room,      // a machine has not that much free
  wrong_kind,   // of GPU
  forbidden,    // a machine lacks a feature that the job asks for, or cannot be had whole
  wrong_value,  // a rate, an estimate or a point of a learning curve that cannot be
  machine_is_down,
  machine_is_up,     // already
  victim_protected,  // it runs too short a time, was paused too often, or would take turns
  victim_unneeded,   // the room is there without it, or it is named twice
  no_change,         // a group that changes nothing, or a job that is moved to where it is
};
std::string_view describe(Verdict verdict);

}  // namespace trainyard
