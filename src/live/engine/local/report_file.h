// Reads what a job tells of itself, from a file of its user (system/user_files.h).
#pragma once

#include <sys/types.h>

#include <optional>

#include "live/job/progress.h"
#include "live/system/user_files.h"

namespace trainyard {

class ReportFile {
 public:
  ReportFile(UserDirectory directory, uid_t owner)
      : directory_(std::move(directory)), owner_(owner) {}

  /// What is told now, if it is new and makes sense.
  std::optional<JobProgress> read();

 private:
  UserDirectory directory_;
  uid_t owner_;
  UserFile::Version seen_;
  std::optional<JobProgress> told_;
};

}  // namespace trainyard
