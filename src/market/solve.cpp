#include "market/solve.h"

#include <cmath>
#include <numeric>
#include <optional>

#include "base/random.h"
#include "market/bidding.h"
#include "market/matching.h"
#include "market/trading.h"

namespace trainyard {
namespace {

// The spread of the random factor around the sizes of the relaxation: its logarithm's deviation.
constexpr double kSpread = 0.35;

/// Those that the matching deals with: one GPU for each worker, of any kinds. The others are left
/// to the trades.
std::vector<std::size_t> matchable(const Market& market) {
  std::vector<std::size_t> buyers;
  for (std::size_t i = 0; i < market.size(); ++i) {
    const Buyer& buyer = market.buyer(i);
    const bool is_plain = buyer.gpus == 1 && (buyer.mixes_kinds || buyer.max_workers == 1);
    const bool runs = std::ranges::any_of(market.power(i), [](double power) { return power > 0; });
    if (is_plain && runs) buyers.push_back(i);
  }
  return buyers;
}

class Sampler {
 public:
  Sampler(const Market& market, const SolveOptions& options)
      : market_(market),
        options_(options),
        random_(options.seed),
        buyers_(matchable(market)),
        division_(options.draw == SolveOptions::Draw::guided ? divide(market)
                                                             : std::vector<double>()) {
    for (std::size_t kind = 0; kind < market.kinds(); ++kind) gpus_.push_back(market.gpus(kind));
    all_ = std::accumulate(gpus_.begin(), gpus_.end(), 0);
    for (const std::size_t i : buyers_) least_ += market.buyer(i).min_workers;
  }

  /// The best of all draws, shaken.
  Allocation best() {
    for (int draw = 0; draw < options_.draws; ++draw) consider(match_sizes(draw_sizes(draw)));
    if (!options_.trades) return std::move(*best_);
    if (some_have_workers()) consider(market_.has());
    const auto size = static_cast<std::int64_t>(market_.size());
    for (std::int64_t shake = 0; shake < options_.shaken / size; ++shake) consider(shaken());
    return std::move(*best_);
  }

 private:
  void consider(Allocation found) {
    if (options_.trades) found = trade(market_, found, options_.shares);
    const Costs costs = costs_of(found);
    if (best_ && costs >= least_cost_) return;
    least_cost_ = costs;
    best_ = std::move(found);
  }

  /// How many buyers cost without end, and what the others cost.
  using Costs = std::pair<std::size_t, double>;
  [[nodiscard]] Costs costs_of(const Allocation& allocation) const {
    Costs costs{};
    for (std::size_t i = 0; i < market_.size(); ++i) {
      const double cost = market_.cost(i, allocation.of(i));
      if (cost == kUnpayable)
        ++costs.first;
      else
        costs.second += cost;
    }
    return costs;
  }

  [[nodiscard]] bool some_have_workers() const {
    for (std::size_t i = 0; i < market_.size(); ++i)
      if (market_.has_some(i)) return market_.fault_of(market_.has()).empty();
    return false;
  }

  /// The best so far, but some of the buyers give back what they have, and one after the other gets
  /// as many workers of random kinds as it happens.
  Allocation shaken() {
    Allocation start = *best_;
    std::vector<std::int32_t> left = gpus_;
    std::vector<std::size_t> waiting;
    const double share = random_.uniform(0.2, 1);
    for (std::size_t i = 0; i < market_.size(); ++i) {
      if (random_.uniform() < share) {
        std::ranges::fill(start.of(i), 0);
        waiting.push_back(i);
      }
      for (std::size_t kind = 0; kind < market_.kinds(); ++kind)
        left[kind] -= start.of(i)[kind] * market_.buyer(i).gpus;
    }
    while (!waiting.empty()) {
      std::swap(waiting[random_.below(waiting.size())], waiting.back());
      give_some(waiting.back(), left, start.of(waiting.back()));
      waiting.pop_back();
    }
    return start;
  }

  void give_some(std::size_t i, std::vector<std::int32_t>& left, std::span<std::int32_t> workers) {
    const Buyer& buyer = market_.buyer(i);
    const std::size_t first = random_.below(market_.kinds());
    std::int32_t wanted = buyer.min_workers;
    if (random_.below(2) == 0) {
      const auto most = static_cast<std::uint64_t>(std::min(buyer.max_workers, all_));
      wanted = std::max(wanted, static_cast<std::int32_t>(1 + random_.below(most)));
    }
    std::int32_t number = 0;
    for (std::size_t k = 0; k < (buyer.mixes_kinds ? market_.kinds() : 1); ++k) {
      const std::size_t kind = (first + k) % market_.kinds();
      if (market_.power(i)[kind] <= 0) continue;
      workers[kind] = std::min(wanted - number, left[kind] / buyer.gpus);
      number += workers[kind];
    }
    if (number < buyer.min_workers) std::ranges::fill(workers, 0);
    for (std::size_t kind = 0; kind < market_.kinds(); ++kind)
      left[kind] -= workers[kind] * buyer.gpus;
  }

  /// None where there are too few workers for all to have their least: trades begin with nothing.
  std::vector<std::int32_t> draw_sizes(int draw) {
    if (buyers_.empty() || least_ > all_) return {};
    std::vector<double> ideal;
    if (options_.draw == SolveOptions::Draw::even) {
      ideal = draw_composition();
    } else {
      for (const std::size_t i : buyers_) {
        double workers = 0;
        for (std::size_t kind = 0; kind < market_.kinds(); ++kind)
          workers += division_[i * market_.kinds() + kind];
        ideal.push_back(draw == 0 ? workers : workers * random_.lognormal(0, kSpread));
      }
    }
    return round(ideal);
  }

  /// Every way to write the number of workers as a sum of one for each buyer is as likely.
  std::vector<double> draw_composition() {
    // Cuts between workers in a row, no two at the same place (Floyd's algorithm keeps it even).
    std::vector<std::int32_t> cuts;
    const auto places = static_cast<std::uint64_t>(all_ - 1);
    for (std::uint64_t last = places - (buyers_.size() - 1); last < places; ++last) {
      const auto cut = static_cast<std::int32_t>(random_.below(last + 1));
      const bool is_new = std::ranges::find(cuts, cut) == cuts.end();
      cuts.push_back(is_new ? cut : static_cast<std::int32_t>(last));
    }
    std::ranges::sort(cuts);
    std::vector<double> sizes;
    std::int32_t from = -1;
    for (const std::int32_t cut : cuts) {
      sizes.push_back(cut - from);
      from = cut;
    }
    sizes.push_back(all_ - 1 - from);
    return sizes;
  }

  /// Whole sizes that the buyers can have and that use up the workers, or as many as the buyers can
  /// use: scaled as far as needed, then the largest remainders get one more.
  [[nodiscard]] std::vector<std::int32_t> round(const std::vector<double>& ideal) const {
    const auto sum_at = [&](double scale) {
      double sum = 0;
      for (std::size_t b = 0; b < buyers_.size(); ++b) sum += size_at(b, ideal[b] * scale);
      return sum;
    };
    double low = 0, high = 1;
    while (sum_at(high) < all_ && high < 1e9) high *= 2;
    for (int step = 0; step < 50; ++step) {
      const double middle = (low + high) / 2;
      (sum_at(middle) < all_ ? low : high) = middle;
    }
    std::vector<std::int32_t> sizes;
    std::vector<std::pair<double, std::size_t>> remainders;
    std::int32_t left = all_;
    for (std::size_t b = 0; b < buyers_.size(); ++b) {
      const double size = size_at(b, ideal[b] * high);
      sizes.push_back(static_cast<std::int32_t>(size));
      left -= sizes.back();
      if (sizes.back() < market_.buyer(buyers_[b]).max_workers)
        remainders.emplace_back(sizes.back() - size, b);
    }
    std::ranges::sort(remainders);
    for (std::size_t r = 0; r < remainders.size() && left > 0; ++r, --left)
      ++sizes[remainders[r].second];
    return sizes;
  }
  [[nodiscard]] double size_at(std::size_t b, double ideal) const {
    const Buyer& buyer = market_.buyer(buyers_[b]);
    return std::clamp(ideal, static_cast<double>(buyer.min_workers),
                      static_cast<double>(buyer.max_workers));
  }

  /// Nothing for those that the matching does not deal with, and for all where it fails: some kind
  /// may suit too few.
  Allocation match_sizes(const std::vector<std::int32_t>& sizes) {
    Allocation best(market_.kinds(), market_.size());
    if (sizes.empty()) return best;
    std::vector<double> power;  // of each buyer's workers together
    for (std::size_t b = 0; b < buyers_.size(); ++b) power.push_back(sizes[b] * mean_power(b));
    double least = kUnpayable;
    for (int matching = 0; matching < options_.matchings; ++matching) {
      const std::optional<Matching> found = match(gpus_, sizes, worth_at(power));
      if (!found) return best;
      Allocation all(market_.kinds(), market_.size());
      double cost = 0;
      bool same = true;
      for (std::size_t b = 0; b < buyers_.size(); ++b) {
        std::ranges::copy(found->allocation.of(b), all.of(buyers_[b]).begin());
        const double now = market_.power(buyers_[b], all.of(buyers_[b]));
        same = same && now == power[b];
        power[b] = now;
        cost += market_.cost(buyers_[b], all.of(buyers_[b]));
      }
      if (cost < least) {
        least = cost;
        best = std::move(all);
      }
      if (same) break;
    }
    return best;
  }

  [[nodiscard]] double mean_power(std::size_t b) const {
    double sum = 0;
    for (std::size_t kind = 0; kind < market_.kinds(); ++kind)
      sum += market_.power(buyers_[b])[kind] * gpus_[kind];
    return std::max(sum / all_, std::numeric_limits<double>::min());
  }

  /// By how much a worker lowers the sum, by buyer and kind.
  [[nodiscard]] std::vector<double> worth_at(const std::vector<double>& power) const {
    std::vector<double> worth;
    for (std::size_t b = 0; b < buyers_.size(); ++b) {
      const Buyer& buyer = market_.buyer(buyers_[b]);
      const double scale = buyer.weight * buyer.iterations * buyer.unit_s / (power[b] * power[b]);
      for (const double each : market_.power(buyers_[b]))
        worth.push_back(each > 0 ? scale * each : -1);
    }
    return worth;
  }

  const Market& market_;
  SolveOptions options_;
  Random random_;
  std::vector<std::size_t> buyers_;
  std::vector<double> division_;  // by buyer and kind
  std::vector<std::int32_t> gpus_;
  std::int32_t all_ = 0;
  std::int64_t least_ = 0;
  std::optional<Allocation> best_;
  Costs least_cost_;
};

}  // namespace

Allocation solve(const Market& market, const SolveOptions& options) {
  std::int64_t gpus = 0;
  for (std::size_t kind = 0; kind < market.kinds(); ++kind) gpus += market.gpus(kind);
  if (market.size() == 0 || gpus == 0) return Allocation(market.kinds(), market.size());
  return Sampler(market, options).best();
}

}  // namespace trainyard
