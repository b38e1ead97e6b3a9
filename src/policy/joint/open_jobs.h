// Jobs that leave something open: what a market decides for them is more than whether they run.
#pragma once

#include "yard/yard.h"

namespace trainyard {

/// Whether it may run on GPUs of several kinds, and it is known that it is not as fast on all.
inline bool leaves_kind_open(const Yard& yard, JobId id) {
  return yard.cluster().kinds.size() > 1 && yard.speed() != nullptr &&
         yard.shape(id).kind == kAnyKind && yard.job(id).measured_on != kAnyKind;
}

/// Whether its size is open, or its kind.
inline bool leaves_open(const Yard& yard, JobId id) {
  return yard.job(id).per_worker.gpus > 0 &&
         (yard.job(id).is_elastic() || leaves_kind_open(yard, id));
}

}  // namespace trainyard
