// A sorted list of small values: insert, erase and look-up by value in O(log n), walked in order
// in either direction. Values sit side by side in chunks, so a walk is a walk through memory and
// an insert moves a few cache lines and allocates nothing most of the time.
//
// A walk can pass a whole chunk at once by what it noted of its values when it looked at them last:
// each chunk has a Note, which is a new one after any change of the chunk.
//
// Values are unique and totally ordered by <. Any change invalidates a walk under way.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace trainyard {

struct NoNote {};

template <class T, class Note = NoNote>
class SortedList {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const T& front() const { return *chunks_.front()->begin(); }
  [[nodiscard]] const T& back() const { return *(chunks_.back()->end() - 1); }

  void clear() {
    chunks_.clear();
    size_ = 0;
  }

  /// Inserts a value that is not in the list.
  void insert(const T& value) {
    ++size_;
    if (chunks_.empty()) {
      chunks_.push_back(take_spare());
      return chunks_.front()->insert(value);
    }
    const std::size_t at = std::min(chunk_of(value), chunks_.size() - 1);
    Chunk& chunk = *chunks_[at];
    if (!chunk.full()) return chunk.insert(value);
    // Appending in order, the common case of a queue, leaves full chunks behind.
    const bool append = at + 1 == chunks_.size() && *(chunk.end() - 1) < value;
    auto right = take_spare();
    if (!append) chunk.move_upper_half_to(*right);
    Chunk& target = append || *right->begin() < value ? *right : chunk;
    target.insert(value);
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(right));
  }

  /// False when the value is not in the list.
  bool erase(const T& value) {
    const std::size_t at = chunk_of(value);
    if (at == chunks_.size() || !chunks_[at]->erase(value)) return false;
    --size_;
    if (chunks_[at]->empty()) {
      spare_ = std::move(chunks_[at]);
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return true;
  }

  [[nodiscard]] bool contains(const T& value) const {
    const std::size_t at = chunk_of(value);
    return at < chunks_.size() &&
           std::binary_search(chunks_[at]->begin(), chunks_[at]->end(), value);
  }

  /// How many values are smaller than this one.
  [[nodiscard]] std::size_t rank(const T& value) const {
    const std::size_t at = chunk_of(value);
    std::size_t below = 0;
    for (std::size_t i = 0; i < at; ++i) below += chunks_[i]->size();
    if (at == chunks_.size()) return below;
    const Chunk& chunk = *chunks_[at];
    return below + static_cast<std::size_t>(std::lower_bound(chunk.begin(), chunk.end(), value) -
                                            chunk.begin());
  }

  /// Calls visit(value) from the smallest on, until it returns false. True: all were visited.
  template <class Visit>
  bool each(Visit visit) const {
    for (const auto& chunk : chunks_)
      for (const T& value : *chunk)
        if (!visit(value)) return false;
    return true;
  }

  /// The same from this value on, which need not be in the list.
  template <class Visit>
  bool each_from(const T& first, Visit visit) const {
    return each_from(
        first, [](std::span<const T>, Note&) { return false; }, visit);
  }

  /// The same without the chunks for which pass(values, note) is true; it is not asked of the
  /// first.
  template <class Pass, class Visit>
  bool each_from(const T& first, Pass pass, Visit visit) const {
    const std::size_t at = chunk_of(first);
    for (std::size_t i = at; i < chunks_.size(); ++i) {
      if (i > at && pass({chunks_[i]->begin(), chunks_[i]->end()}, chunks_[i]->note())) continue;
      const T* value = chunks_[i]->begin();
      if (i == at) value = std::lower_bound(value, chunks_[i]->end(), first);
      for (; value != chunks_[i]->end(); ++value)
        if (!visit(*value)) return false;
    }
    return true;
  }

  /// The same from the largest down.
  template <class Visit>
  bool each_reverse(Visit visit) const {
    for (std::size_t i = chunks_.size(); i-- > 0;)
      for (const T* value = chunks_[i]->end(); value != chunks_[i]->begin();)
        if (!visit(*--value)) return false;
    return true;
  }

  /// From the largest down, one by one.
  class Descent {
   public:
    Descent() = default;
    explicit Descent(const SortedList& list) : list_(&list), chunk_(list.chunks_.size()) {
      next_chunk();
    }
    [[nodiscard]] bool done() const { return end_ == begin_; }
    [[nodiscard]] const T& operator*() const { return *(end_ - 1); }
    void next() {
      if (--end_ == begin_) next_chunk();
    }

   private:
    void next_chunk() {
      if (chunk_ == 0) return;
      --chunk_;
      begin_ = list_->chunks_[chunk_]->begin(), end_ = list_->chunks_[chunk_]->end();
    }

    const SortedList* list_ = nullptr;
    std::size_t chunk_ = 0;
    const T *begin_ = nullptr, *end_ = nullptr;
  };

 private:
  static constexpr std::size_t kCapacity = 64;

  /// Values [first, last) of an array; a gap at either end makes popping the front cheap.
  class Chunk {
   public:
    [[nodiscard]] const T* begin() const { return items_.data() + first_; }
    [[nodiscard]] const T* end() const { return items_.data() + last_; }
    [[nodiscard]] std::size_t size() const { return last_ - first_; }
    [[nodiscard]] bool empty() const { return first_ == last_; }
    [[nodiscard]] bool full() const { return size() == kCapacity; }
    [[nodiscard]] Note& note() const { return note_; }
    void reset() { first_ = last_ = 0, note_ = {}; }

    void insert(const T& value) {
      note_ = {};
      const T* place = std::lower_bound(begin(), end(), value);
      auto at = static_cast<std::size_t>(place - items_.data());
      const bool nearer_front = at - first_ < last_ - at;
      if (first_ > 0 && (nearer_front || last_ == kCapacity)) {
        std::move(items_.begin() + first_, items_.begin() + at, items_.begin() + first_ - 1);
        --first_, --at;
      } else {
        std::move_backward(items_.begin() + at, items_.begin() + last_, items_.begin() + last_ + 1);
        ++last_;
      }
      items_[at] = value;
    }

    bool erase(const T& value) {
      const T* place = std::lower_bound(begin(), end(), value);
      if (place == end() || value < *place) return false;
      note_ = {};
      const auto at = static_cast<std::size_t>(place - items_.data());
      if (at - first_ < last_ - at) {
        std::move_backward(items_.begin() + first_, items_.begin() + at, items_.begin() + at + 1);
        ++first_;
      } else {
        std::move(items_.begin() + at + 1, items_.begin() + last_, items_.begin() + at);
        --last_;
      }
      return true;
    }

    void move_upper_half_to(Chunk& right) {
      const std::size_t half = first_ + size() / 2;
      std::move(items_.begin() + half, items_.begin() + last_, right.items_.begin());
      right.first_ = 0, right.last_ = last_ - half;
      last_ = half;
      note_ = {}, right.note_ = {};
    }

   private:
    std::size_t first_ = 0, last_ = 0;
    [[no_unique_address]] mutable Note note_{};
    std::array<T, kCapacity> items_;
  };

  /// The first chunk whose largest value is not below this one; chunks_.size() when there is none.
  [[nodiscard]] std::size_t chunk_of(const T& value) const {
    const auto found = std::partition_point(chunks_.begin(), chunks_.end(), [&](const auto& chunk) {
      return *(chunk->end() - 1) < value;
    });
    return static_cast<std::size_t>(found - chunks_.begin());
  }

  std::unique_ptr<Chunk> take_spare() {
    if (spare_ == nullptr) return std::make_unique<Chunk>();
    spare_->reset();
    return std::move(spare_);
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;  // none is empty
  std::unique_ptr<Chunk> spare_;                // the last one emptied, to save an allocation
  std::size_t size_ = 0;
};

}  // namespace trainyard
