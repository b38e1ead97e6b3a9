// The queue of waiting jobs, in the order that the order stage gives: by key, ties by number, which
// is the order of submission.
//
// Jobs that are alike stand in a lane of their own. Where the first of a lane finds no room nobody
// behind it in that lane does, so a decision looks at the heads of the lanes and costs the number
// of lanes, not of waiting jobs. A lane whose first found no room is closed until
// something is freed. (By pausing others someone behind it might get room, where order and
// preemption look at different things; it is not tried in that round.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/grow.h"
#include "base/ids.h"
#include "base/sorted_list.h"
#include "base/time.h"

namespace trainyard {

/// Jobs that are alike to the place stage: of one shape, and as ready to be spread out.
enum class LaneId : std::uint32_t {};

class Queue {
 public:
  /// A waiting job, with what tells at a glance that it cannot start: a decision passes thousands.
  struct Entry {
    std::int64_t key = 0;
    JobId job = kNoJob;
    LaneId lane{0};
    std::int64_t claim = 0;  // on the room of others: see PreemptStage
    std::int32_t gpus = 0;
    bool was_paused = false;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.job < b.job;
    }
  };

  /// What none of some entries goes below, so that a decision passes dozens of them at once.
  struct Least {
    bool is_known = false;
    std::int32_t gpus = std::numeric_limits<std::int32_t>::max();
    std::int64_t claim = std::numeric_limits<std::int64_t>::max();
    Time turn = Time::never();  // when one of those that were paused may have its turn
  };

  /// Room for so many jobs at once, where the number is known beforehand.
  void reserve(std::size_t jobs) { grow_to(places_, 0, jobs); }

  void insert(const Entry& entry);
  void erase(JobId job);
  void move(const Entry& entry);

  [[nodiscard]] bool empty() const { return heads_.empty(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const Entry& front() const { return heads_.front(); }
  /// 1 for the next.
  [[nodiscard]] std::size_t place(JobId job) const;

  /// The first job of a lane for which skip(entry) is false, from where this job stands or stood
  /// when it waited; kNoJob when there is none. Those for which skip_all(entries, least) is true
  /// are skipped together: `least` is what it left there when it was last asked of the same.
  template <class SkipAll, class Skip>
  [[nodiscard]] JobId first_not(SkipAll skip_all, Skip skip, JobId from) const {
    JobId found = kNoJob;
    heads_.each_from(place_of(from), skip_all, [&](const Entry& head) {
      if (!skip(head)) found = head.job;
      return found == kNoJob;
    });
    return found;
  }

  /// The jobs of a lane, in order.
  [[nodiscard]] const SortedList<Entry>& lane(LaneId lane) const {
    return lanes_[index(lane)].jobs;
  }
  /// How often a job came to stand before another of the lane that was there already.
  [[nodiscard]] std::uint32_t overtakings(LaneId lane) const {
    return lanes_[index(lane)].overtakings;
  }
  /// Calls visit(entry) for the first of every lane, in order, until it returns false.
  template <class Visit>
  void each_head(Visit visit) const {
    heads_.each(visit);
  }

  /// Appends the first `limit` entries, in order, of the lanes for which skip(lane) is false.
  template <class Skip>
  void collect(std::size_t limit, Skip skip, std::vector<Entry>& out) const;

 private:
  /// Where it stands, or stood.
  [[nodiscard]] Entry place_of(JobId job) const {
    return {places_[index(job)].key, job, places_[index(job)].lane};
  }

  struct Place {
    std::int64_t key = 0;
    LaneId lane{0};
  };
  struct Lane {
    SortedList<Entry> jobs;
    std::uint32_t overtakings = 0;
  };
  std::vector<Lane> lanes_;
  SortedList<Entry, Least> heads_;  // the first of every lane
  std::vector<Place> places_;       // by job, for those that wait or did
  std::size_t size_ = 0;
};

template <class Skip>
void Queue::collect(std::size_t limit, Skip skip, std::vector<Entry>& out) const {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  std::size_t lanes = 0;  // no more than `limit` can matter: the head of each goes before the next
  heads_.each([&](const Entry& head) {
    if (skip(head.lane)) return true;
    std::size_t taken = 0;
    lane(head.lane).each([&](const Entry& e) {
      out.push_back(e);
      return ++taken < limit;
    });
    return ++lanes < limit;
  });
  const auto all = static_cast<std::ptrdiff_t>(out.size()) - first;
  const auto kept = std::min(all, static_cast<std::ptrdiff_t>(limit));
  std::partial_sort(out.begin() + first, out.begin() + first + kept, out.end());
  out.resize(static_cast<std::size_t>(first + kept));
}

}  // namespace trainyard
