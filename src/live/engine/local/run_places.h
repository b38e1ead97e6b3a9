// Where in the state directory the files of jobs are.
//
//   runs/u1000/jobs/17.2       run 2 of job 17, of the user with the number 1000
//   checkpoints/u1000/jobs/17  the checkpoints of that job
//
// Only the daemon's user and user 1000 can pass through u1000 (system/closed_directory.h): other
// users cannot ask the file system for the owner, times or sizes of what is below. They can ask for
// the times of u1000 itself. So it holds one directory, `jobs`, for good, and its times say no more
// than since when the user has run jobs here.
//
// Older daemons had 17.2 and 17 directly in runs/ and checkpoints/. They are found there, too, as
// their runs may live; hide_old() moves what no process needs there any more.
//
// The constant functions may be called from any thread, the others from one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/engine/engine.h"
#include "live/system/log.h"
#include "live/system/user_files.h"

namespace trainyard {

class RunPlaces {
 public:
  /// Which a RunPlan has: below the state directory.
  struct Folders {
    std::string runs, checkpoints;
  };

  /// `state` has runs/ and checkpoints/. Gives the folders of users that are there their rights
  /// again, which a copy may have lost.
  static Expected<std::unique_ptr<RunPlaces>> open(std::string state);

  /// The folders for a new run: where it or its job has something already, else the user's, which
  /// are made if they are missing.
  Expected<Folders> folders_for(RunId id, uid_t user, gid_t group);
  /// Moves what older daemons have left where all users can look at it, but for runs that have not
  /// ended and the checkpoints of their jobs.
  void hide_old(Log& log);

  /// The run's directory. One that does not exist would be among the daemon's own.
  [[nodiscard]] std::string run(RunId id) const;
  [[nodiscard]] UserDirectory checkpoints(JobNumber job) const;
  /// All run directories, those without a living run included.
  [[nodiscard]] std::vector<RunId> runs() const;
  [[nodiscard]] std::vector<JobNumber> jobs_with_checkpoints() const;

 private:
  explicit RunPlaces(std::string state) : state_(std::move(state)) {}

  Expected<void> make(uid_t user, gid_t group);
  [[nodiscard]] std::vector<std::string> folders() const;
  [[nodiscard]] std::string folder_of(const std::string& kind, const std::string& name,
                                      uid_t else_of) const;
  void hide_old_runs(Log& log);
  void hide_old_checkpoints(Log& log);

  std::string state_;
  mutable std::mutex mutex_;
  std::vector<uid_t> users_;  // whose folders there are
};

/// Reads "17.2", or "17" alone as run 0.
std::optional<RunId> parse_run(std::string_view text);

}  // namespace trainyard
