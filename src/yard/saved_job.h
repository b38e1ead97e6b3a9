// All that the yard knows of one job, as a value: for those who keep it on disk and give it back
// to a new yard (Yard::save, Yard::restore).
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/resources.h"
#include "base/time.h"
#include "model/placement.h"
#include "perf/run_progress.h"
#include "yard/event.h"
#include "yard/job_state.h"

namespace trainyard {

/// Where a job is, or shall be.
struct SavedRoom {
  Placement placement;
  std::vector<std::vector<std::int32_t>> gpus;  // of each share: which of the machine's
  std::vector<Resources> missing;               // of each share, while the room is being made
  FlowClass flow = kFirstFlow;
  /// Of a worker of each share, where it may differ from machine to machine.
  std::vector<Resources> each = {};

  bool operator==(const SavedRoom&) const = default;
};

struct SavedJob {
  JobState state;
  // While it is reserved or holds GPUs:
  SavedRoom room;
  JobId room_for = kNoJob;  // while draining: who gets the room, or leads those who do
  SavedRoom next;           // while draining, if it moves: where to
  JobId lead = kNoJob;      // leads those whose rooms are made together with this job's
  RunProgress progress;     // of the run; `done` is the state's
  Duration brought;         // work that was done before the run
  Estimate estimate;        // where it is another than when it was submitted
  // For whom it was paused so far, once for each pause: those it may not soon pause in turn.
  std::vector<JobId> yielded_to;
};

}  // namespace trainyard
