#include "market/assignment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trainyard {
namespace {

class LaneMatching {
 public:
  LaneMatching(std::span<const Lanes> lanes, std::size_t kinds, std::span<const double> takes_s)
      : lanes_(lanes), kinds_(kinds), takes_s_(takes_s), column_of_(takes_s.size() / kinds, kNone) {
    for (std::size_t l = 0; l < lanes.size(); ++l)
      if (lanes[l].number > 0) columns_.push_back({.lanes = l, .from_last = 1});
  }

  void add(std::size_t job);
  [[nodiscard]] LanePlace place_of(std::size_t job) const {
    if (column_of_[job] == kNone) return {};
    const Column& column = columns_[column_of_[job]];
    return {column.lanes, column.from_last};
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  /// The places of some lanes that are so many from the last, and the search's notes on them.
  struct Column {
    std::size_t lanes = 0;
    std::int32_t from_last = 1;
    std::vector<std::size_t> jobs = {};
    double potential = 0;
    double distance = 0;
    std::size_t via = 0;  // the job that would move there
    bool is_reached = false;
  };

  [[nodiscard]] double cost(std::size_t job, const Column& column) const {
    const Lanes& lanes = lanes_[column.lanes];
    return lanes.free_s + column.from_last * takes_s_[job * kinds_ + lanes.kind];
  }
  [[nodiscard]] bool is_full(const Column& column) const {
    return std::ssize(column.jobs) == lanes_[column.lanes].number;
  }
  [[nodiscard]] std::size_t search(std::size_t job);
  void look_from(std::size_t job, double base);
  void move_along(std::size_t job, std::size_t end);

  std::span<const Lanes> lanes_;
  std::size_t kinds_;
  std::span<const double> takes_s_;
  std::vector<Column> columns_;  // those that are full, and the next of all lanes
  std::vector<std::size_t> column_of_;
};

/// If the job moved, having come so far: what lies behind it.
void LaneMatching::look_from(std::size_t job, double base) {
  for (Column& column : columns_) {
    if (column.is_reached) continue;
    const double distance = base + cost(job, column) - column.potential;
    if (distance >= column.distance) continue;
    column.distance = distance;
    column.via = job;
  }
}

/// The nearest column with room; kNone if the job can go nowhere.
std::size_t LaneMatching::search(std::size_t job) {
  for (Column& column : columns_) column.distance = kInfinite, column.is_reached = false;
  look_from(job, 0);
  while (true) {
    std::size_t nearest = kNone;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (!columns_[c].is_reached && std::isfinite(columns_[c].distance) &&
          (nearest == kNone || columns_[c].distance < columns_[nearest].distance))
        nearest = c;
    if (nearest == kNone || !is_full(columns_[nearest])) return nearest;
    Column& column = columns_[nearest];
    column.is_reached = true;
    for (const std::size_t other : column.jobs)
      look_from(other, column.distance - cost(other, column) + column.potential);
  }
}

void LaneMatching::move_along(std::size_t job, std::size_t end) {
  for (std::size_t to = end, moved = kNone; moved != job;) {
    moved = columns_[to].via;
    const std::size_t from = column_of_[moved];
    columns_[to].jobs.push_back(moved);
    column_of_[moved] = to;
    if (from != kNone) std::erase(columns_[from].jobs, moved);
    to = from;
  }
}

void LaneMatching::add(std::size_t job) {
  const std::size_t end = search(job);
  if (end == kNone) return;
  for (Column& column : columns_)
    if (column.is_reached) column.potential += column.distance - columns_[end].distance;
  move_along(job, end);
  if (is_full(columns_[end]))
    columns_.push_back({.lanes = columns_[end].lanes, .from_last = columns_[end].from_last + 1});
}

}  // namespace

std::vector<LanePlace> assign_to_lanes(std::span<const Lanes> lanes, std::size_t kinds,
                                       std::span<const double> takes_s) {
  LaneMatching matching(lanes, kinds, takes_s);
  const auto shortest_s = [&](std::size_t job) {
    return *std::min_element(takes_s.begin() + static_cast<std::ptrdiff_t>(job * kinds),
                             takes_s.begin() + static_cast<std::ptrdiff_t>((job + 1) * kinds));
  };
  std::vector<std::size_t> order(takes_s.size() / kinds);
  std::iota(order.rbegin(), order.rend(), 0);  // of jobs that are alike the first goes first
  std::ranges::stable_sort(order, std::greater<>{}, shortest_s);
  for (const std::size_t job : order) matching.add(job);
  std::vector<LanePlace> places;
  for (std::size_t job = 0; job < order.size(); ++job) places.push_back(matching.place_of(job));
  return places;
}

}  // namespace trainyard
