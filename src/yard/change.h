// Changes that belong together: a plan may hand the yard a group of them, which is checked as a
// whole, on what would be free if all of it were done, and accepted as a whole or not at all.
//
// Two running jobs swap places by two changes; a running job grows by one to a larger placement.
// A job that runs saves and leaves first, wherever it goes; each job of the group starts as soon
// as its own room is free.
#pragma once

#include "base/ids.h"
#include "model/placement.h"
#include "yard/event.h"

namespace trainyard {

/// What shall become of one job that waits or runs. A job is in a group once.
struct JobChange {
  JobId job = kNoJob;
  Placement to = {};            // where its workers shall be, and how many; empty: it leaves
  JobId in_favour_of = kNoJob;  // of one that runs: whose turn it is instead (yard.h, rule 4)
  FlowClass flow = kFirstFlow;  // where it goes
};

}  // namespace trainyard
