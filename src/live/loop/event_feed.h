// Who listens to what happened. Events are published once they are on disk; those who wait for them
// are woken at most every 50 ms, all of them at once. The last ones are kept in memory, older ones
// are read from the journal.
//
// publish() and wake() belong to one thread; the rest may be called from any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "live/journal/journal.h"
#include "live/service/event_log.h"
#include "live/service/service.h"
#include "live/system/log.h"

namespace trainyard {

class EventFeed {
 public:
  /// `is_private`: a user is told nothing of other users' jobs.
  EventFeed(const Journal& journal, Log& log, bool is_private)
      : journal_(journal), log_(log), is_private_(is_private) {}
  ~EventFeed() { log_.flush(); }

  /// Where the journal stood when the daemon began.
  void begin_after(std::int64_t sequence);
  void publish(std::vector<LiveEvent> events);
  /// Wakes those who wait if it is time to; how long until it should be called again.
  Duration wake(Time now);
  /// Nobody waits any more.
  void end();

  [[nodiscard]] std::int64_t last() const;
  /// As Service::events.
  [[nodiscard]] Service::EventPage page(const Identity& who, std::int64_t after, Duration patience);

 private:
  const Journal& journal_;
  EventLog log_;
  bool is_private_;
  mutable std::mutex mutex_;
  std::condition_variable come_;
  std::deque<LiveEvent> recent_;
  std::int64_t published_ = 0;
  Time last_notice_, last_settled_;
  bool notice_due_ = false, ended_ = false;
};

}  // namespace trainyard
