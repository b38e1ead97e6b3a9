// Looks ahead, beside the loop: takes the last snapshot, runs the policy forward from it
// (forecast/look_ahead.h), and shows what came out, which all callers then share. It is on a thread
// of its own, at a lower priority, and bounded in time, draws and memory; it takes at most a tenth
// of a core. A forecast is never mended: what is shown is the last that was made, which says of
// when it is, and under which policy.
//
// Jobs that wait and have no promise yet are promised what it says (promise_box.h): that is kept
// with the job, and how past promises missed corrects the next (forecast/track_record.h).
//
// Questions of callers (what if there were a job more?) are answered by the same thread, one after
// another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "live/loop/live_state.h"
#include "live/loop/loop.h"
#include "live/loop/past_jobs.h"
#include "live/service/live_outlook.h"

namespace trainyard {

class Forecaster {
 public:
  /// Uses of the state only what may be used from any thread.
  Forecaster(LiveState& state, const Loop& loop);
  ~Forecaster();

  void begin();
  /// Where the system has no threads: makes one now.
  void make();

  /// The last; empty at first.
  [[nodiscard]] std::shared_ptr<const LiveOutlook> last() const;
  /// Waits for the answer, seconds at most.
  [[nodiscard]] Answer<LiveOutlook> what_if(OutlookQuestion question);

 private:
  struct Asked {
    OutlookQuestion question;
    std::promise<Answer<LiveOutlook>> answer;
  };
  struct Bounds {
    std::size_t draws;
    Duration time;
    std::size_t segments;
  };

  void run(const std::stop_token& stop);
  void answer_one();
  Expected<LiveOutlook> look(const Snapshot& snapshot, const OutlookQuestion& question,
                             const Bounds& bounds);
  void promise(const Snapshot& snapshot, const LiveOutlook& made);
  void note_failure(const std::string& why);

  LiveState& state_;
  const Loop& loop_;
  std::mutex looking_;  // guards what one look at a time works with
  PastJobs past_;
  std::uint64_t seed_ = 0;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable_any asked_or_ending_;
  std::shared_ptr<const LiveOutlook> last_ = std::make_shared<LiveOutlook>();
  std::string last_failure_;
  std::deque<Asked> asked_;
  std::jthread thread_;
};

}  // namespace trainyard
