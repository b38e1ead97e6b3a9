#include "workload/table.h"

#include <algorithm>
#include <unordered_set>

namespace trainyard {

JobTable::JobTable(std::string_view text, std::string_view origin, LineStyle style)
    : records_(text, style), style_(style), fields_(origin) {
  fields_.at_line(1);
  if (!read_cells()) {
    if (!failed()) fields_.complain("the file is empty; the first line must name the columns");
    return;
  }
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    header_.emplace_back(cells_[i]);
    if (!seen.insert(cells_[i]).second)
      fields_.complain(fmt::format("the column {} is there twice", quoted(cells_[i])));
  }
}

JobTable::JobTable(std::string_view text, std::string_view origin, LineStyle style,
                   std::span<const std::string_view> columns)
    : records_(text, style),
      style_(style),
      fields_(origin),
      header_(columns.begin(), columns.end()),
      header_may_follow_(true) {}

JobTable::Column JobTable::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  if (found == header_.end()) return {name, kAbsent};
  return {name, static_cast<std::size_t>(found - header_.begin())};
}

JobTable::Column JobTable::need(std::string_view name) {
  const Column found = column(name);
  if (found.index == kAbsent)
    fields_.complain(fmt::format("the column '{}' is missing; the first line must name it", name));
  return found;
}

bool JobTable::next() {
  if (failed() || !read_cells()) return false;
  if (cells_.size() != header_.size()) {
    fields_.complain(fmt::format("the line has {} fields, and there are {} columns", cells_.size(),
                                 header_.size()));
    return false;
  }
  if (header_may_follow_) {
    header_may_follow_ = false;
    if (cells_[0] == header_[0]) return next();
  }
  return true;
}

bool JobTable::read_cells() {
  std::string_view record;
  const auto more = records_.next(record);
  fields_.at_line(std::max<std::size_t>(records_.line(), 1));
  if (!more) {
    fields_.complain(more.error().message);
    return false;
  }
  if (!*more) return false;
  check(cells_.split(record, style_));
  return !failed();
}

bool names_columns(std::string_view text, LineStyle style,
                   std::initializer_list<std::string_view> columns) {
  const JobTable table(text, "", style);
  return !table.failed() && std::all_of(columns.begin(), columns.end(), [&](std::string_view name) {
    const auto& header = table.header();
    return std::find(header.begin(), header.end(), name) != header.end();
  });
}

}  // namespace trainyard
