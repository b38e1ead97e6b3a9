// The jobs that began to run of late, by when, for one question: which was the first that ranks
// high enough? They stand in blocks, each with the highest rank of its jobs, so that a search
// passes blocks: with min_run = 10 min on 100,000 GPUs they are some 20,000, and hardly one does.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace trainyard {

template <class Rank>
class Newcomers {
 public:
  struct Newcomer {
    Time since;
    JobId job = kNoJob;
  };

  /// Later than all others, or at the same time.
  void push(const Newcomer& newcomer, Rank rank) {
    if (blocks_.empty() || blocks_.back().jobs.size() == kSize) {
      blocks_.push_back({.highest = rank});
      blocks_.back().jobs.reserve(kSize);
    }
    blocks_.back().jobs.push_back(newcomer);
    blocks_.back().highest = std::max(blocks_.back().highest, rank);
  }

  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  [[nodiscard]] const Newcomer& front() const { return blocks_.front().jobs[gone_]; }
  void pop_front() {
    if (++gone_ < blocks_.front().jobs.size()) return;
    blocks_.pop_front();
    gone_ = 0;
  }

  /// One that began to run then ranks as high as that now.
  void raise(Time since, Rank rank) {
    auto block = std::partition_point(blocks_.begin(), blocks_.end(),
                                      [&](const Block& b) { return b.jobs.back().since < since; });
    for (; block != blocks_.end() && block->jobs.front().since <= since; ++block)
      block->highest = std::max(block->highest, rank);
  }

  /// Calls visit(newcomer) in order until it returns false; blocks without a rank that is_enough,
  /// which holds for all ranks above one for which it does, are left out.
  template <class IsEnough, class Visit>
  void each(IsEnough is_enough, Visit visit) const {
    std::size_t first = gone_;
    for (const Block& block : blocks_) {
      if (is_enough(block.highest))
        for (std::size_t i = first; i < block.jobs.size(); ++i)
          if (!visit(block.jobs[i])) return;
      first = 0;
    }
  }

 private:
  static constexpr std::size_t kSize = 64;

  struct Block {
    std::vector<Newcomer> jobs = {};
    Rank highest{};  // of any that ever stood here
  };

  std::deque<Block> blocks_;
  std::size_t gone_ = 0;  // of the first block
};

}  // namespace trainyard
