#include "live/book/job_table.h"

#include <algorithm>
#include <stdexcept>

namespace trainyard {

std::size_t JobTable::position(JobNumber number) const {
  const auto found = std::ranges::lower_bound(*blocks_, first_of(number), {},
                                              [](const auto& block) { return block->first; });
  return static_cast<std::size_t>(found - blocks_->begin());
}

const JobTable::Block* JobTable::block_of(JobNumber number) const {
  if (number < 0) return nullptr;
  const std::size_t at = position(number);
  const bool is_there = at < blocks_->size() && (*blocks_)[at]->first == first_of(number);
  return is_there ? (*blocks_)[at].get() : nullptr;
}

const JobRecord* JobTable::find(JobNumber number) const {
  const Block* block = block_of(number);
  return block == nullptr ? nullptr : block->entries[place_of(number)].record.get();
}

const JobRecord* JobTable::first_above(JobNumber number) const {
  for (std::size_t b = position(number); b < blocks_->size(); ++b)
    for (const Entry& entry : (*blocks_)[b]->entries)
      if (entry.record != nullptr && entry.record->number > number) return entry.record.get();
  return nullptr;
}

std::vector<JobNumber> JobTable::numbers() const {
  std::vector<JobNumber> all;
  all.reserve(size_);
  for (const auto& block : *blocks_)
    for (const Entry& entry : block->entries)
      if (entry.record != nullptr) all.push_back(entry.record->number);
  return all;
}

void JobTable::own_list() {
  if (list_edition_ == edition_) return;
  blocks_ = std::make_shared<Blocks>(*blocks_);
  list_edition_ = edition_;
}

JobTable::Block& JobTable::own_block(std::size_t position) {
  std::shared_ptr<Block>& block = (*blocks_)[position];
  if (block->edition != edition_) {
    block = std::make_shared<Block>(*block);
    block->edition = edition_;
  }
  return *block;
}

void JobTable::put(JobRecord record) {
  const JobNumber number = record.number;
  own_list();
  const std::size_t at = position(number);
  if (at == blocks_->size() || (*blocks_)[at]->first != first_of(number)) {
    auto block = std::make_shared<Block>();
    block->first = first_of(number);
    block->edition = edition_;
    blocks_->insert(blocks_->begin() + static_cast<std::ptrdiff_t>(at), std::move(block));
  }
  Block& block = own_block(at);
  Entry& entry = block.entries[place_of(number)];
  if (entry.record == nullptr) ++block.count, ++size_;
  entry = {std::make_shared<JobRecord>(std::move(record)), edition_};
}

JobRecord& JobTable::edit(JobNumber number) {
  if (find(number) == nullptr) throw std::logic_error(fmt::format("there is no job {}", number));
  own_list();
  Entry& entry = own_block(position(number)).entries[place_of(number)];
  if (entry.edition != edition_) entry = {std::make_shared<JobRecord>(*entry.record), edition_};
  return *entry.record;
}

void JobTable::erase(JobNumber number) {
  if (find(number) == nullptr) return;
  own_list();
  const std::size_t at = position(number);
  Block& block = own_block(at);
  block.entries[place_of(number)] = {};
  --size_;
  if (--block.count == 0) blocks_->erase(blocks_->begin() + static_cast<std::ptrdiff_t>(at));
}

JobTable JobTable::share() {
  ++edition_;
  return *this;
}

}  // namespace trainyard
