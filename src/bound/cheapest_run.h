// The cheapest way to run one gang while GPU time has a price.
//
// A price is in seconds of completion time for a GPU-second. A gang that is ready at a, runs for r
// and holds g GPUs chooses an end C >= a + r and the r cheapest seconds S of [a, C]; it may pause
// as often as it likes. Its cost is
//
//   C + g * (the sum of the prices over S)
//
// One sweep over C finds the least. It begins with the run at once, S = [a, a + r]. As C goes on by
// a second, that second replaces the dearest one of S if it is cheaper: the cost rises by the
// second and falls by g times the difference of the prices. So a second that costs g GPUs at most 1
// is never worth replacing, and the sweep is over when S has no dearer one.
//
// Example: a = 0, r = 3, g = 1, and the price is 2 from 1 to 2, 0 elsewhere. At once the cost is
// 3 + 2 = 5; pausing from 1 to 2 makes it 4 + 0 = 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace trainyard {

/// What a job is to the lower bound. Times are in seconds from the same origin.
struct Gang {
  double submit_s = 0;
  double ready_s = 0;   // from then on it can use `gpus`
  double length_s = 0;  // for which it holds them
  double gpus = 0;
};

/// Constant within each cell; 0 after the last one.
struct Prices {
  std::vector<double> from_s;  // where each cell begins, and the end of the last one
  std::vector<double> price;   // one less than from_s

  [[nodiscard]] std::size_t cells() const { return price.size(); }
  /// The last cell that begins at or before that time, which no cell may begin after.
  [[nodiscard]] std::size_t cell_at(double s) const;
  [[nodiscard]] double cell_s(std::size_t cell) const { return from_s[cell + 1] - from_s[cell]; }
  [[nodiscard]] double at(std::size_t cell) const { return cell < cells() ? price[cell] : 0; }
  [[nodiscard]] double end_s(std::size_t cell) const {
    return cell < cells() ? from_s[cell + 1] : std::numeric_limits<double>::infinity();
  }
};

struct CheapestRun {
  double cost_s = 0;
  double end_s = 0;
  double dearest = 0;  // the run uses all seconds until its end that cost less, and of those that
                       // cost as much what it still needs
};

class RunPlanner {
 public:
  /// The prices must outlive this, and may change between calls.
  explicit RunPlanner(const Prices& prices) : prices_(prices) {}

  CheapestRun plan(const Gang& gang);
  /// How many cells and replacements all calls of plan() went through: what they cost.
  [[nodiscard]] std::uint64_t effort() const { return effort_; }
  /// Adds the GPU-seconds that the run uses of each cell.
  void add_use(const Gang& gang, const CheapestRun& run, std::vector<double>& gpu_s) const;

 private:
  struct Seconds {
    double price, s;
    bool operator<(const Seconds& other) const { return price < other.price; }
  };

  void run_at_once(const Gang& gang);
  void replace_dearest(double price, double s, double gpus);
  void note_cost(double gpus);

  const Prices& prices_;
  std::vector<Seconds> dear_;  // a heap of the seconds of S that may be worth replacing
  std::size_t cell_ = 0;       // of end_s_
  double end_s_ = 0, cost_s_ = 0;
  CheapestRun best_;
  std::uint64_t effort_ = 0;
};

}  // namespace trainyard
