// What happens to jobs and machines, as lines of the log. Many events that come together and differ
// in their job alone, as when an array is cancelled, are one line; a few have a line each.
//
// One thread.
#pragma once

#include <map>
#include <span>
#include <string>

#include "live/service/service.h"
#include "live/system/log.h"

namespace trainyard {

class EventLog {
 public:
  explicit EventLog(Log& log) : log_(log) {}

  /// "job 3 of ada is starting: gpus 0,1, run 1". Also of kinds of event that come later. Where
  /// many come together their one line is written by settle().
  void add(std::span<const LiveEvent> events);
  /// Writes the lines of those groups that have not grown since it was last called.
  void settle();
  /// Writes all of them.
  void flush();
  /// True if lines are still to be written.
  [[nodiscard]] bool is_waiting() const { return !groups_.empty(); }

 private:
  struct Group {
    LiveEvent first;
    JobNumber lowest = 0, highest = 0;
    std::size_t count = 0;
    bool has_grown = true;
  };
  void write(const Group& group);

  Log& log_;
  std::map<std::string, Group> groups_;
};

}  // namespace trainyard
