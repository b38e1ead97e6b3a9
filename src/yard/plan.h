// A plan: what a policy wants done. Every action, or group of actions, is checked against the yard
// as it is written, and the yard moves on at once, so that the next action sees what the last one
// left. A refused action changes nothing; the engine finds what was accepted in the yard's orders.
#pragma once

#include <algorithm>
#include <span>

#include "yard/yard.h"

namespace trainyard {

class Plan {
 public:
  explicit Plan(Yard& yard) : yard_(yard) {}

  Verdict start(JobId job, const Placement& placement, FlowClass flow = kFirstFlow) {
    return note(yard_.start(job, placement, flow));
  }

  /// Pauses the victims and gives their room, with what is free of it now, to the job.
  Verdict make_room(JobId job, const Placement& room, std::span<const JobId> victims,
                    FlowClass flow = kFirstFlow) {
    return note(yard_.make_room(job, room, victims, flow));
  }

  /// All of it or nothing: starts, pauses, moves and new sizes (change.h).
  Verdict change(std::span<const JobChange> group) { return note(yard_.change(group)); }

  // What would be free? While a policy supposes something, yard.free() has it so, and nothing else
  // in the yard does; it ends before anything is asked for.
  void suppose_left(JobId job) { yard_.suppose_left(job); }
  void suppose_placed(JobId job, const Placement& there) { yard_.suppose_placed(job, there); }
  void end_supposing() { yard_.end_supposing(); }

  /// Another flow class for a job that holds GPUs, or whose room is being made.
  Verdict set_flow(JobId job, FlowClass flow) { return note(yard_.set_flow(job, flow)); }

  /// The policy wants to decide again then, whether or not anything happens until then.
  void wake_at(Time time) { wake_ = std::min(wake_, time); }

  [[nodiscard]] Time wake() const { return wake_; }
  /// Actions that the yard refused: a fault of the policy.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  Verdict note(Verdict verdict) {
    if (verdict != Verdict::ok) ++refused_;
    return verdict;
  }

  Yard& yard_;
  Time wake_ = Time::never();
  std::uint64_t refused_ = 0;
};

}  // namespace trainyard
