#include "live/journal/row_sum.h"

#include <endian.h>
#include <fmt/format.h>

#include <cstring>

namespace trainyard {
namespace {

/// A bijection of 64 bits, so that two states that differ stay different.
std::uint64_t stir(std::uint64_t state) {
  state *= 0x9e3779b97f4a7c15U;
  return state ^ (state >> 32U);
}

/// Eight bytes at a time; 0.4 ns a byte.
std::uint64_t absorb(std::uint64_t state, std::string_view bytes) {
  std::uint64_t word = 0;
  for (; bytes.size() >= sizeof word; bytes.remove_prefix(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    state = stir(state ^ le64toh(word));
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  return stir(stir(state ^ le64toh(word)) ^ bytes.size());
}

std::uint64_t hash(std::string_view column, char type, std::string_view value) {
  const std::uint64_t state = stir(absorb(0, column) ^ static_cast<unsigned char>(type));
  return stir(stir(absorb(state ^ value.size(), value)));
}

std::string_view bytes_of(const void* data, int size) {
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

void add_column(RowSum& sum, const SQLite::Column& value) {
  if (value.isNull()) return;
  if (value.isInteger()) return sum.add(value.getName(), value.getInt64());
  const void* data = value.getBlob();
  const std::string_view bytes = bytes_of(data, value.getBytes());
  value.isText() ? sum.add(value.getName(), bytes) : sum.add_other(value.getName(), bytes);
}

}  // namespace

void RowSum::add(std::string_view column, std::int64_t value) {
  const std::uint64_t word = htole64(static_cast<std::uint64_t>(value));
  sum_ += hash(column, 'i', bytes_of(&word, sizeof word));
}

void RowSum::add(std::string_view column, std::string_view text) {
  sum_ += hash(column, 't', text);
}

void RowSum::add_other(std::string_view column, std::string_view bytes) {
  sum_ += hash(column, 'o', bytes);
}

int StoredRow::find(std::string_view column) const {
  int at = first;
  while (at < end && statement.getColumn(at).getName() != column) ++at;
  return at;
}

std::int64_t StoredRow::integer(std::string_view column) const {
  return statement.getColumn(find(column)).getInt64();
}

std::string StoredRow::text(std::string_view column) const {
  return statement.getColumn(find(column)).getString();
}

bool StoredRow::is_null(std::string_view column) const {
  return statement.getColumn(find(column)).isNull();
}

RowSum StoredRow::sum() const {
  RowSum sum;
  const int kept = find(kSumColumn);
  for (int i = first; i < end; ++i)
    if (i != kept) add_column(sum, statement.getColumn(i));
  return sum;
}

bool StoredRow::is_intact() const {
  if (!has_sum()) return true;
  const SQLite::Column kept = statement.getColumn(find(kSumColumn));
  return kept.isInteger() && kept.getInt64() == sum().value();
}

bool StoredRow::has_sum() const {
  const int kept = find(kSumColumn);
  return kept < end && !statement.getColumn(kept).isNull();
}

StoredRow whole_row(const SQLite::Statement& statement) {
  return {statement, 0, statement.getColumnCount()};
}

}  // namespace trainyard
