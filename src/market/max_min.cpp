#include "market/max_min.h"

#include <Clp_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

namespace trainyard {
namespace {

/// Jobs that are alike.
struct TimeSharers {
  std::vector<std::int32_t> worth;  // on each kind, over the best, in thousandths
  std::int32_t gpus = 0;
  double number = 0;
};

/// The columns of the program: a cell for each class and kind where it can run, then the least.
class MaxMinProgram {
 public:
  MaxMinProgram(std::span<const std::int32_t> gpus_of_kind,
                const std::vector<TimeSharers>& classes);

  /// Shares of time, by class and kind.
  [[nodiscard]] std::vector<double> solve();

 private:
  struct Cell {
    std::size_t of = 0, kind = 0;
    double worth = 0;  // of all the time
  };

  void add_cells(std::size_t of, const TimeSharers& jobs);
  void load();
  [[nodiscard]] std::vector<double> shares() const;

  std::span<const std::int32_t> gpus_of_kind_;
  const std::vector<TimeSharers>& classes_;
  std::vector<Cell> cells_;
  std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> clp_;
};

MaxMinProgram::MaxMinProgram(std::span<const std::int32_t> gpus_of_kind,
                             const std::vector<TimeSharers>& classes)
    : gpus_of_kind_(gpus_of_kind), classes_(classes), clp_(Clp_newModel(), &Clp_deleteModel) {
  for (std::size_t c = 0; c < classes.size(); ++c) add_cells(c, classes[c]);
  Clp_setLogLevel(clp_.get(), 0);
  load();
}

void MaxMinProgram::add_cells(std::size_t of, const TimeSharers& jobs) {
  double even = 0, all = 0;
  for (std::size_t kind = 0; kind < gpus_of_kind_.size(); ++kind) {
    even += jobs.worth[kind] * static_cast<double>(gpus_of_kind_[kind]);
    all += gpus_of_kind_[kind];
  }
  for (std::size_t kind = 0; kind < gpus_of_kind_.size(); ++kind)
    if (jobs.worth[kind] > 0)
      cells_.push_back({of, kind, jobs.worth[kind] * jobs.gpus * all / even});
}

/// Rows: of each class what it is worth to a job less the least, and its time; of each kind its
/// GPUs.
void MaxMinProgram::load() {
  const auto classes = static_cast<int>(classes_.size());
  const int rows = 2 * classes + static_cast<int>(gpus_of_kind_.size());
  const int columns = static_cast<int>(cells_.size()) + 1;
  std::vector<CoinBigIndex> start{0};
  std::vector<int> row;
  std::vector<double> value;
  const auto put = [&](int r, double v) { row.push_back(r), value.push_back(v); };
  for (const Cell& cell : cells_) {
    const TimeSharers& jobs = classes_[cell.of];
    put(static_cast<int>(cell.of), cell.worth);
    put(classes + static_cast<int>(cell.of), 1);
    put(2 * classes + static_cast<int>(cell.kind), jobs.number * jobs.gpus);
    start.push_back(static_cast<CoinBigIndex>(row.size()));
  }
  for (int c = 0; c < classes; ++c) put(c, -1);
  start.push_back(static_cast<CoinBigIndex>(row.size()));

  constexpr double kNoBound = std::numeric_limits<double>::max();  // as Clp has it
  std::vector<double> least(rows, -kNoBound), most(rows, kNoBound);
  std::fill_n(least.begin(), classes, 0);
  std::fill_n(most.begin() + classes, classes, 1);
  std::ranges::copy(gpus_of_kind_, most.begin() + 2 * classes);
  std::vector<double> objective(columns, 0);
  objective.back() = 1;
  Clp_loadProblem(clp_.get(), columns, rows, start.data(), row.data(), value.data(), nullptr,
                  nullptr, objective.data(), least.data(), most.data());
  Clp_setOptimizationDirection(clp_.get(), -1);
}

std::vector<double> MaxMinProgram::shares() const {
  std::vector<double> shares(classes_.size() * gpus_of_kind_.size());
  const double* columns = Clp_primalColumnSolution(clp_.get());
  for (std::size_t i = 0; i < cells_.size(); ++i)
    shares[cells_[i].of * gpus_of_kind_.size() + cells_[i].kind] = std::clamp(columns[i], 0.0, 1.0);
  return shares;
}

std::vector<double> MaxMinProgram::solve() {
  Clp_primal(clp_.get(), 0);
  const std::vector<double> fair = shares();
  // Then the largest sum, where none has less than that; a little less, for the sake of rounding.
  std::vector<double> sum(cells_.size() + 1), floor(cells_.size() + 1);
  for (std::size_t i = 0; i < cells_.size(); ++i)
    sum[i] = cells_[i].worth * classes_[cells_[i].of].number;
  floor.back() = Clp_primalColumnSolution(clp_.get())[cells_.size()] * (1 - 1e-7);
  Clp_chgColumnLower(clp_.get(), floor.data());
  Clp_chgObjCoefficients(clp_.get(), sum.data());
  Clp_primal(clp_.get(), 1);
  constexpr int kOptimal = 0;
  return Clp_status(clp_.get()) == kOptimal ? shares() : fair;
}

}  // namespace

std::vector<double> max_min_shares(std::span<const std::int32_t> gpus_of_kind,
                                   std::span<const std::int32_t> gpus_of_job,
                                   std::span<const double> rate) {
  const std::size_t kinds = gpus_of_kind.size();
  constexpr std::size_t kNoClass = SIZE_MAX;
  std::map<std::pair<std::int32_t, std::vector<std::int32_t>>, std::size_t> known;
  std::vector<TimeSharers> classes;
  std::vector<std::size_t> class_of;
  std::vector<std::int32_t> worth(kinds);
  for (std::size_t job = 0; job < gpus_of_job.size(); ++job) {
    const std::int32_t gpus = gpus_of_job[job];
    const auto rate_on = [&](std::size_t kind) {
      return gpus <= gpus_of_kind[kind] ? rate[job * kinds + kind] : 0;
    };
    double best = 0;
    for (std::size_t kind = 0; kind < kinds; ++kind) best = std::max(best, rate_on(kind));
    class_of.push_back(kNoClass);
    if (best <= 0) continue;
    for (std::size_t kind = 0; kind < kinds; ++kind)
      worth[kind] = static_cast<std::int32_t>(std::ceil(rate_on(kind) / best * 1000));
    const auto [place, is_new] = known.try_emplace({gpus, worth}, classes.size());
    if (is_new) classes.push_back({worth, gpus, 0});
    class_of[job] = place->second;
    ++classes[place->second].number;
  }
  std::vector<double> shares(gpus_of_job.size() * kinds);
  if (classes.empty()) return shares;
  const std::vector<double> of_class = MaxMinProgram(gpus_of_kind, classes).solve();
  for (std::size_t job = 0; job < gpus_of_job.size(); ++job)
    for (std::size_t kind = 0; class_of[job] != kNoClass && kind < kinds; ++kind)
      shares[job * kinds + kind] = of_class[class_of[job] * kinds + kind];
  return shares;
}

}  // namespace trainyard
