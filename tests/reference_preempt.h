// Who gives way, in the reference: for which job others are paused, and which.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "reference_gain.h"
#include "reference_state.h"

namespace trainyard::reference {

class Preemption {
 public:
  /// Whether a job may have this place, which these leave to it.
  using MayTake = std::function<bool(std::size_t, const Spots&, const Jobs&)>;
  Preemption(State& state, const Settings& settings, MayTake may_take)
      : state_(state), set_(settings), may_take_(std::move(may_take)) {}

  /// Pauses others for the job, if that is right and makes room for it.
  bool make_room(std::size_t j);
  /// When one of those that could not be paused yet may be; never: none. Asking forgets it.
  Time take_retry() { return std::exchange(retry_, Time::never()); }

  [[nodiscard]] Time pausable_from(std::size_t victim, std::size_t waiter) const;

  struct Room {
    Spots spots;
    Jobs victims;
  };
  [[nodiscard]] std::optional<Room> room_by(std::size_t waiter, const Jobs& leaving) const;
  /// Those that start or run, by when they end: as the policy believes, or as they declare.
  using End = Time (State::*)(std::size_t) const;
  [[nodiscard]] Jobs by_end(End end = &State::leaves_at) const;

 private:
  bool make_room_by_score(std::size_t j);
  bool make_room_by_gain(std::size_t j);
  bool make_room_by_rank(std::size_t j);
  [[nodiscard]] bool ranks_before(const PauseCase& w, std::size_t waiter, std::size_t victim) const;
  [[nodiscard]] double ends_until(std::size_t waiter) const;
  [[nodiscard]] Jobs those_that_pay(const PauseCase& empty, std::size_t waiter,
                                    const Jobs& longest_first, std::size_t pool) const;
  [[nodiscard]] PauseCase pause_case(std::size_t waiter) const;
  [[nodiscard]] PauseCase::Victim pause_terms(std::size_t victim) const;
  [[nodiscard]] std::optional<Spots> within_reach(std::size_t waiter, std::size_t freed_by,
                                                  const Free& free) const;
  [[nodiscard]] PauseCase gain_by(const PauseCase& empty, std::size_t waiter,
                                  const Room& room) const;
  [[nodiscard]] double size(std::size_t j) const;
  [[nodiscard]] Jobs would_rather_see_leave(std::size_t waiter) const;
  void retry_at(Time t) { retry_ = std::min(retry_, t); }

  State& state_;
  const Settings& set_;
  MayTake may_take_;
  Time retry_ = Time::never();
};

}  // namespace trainyard::reference
