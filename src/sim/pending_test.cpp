#include "sim/pending.h"

#include <gtest/gtest.h>

#include <queue>
#include <set>

#include "base/random.h"

namespace trainyard {
namespace {

TEST(PendingEvents, ByTimeAndThenInTheOrderTheyCame) {
  PendingEvents pending(3);
  EXPECT_EQ(pending.next(), Time::never());
  pending.push(Time{5}, EventKind::finished, JobId{2});
  pending.push(Time{5}, EventKind::loaded, JobId{0});
  pending.push(Time{3}, EventKind::drained, JobId{1});
  std::vector<JobId> jobs;
  for (; !pending.empty(); pending.pop()) jobs.push_back(pending.top().job);
  EXPECT_EQ(jobs, (std::vector{JobId{1}, JobId{2}, JobId{0}}));
}

TEST(PendingEvents, CancellingTakesItBack) {
  PendingEvents pending(2);
  pending.push(Time{1}, EventKind::finished, JobId{0});
  pending.push(Time{2}, EventKind::finished, JobId{1});
  pending.cancel(JobId{0});
  pending.cancel(JobId{0});  // nothing is pending any more
  EXPECT_EQ(pending.top().job, JobId{1});
  pending.push(Time{3}, EventKind::loaded, JobId{0});
  pending.pop();
  EXPECT_EQ(pending.top().kind, EventKind::loaded);
}

/// A priority queue that leaves cancelled entries in and passes over them.
class LazyTwin {
 public:
  void push(const PendingEvents::Entry& entry) {
    entries_.push(entry), alive_.insert(entry.sequence);
  }
  void cancel(std::uint64_t sequence) { alive_.erase(sequence), drop_dead(); }
  void pop() { alive_.erase(entries_.top().sequence), drop_dead(); }
  [[nodiscard]] bool empty() const { return alive_.empty(); }
  [[nodiscard]] const PendingEvents::Entry& top() const { return entries_.top(); }

 private:
  void drop_dead() {
    while (!entries_.empty() && !alive_.contains(entries_.top().sequence)) entries_.pop();
  }
  struct Later {
    bool operator()(const PendingEvents::Entry& a, const PendingEvents::Entry& b) const {
      return b < a;
    }
  };
  std::priority_queue<PendingEvents::Entry, std::vector<PendingEvents::Entry>, Later> entries_;
  std::set<std::uint64_t> alive_;
};

TEST(PendingEvents, AgreesWithAPriorityQueue) {
  constexpr std::uint32_t kJobs = 300;
  Random random(17);
  PendingEvents pending(kJobs);
  LazyTwin twin;
  std::vector<std::optional<std::uint64_t>> sequence_of(kJobs);
  std::uint64_t sequence = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto job = static_cast<std::uint32_t>(random.below(kJobs));
    if (!sequence_of[job] && random.uniform() < 0.8) {
      const Time at{static_cast<std::int64_t>(random.below(100))};
      pending.push(at, EventKind::finished, JobId{job});
      twin.push({at, sequence, JobId{job}, EventKind::finished});
      sequence_of[job] = sequence++;
    } else if (random.uniform() < 0.5) {
      pending.cancel(JobId{job});
      if (sequence_of[job]) twin.cancel(*sequence_of[job]);
      sequence_of[job].reset();
    } else if (!twin.empty()) {
      sequence_of[index(twin.top().job)].reset();
      pending.pop(), twin.pop();
    }
    ASSERT_EQ(pending.empty(), twin.empty()) << "step " << step << " of seed 17";
    if (twin.empty()) continue;
    ASSERT_EQ(pending.next(), twin.top().at);
    ASSERT_EQ(pending.top().job, twin.top().job) << "step " << step;
    ASSERT_EQ(pending.top().sequence, twin.top().sequence);
  }
}

}  // namespace
}  // namespace trainyard
