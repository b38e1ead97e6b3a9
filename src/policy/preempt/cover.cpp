#include "policy/preempt/cover.h"

#include <algorithm>
#include <limits>

namespace trainyard {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::int32_t kNotTaken = -1;

/// A table of rows c = 0..limit and columns w = 0..workers. Without a limit there is one row, which
/// stands for every number of machines.
class Table {
 public:
  Table(std::int32_t limit, std::int32_t workers)
      : columns_(static_cast<std::size_t>(workers) + 1),
        rows_(static_cast<std::size_t>(limit) + 1),
        least_(columns_ * rows_, kNever) {
    for (std::size_t row = 0; row < rows_; ++row) least_[row * columns_] = 0;
  }

  [[nodiscard]] std::size_t cells() const { return least_.size(); }
  [[nodiscard]] std::size_t last_row() const { return rows_ - 1; }
  [[nodiscard]] std::size_t cell(std::size_t row, std::size_t w) const {
    return row * columns_ + w;
  }
  [[nodiscard]] double at(std::size_t cell) const { return least_[cell]; }

  /// Where one is before taking an offer that leads to this row and number of workers.
  [[nodiscard]] std::size_t before(std::size_t row, std::size_t w, std::int32_t taken) const {
    const auto held = static_cast<std::size_t>(taken);
    return cell(rows_ == 1 ? 0 : row - 1, w > held ? w - held : 0);
  }

  /// Adds the offers of one machine; notes for each cell which of them was taken, if any. From the
  /// largest cell down, so that no cell is reached through another of this machine.
  void add(std::span<const CoverOffer> machine, std::vector<std::int32_t>& choice) {
    choice.assign(cells(), kNotTaken);
    for (std::size_t row = rows_; row-- > (rows_ == 1 ? 0U : 1U);)
      for (std::size_t w = columns_; --w > 0;)
        for (std::size_t i = 0; i < machine.size(); ++i) {
          const double price = least_[before(row, w, machine[i].workers)] + machine[i].price;
          if (price >= least_[cell(row, w)]) continue;
          least_[cell(row, w)] = price;
          choice[cell(row, w)] = static_cast<std::int32_t>(i);
        }
  }

 private:
  std::size_t columns_, rows_;
  std::vector<double> least_;
};

}  // namespace

bool cheapest_cover(std::span<const CoverOffer> offers, std::int32_t workers,
                    std::int32_t max_machines, std::vector<CoverOffer>& taken) {
  taken.clear();
  // Every machine holds a worker at least, so a limit of as many machines is none.
  Table table(max_machines < workers ? max_machines : 0, workers);
  struct OffersOfMachine {
    std::span<const CoverOffer> offers;
    std::vector<std::int32_t> choice;
  };
  std::vector<OffersOfMachine> machines;
  for (std::size_t first = 0; first < offers.size();) {
    std::size_t end = first;
    while (end < offers.size() && offers[end].machine == offers[first].machine) ++end;
    machines.push_back({offers.subspan(first, end - first), {}});
    table.add(machines.back().offers, machines.back().choice);
    first = end;
  }
  std::size_t row = table.last_row();
  auto w = static_cast<std::size_t>(workers);
  if (table.at(table.cell(row, w)) == kNever) return false;
  for (auto machine = machines.rbegin(); machine != machines.rend() && w > 0; ++machine) {
    const std::int32_t i = machine->choice[table.cell(row, w)];
    if (i == kNotTaken) continue;
    const CoverOffer& offer = machine->offers[static_cast<std::size_t>(i)];
    taken.push_back(offer);
    w -= std::min(w, static_cast<std::size_t>(offer.workers));
    if (row > 0) --row;
  }
  std::reverse(taken.begin(), taken.end());
  return true;
}

}  // namespace trainyard
