// Items (machines, racks) by a small count (their free GPUs): "who has at least d?" in a few loads.
//
// For every count a bit set of the items that have it, and above it a summary with a bit for every
// 64 of them. The words of one block of items stand together for all counts, so the items with at
// least d are the OR of neighbouring words: 8 counts of 64 machines are one or two cache lines. A
// last bit set has the counts that any item has: racks have one of a thousand counts, and a dozen
// of these occur.
//
// Example, 8-GPU machines m0..m3 with 3, 8, 0, 3 free: next(0, 4) = m1, next(0, 1) = m0,
// next(1, 1) = m1, smallest_count(2) = 3, and first_with(3) = m0.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard {

class CountIndex {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  /// No item is in the index at first.
  CountIndex(std::size_t items, std::size_t max_count)
      : counts_(max_count + 1),
        blocks_((items + 63) / 64),
        words_(blocks_ * counts_),
        summary_((blocks_ + 63) / 64 * counts_),
        population_(counts_),
        present_((counts_ + 63) / 64) {}

  void insert(std::size_t item, std::size_t count) {
    std::uint64_t& word = words_[(item / 64) * counts_ + count];
    if (word == 0) summary_[(item / 4096) * counts_ + count] |= bit(item / 64);
    word |= bit(item);
    if (population_[count]++ == 0) present_[count / 64] |= bit(count);
  }

  void erase(std::size_t item, std::size_t count) {
    std::uint64_t& word = words_[(item / 64) * counts_ + count];
    word &= ~bit(item);
    if (word == 0) summary_[(item / 4096) * counts_ + count] &= ~bit(item / 64);
    if (--population_[count] == 0) present_[count / 64] &= ~bit(count);
  }

  void move(std::size_t item, std::size_t from, std::size_t to) {
    erase(item, from);
    insert(item, to);
  }

  [[nodiscard]] std::size_t max_count() const { return counts_ - 1; }
  /// How many items have exactly this count.
  [[nodiscard]] std::size_t population(std::size_t count) const { return population_[count]; }

  /// The smallest count of at least `count` that any item has, or kNone.
  [[nodiscard]] std::size_t smallest_count(std::size_t count) const {
    std::uint64_t mask = ~0ULL << (count % 64);
    for (std::size_t word = count / 64; word < present_.size(); ++word, mask = ~0ULL)
      if (const std::uint64_t bits = present_[word] & mask; bits != 0)
        return word * 64 + std::countr_zero(bits);
    return kNone;
  }

  /// The largest count of at most `count` that any item has, or kNone.
  [[nodiscard]] std::size_t largest_count(std::size_t count) const {
    count = std::min(count, counts_ - 1);
    std::uint64_t mask = ~0ULL >> (63 - count % 64);
    for (std::size_t word = count / 64 + 1; word-- > 0; mask = ~0ULL)
      if (const std::uint64_t bits = present_[word] & mask; bits != 0)
        return word * 64 + 63 - std::countl_zero(bits);
    return kNone;
  }
  [[nodiscard]] std::size_t largest_count() const { return largest_count(counts_ - 1); }

  /// The lowest-numbered item with a count in [low, high], from item `from` on; kNone if none.
  [[nodiscard]] std::size_t next(std::size_t from, std::size_t low, std::size_t high) const {
    std::size_t block = from / 64;
    if (block >= blocks_) return kNone;
    const std::uint64_t here = any(words_, block, low, high) & (~0ULL << (from % 64));
    if (here != 0) return block * 64 + std::countr_zero(here);
    ++block;
    for (std::size_t group = block / 64; group * 64 < blocks_; ++group, block = group * 64) {
      const std::uint64_t blocks = any(summary_, group, low, high) & (~0ULL << (block % 64));
      if (blocks == 0) continue;
      block = group * 64 + std::countr_zero(blocks);
      return block * 64 + std::countr_zero(any(words_, block, low, high));
    }
    return kNone;
  }

  [[nodiscard]] std::size_t next(std::size_t from, std::size_t at_least) const {
    return next(from, at_least, counts_ - 1);
  }

  [[nodiscard]] std::size_t first_with(std::size_t count) const { return next(0, count, count); }

 private:
  static std::uint64_t bit(std::size_t i) { return 1ULL << (i % 64); }

  [[nodiscard]] std::uint64_t any(const std::vector<std::uint64_t>& words, std::size_t block,
                                  std::size_t low, std::size_t high) const {
    std::uint64_t bits = 0;
    for (std::size_t count = low; count <= high; ++count) bits |= words[block * counts_ + count];
    return bits;
  }

  std::size_t counts_;                   // number of different counts
  std::size_t blocks_;                   // of 64 items
  std::vector<std::uint64_t> words_;     // [block][count]: which items
  std::vector<std::uint64_t> summary_;   // [group of 64 blocks][count]: which blocks have any
  std::vector<std::size_t> population_;  // [count]
  std::vector<std::uint64_t> present_;   // which counts have any items
};

}  // namespace trainyard
