// Jobs by number, as a value that is shared cheaply: share() gives a copy for others to read, and
// what is changed afterwards is replaced, not overwritten, so that no change reaches the copy.
//
// Records stand in blocks of consecutive numbers. A copy shares the list of blocks; the first
// change after it copies that list (a pointer for each block), the block that it is in (a pointer
// for each of its records), and the record. So of 100,000 jobs a turn in which one changes copies
// some hundreds of pointers and one record.
//
// One thread changes it; a copy may be read by any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "live/book/job_record.h"

namespace trainyard {

class JobTable {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Null when there is none.
  [[nodiscard]] const JobRecord* find(JobNumber number) const;
  /// The one with the smallest number above this; null when there is none.
  [[nodiscard]] const JobRecord* first_above(JobNumber number) const;
  /// By number.
  [[nodiscard]] std::vector<JobNumber> numbers() const;
  /// From the largest number below `before` down (0: from the largest), while `visit` returns true.
  template <class Visit>
  void each_newest_first(JobNumber before, Visit visit) const;

  /// Adds it, or puts it in the place of what has its number.
  void put(JobRecord record);
  /// For changing it, until the next share(). It must be there.
  [[nodiscard]] JobRecord& edit(JobNumber number);
  void erase(JobNumber number);
  [[nodiscard]] JobTable share();

 private:
  static constexpr std::size_t kBlock = 256;

  /// What belongs to this edition has been made since the last share(), and may be written to.
  struct Entry {
    std::shared_ptr<JobRecord> record;
    std::uint64_t edition = 0;
  };
  struct Block {
    std::int64_t first = 0;  // number of its first entry
    std::uint64_t edition = 0;
    std::size_t count = 0;
    std::array<Entry, kBlock> entries;
  };
  using Blocks = std::vector<std::shared_ptr<Block>>;  // ascending; none is empty

  static std::int64_t first_of(JobNumber number) {
    return number - number % static_cast<std::int64_t>(kBlock);
  }
  static std::size_t place_of(JobNumber number) {
    return static_cast<std::size_t>(number % static_cast<std::int64_t>(kBlock));
  }
  /// Where the block of this number is, or would be.
  [[nodiscard]] std::size_t position(JobNumber number) const;
  [[nodiscard]] const Block* block_of(JobNumber number) const;
  void own_list();
  Block& own_block(std::size_t position);

  std::shared_ptr<Blocks> blocks_ = std::make_shared<Blocks>();
  std::uint64_t list_edition_ = 0, edition_ = 0;
  std::size_t size_ = 0;
};

template <class Visit>
void JobTable::each_newest_first(JobNumber before, Visit visit) const {
  for (std::size_t b = before > 0 ? position(before) + 1 : blocks_->size(); b-- > 0;) {
    if (b >= blocks_->size()) continue;
    const Block& block = *(*blocks_)[b];
    for (std::size_t i = kBlock; i-- > 0;) {
      const JobRecord* record = block.entries[i].record.get();
      if (record == nullptr || (before > 0 && record->number >= before)) continue;
      if (!visit(*record)) return;
    }
  }
}

}  // namespace trainyard
