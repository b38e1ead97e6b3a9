// The supervisor's side of the files in run_plan.h: that a run is begun at most once, and that its
// end can be recorded even when the disk has become full meanwhile.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "live/supervisor/run_plan.h"
#include "live/system/files.h"
#include "live/system/user_files.h"

namespace trainyard {

struct BegunRun {
  Descriptor lock;     // held by this process until it ends
  Descriptor started;  // to be written when all workers run
  Descriptor end;      // exit.json as it will be, with its place on disk taken
};

/// Fails if another supervisor has the run, or if it was begun, or given up, before.
Expected<BegunRun> begin_run(const std::string& directory);
/// What the job said about saving, in a file of its user.
JobWord word_of_job(const UserDirectory& own, uid_t user);
/// The file by which it asks to be run again.
std::optional<UserFile> requeue_of_job(const UserDirectory& own, uid_t user);
Expected<void> record_end(const std::string& directory, const Descriptor& file, RunEnd end);

}  // namespace trainyard
