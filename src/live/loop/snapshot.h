// What the scheduler shows of itself: a value that its thread replaces after every turn, when all
// that is in it is on disk. Whoever asks looks at the last one, waits for nobody and keeps nobody
// waiting; and since callers are answered after it was replaced, they find in it what they did.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "live/book/job_table.h"
#include "live/loop/kept_learnt.h"
#include "live/service/service.h"

namespace trainyard {

struct Snapshot {
  using Machines = std::vector<std::shared_ptr<const MachineView>>;

  JobTable jobs;  // that have not ended
  std::size_t running = 0;
  std::shared_ptr<const Cluster> cluster = std::make_shared<Cluster>();
  std::shared_ptr<const Machines> machines = std::make_shared<Machines>();
  std::shared_ptr<const PolicyView> policy = std::make_shared<PolicyView>();
  std::shared_ptr<const FlowTerms> flow_terms = std::make_shared<FlowTerms>();
  std::shared_ptr<const KeptLearnt> kept = std::make_shared<KeptLearnt>();
  Time at, at_steady;  // when it was shown, by the daemon's clock and by the steady one
  Counters counters;
};

/// The last of them. The lock is held for the time of copying a pointer. (Not std::atomic: that
/// of g++ 12 spins, and ThreadSanitizer takes its spinning for a race.)
class LastSnapshot {
 public:
  [[nodiscard]] std::shared_ptr<const Snapshot> get() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  void set(std::shared_ptr<const Snapshot> next) {
    const std::lock_guard lock(mutex_);
    last_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> last_ = std::make_shared<Snapshot>();
};

}  // namespace trainyard
