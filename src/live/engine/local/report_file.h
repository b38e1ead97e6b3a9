// Reading what a job tells of itself. The file is in a directory of the job's user, who may put
// anything there: a link to somebody else's file, a FIFO that never answers, a terabyte. Only a
// plain, small file that is that user's own and has one name is read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "live/job/progress.h"

namespace trainyard {

class ReportFile {
 public:
  /// `directory` itself is made by us and cannot be replaced by the user.
  ReportFile(const std::string& directory, uid_t owner);

  /// What is told now, if it is new and makes sense.
  std::optional<JobProgress> read();

 private:
  std::string path_;
  uid_t owner_;
  struct Version {
    ino_t file = 0;
    off_t bytes = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Version&) const = default;
  } seen_;
  std::optional<JobProgress> told_;
};

}  // namespace trainyard
