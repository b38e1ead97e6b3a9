#include "workload/import/table.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace trainyard {

TraceTable::TraceTable(const Source& source, LineStyle style)
    : records_(source.text, style),
      separator_(style.separator),
      ends_free_(style.ends_free),
      fields_(source) {
  fields_.at_line(1);
  if (!next_line()) {
    if (!failed()) fields_.complain("the file is empty; the first line must name the columns");
    return;
  }
  check(cells_.split(line_, separator_, is_quoted()));
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    header_.emplace_back(cells_[i]);
    if (!seen.insert(cells_[i]).second)
      fields_.complain(fmt::format("the column {} is there twice", quoted(cells_[i])));
  }
}

TraceTable::TraceTable(const Source& source, LineStyle style,
                       std::span<const std::string_view> columns)
    : records_(source.text, style),
      separator_(style.separator),
      ends_free_(style.ends_free),
      fields_(source),
      header_(columns.begin(), columns.end()),
      header_may_follow_(true) {}

TraceTable::Column TraceTable::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return {name, kAbsent};
  return {name, static_cast<std::size_t>(found - header_.begin())};
}

TraceTable::Column TraceTable::need(std::string_view name) {
  const Column found = column(name);
  if (found.index == kAbsent)
    fields_.complain(fmt::format("the column '{}' is missing; the first line must name it", name));
  return found;
}

bool TraceTable::next() {
  if (!next_line() || !split()) return false;
  const bool is_header = std::exchange(header_may_follow_, false) && cells_[0] == header_[0];
  return !is_header || (next_line() && split());
}

bool TraceTable::next_line() {
  if (failed()) return false;
  const auto more = records_.next(line_);
  fields_.at_line(std::max<std::size_t>(records_.line(), 1));
  if (!more) fields_.complain(more.error().message);
  return more && *more;
}

bool TraceTable::split() {
  check(cells_.split(line_, separator_, is_quoted()));
  const bool is_cut = ends_free_ && cells_.size() > header_.size();
  if (!failed() && cells_.size() != header_.size() && !is_cut)
    fields_.complain(fmt::format("the line has {} fields, and there are {} columns", cells_.size(),
                                 header_.size()));
  return !failed();
}

std::vector<std::string> first_line(std::string_view text, LineStyle style) {
  Records records(text, style);
  std::string_view record;
  Cells cells;
  if (!records.next(record).value_or(false)) return {};
  if (!cells.split(record, style.separator, records.has_quotes())) return {};
  std::vector<std::string> line;
  for (std::size_t i = 0; i < cells.size(); ++i) line.emplace_back(cells[i]);
  return line;
}

bool names_columns(std::string_view text, LineStyle style,
                   std::initializer_list<std::string_view> columns) {
  const std::vector<std::string> header = first_line(text, style);
  return std::all_of(columns.begin(), columns.end(), [&](std::string_view name) {
    return std::find(header.begin(), header.end(), name) != header.end();
  });
}

}  // namespace trainyard
