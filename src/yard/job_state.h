// What the yard keeps of every job: its phase, and its books (yard.h, rule 5).
#pragma once

#include <cstdint>

#include "base/time.h"
#include "yard/event.h"
#include "yard/shape.h"

namespace trainyard {

struct JobState {
  Phase phase = Phase::absent;
  bool lost_by_pause = false;  // when it last left to make room, it kept nothing of that run
  std::uint32_t pauses = 0;
  ShapeId shape{0};
  std::uint32_t run = 0;  // index of its Run while it is reserved or holds GPUs
  Time since;             // when the present phase began
  Time first_start = Time::never();
  Duration done;    // work that counts; while running, up to when its rate last changed
  Duration waited;  // in the queue, up to the present phase
  Duration lost;    // time it held GPUs without lasting progress, up to the same as `done`
  Duration slowed;  // time that progress took longer than its duration says, up to the same; < 0
                    // where it ran faster

  [[nodiscard]] Time end() const { return has_ended(phase) ? since : Time::never(); }
};

}  // namespace trainyard
