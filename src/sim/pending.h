// What is going to happen to jobs next: at most one thing each (it will have loaded, finished or
// drained), ordered by (time, sequence number), so that ties never depend on chance. A heap that
// knows every job's place in it, so that a pause takes the finish back instead of leaving a stale
// event behind. Four children a node: half the levels of a binary heap, all in one cache line or
// two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "yard/event.h"

namespace trainyard {

class PendingEvents {
 public:
  struct Entry {
    Time at;
    std::uint64_t sequence = 0;
    JobId job = kNoJob;
    EventKind kind{};

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.at != b.at ? a.at < b.at : a.sequence < b.sequence;
    }
  };

  explicit PendingEvents(std::size_t jobs) : place_(jobs, kNowhere) {}

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Time next() const { return heap_.empty() ? Time::never() : heap_.front().at; }
  [[nodiscard]] const Entry& top() const { return heap_.front(); }

  /// Those that have something pending, in the order in which it happens.
  [[nodiscard]] std::vector<JobId> order() const {
    std::vector<Entry> entries = heap_;
    std::sort(entries.begin(), entries.end());
    std::vector<JobId> jobs;
    for (const Entry& entry : entries) jobs.push_back(entry.job);
    return jobs;
  }

  /// The job has nothing pending.
  void push(Time at, EventKind kind, JobId job) {
    heap_.emplace_back();
    rise(heap_.size() - 1, {at, sequence_++, job, kind});
  }

  /// Whatever the job has pending, if anything.
  void cancel(JobId job) {
    const std::uint32_t place = place_[index(job)];
    if (place == kNowhere) return;
    remove(place);
  }

  void pop() { remove(0); }

 private:
  static constexpr std::uint32_t kNowhere = static_cast<std::uint32_t>(-1);

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[index(entry.job)] = static_cast<std::uint32_t>(at);
  }

  void remove(std::size_t at) {
    place_[index(heap_[at].job)] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (at > 0 && last < heap_[(at - 1) / 4]) {
      rise(at, last);
    } else {
      sink(at, last);
    }
  }

  void rise(std::size_t at, const Entry& entry) {
    while (at > 0 && entry < heap_[(at - 1) / 4]) {
      put(at, heap_[(at - 1) / 4]);
      at = (at - 1) / 4;
    }
    put(at, entry);
  }

  void sink(std::size_t at, const Entry& entry) {
    while (4 * at + 1 < heap_.size()) {
      const std::size_t first = 4 * at + 1, end = std::min(first + 4, heap_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child)
        if (heap_[child] < heap_[least]) least = child;
      if (!(heap_[least] < entry)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // by job
  std::uint64_t sequence_ = 0;
};

}  // namespace trainyard
