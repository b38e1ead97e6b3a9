#include <cmath>

#include "bench.h"

namespace trainyard::bench {
namespace {

std::string text(const Target& target) {
  return (target.is == Target::Is::at_least ? ">= " : "<= ") + number(target.value);
}

bool is_met(const Figure& figure) {
  const double goal = figure.target->value;
  return figure.target->is == Target::Is::at_least ? figure.measured >= goal
                                                   : figure.measured <= goal;
}

using Cells = std::array<std::string, 8>;

Cells cells(const Figure& f) {
  Cells row{f.name, number(f.measured), f.unit};
  if (f.target) {
    row[3] = text(*f.target);
    row[4] = is_met(f) ? "met" : "missed";
  }
  if (f.limit) {
    row[5] = number(*f.limit);
    row[6] = number(f.measured / *f.limit);
  }
  row[7] = f.note;
  return row;
}

bool is_number(std::size_t column) {
  return column == 1 || column == 3 || column == 5 || column == 6;
}

/// Pads the cells of a column to one width: numbers in front, words behind.
void align(std::vector<Cells>& rows, std::size_t column) {
  std::size_t width = 3;
  for (const Cells& row : rows) width = std::max(width, row[column].size());
  for (Cells& row : rows)
    row[column].insert(is_number(column) ? 0 : row[column].size(), width - row[column].size(), ' ');
}

/// The line below the header.
std::string rule(const Cells& header) {
  std::string line = "|";
  for (std::size_t column = 0; column < header.size(); ++column)
    line += std::string(header[column].size() + 1, '-') + (is_number(column) ? ":|" : "-|");
  return line;
}

}  // namespace

std::string number(double value) {
  if (value < 999.5) {
    const int whole_digits = value < 1 ? 1 : static_cast<int>(std::log10(value)) + 1;
    return fmt::format("{:.{}f}", value, std::max(0, 3 - whole_digits));
  }
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

bool Table::wants(const std::string& group) const {
  if (!std::regex_search(group, filter_)) return false;
  std::fprintf(stderr, "measuring %s\n", group.c_str());
  return true;
}

void Table::print() const {
  std::vector<Cells> rows{
      {"figure", "measured", "unit", "target", "", "machine's limit", "ratio", "also"}};
  for (const Figure& figure : figures_) rows.push_back(cells(figure));
  for (std::size_t column = 0; column < std::tuple_size_v<Cells>; ++column) align(rows, column);
  for (const Cells& row : rows) {
    fmt::print("| {} |\n", fmt::join(row, " | "));
    if (&row == &rows.front()) fmt::print("{}\n", rule(row));
  }
}

}  // namespace trainyard::bench
