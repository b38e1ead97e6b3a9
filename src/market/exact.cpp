#include "market/exact.h"

namespace trainyard {
namespace {

/// What a buyer might take.
struct Choice {
  std::vector<std::int32_t> workers;  // by kind
  std::vector<std::int32_t> gpus;
  std::size_t offset = 0;  // from the state before to the one after
  double cost = 0;
};

/// States are numbers in a mixed base: how many GPUs of each kind are left.
class States {
 public:
  explicit States(const Market& market) : left_(market.kinds()) {
    for (std::size_t kind = 0; kind < market.kinds(); ++kind) {
      places_.push_back(size_);
      size_ *= static_cast<std::size_t>(market.gpus(kind)) + 1;
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t place(std::size_t kind) const { return places_[kind]; }
  /// What is left of each kind in this state.
  [[nodiscard]] const std::vector<std::int32_t>& left(std::size_t state) {
    for (std::size_t kind = left_.size(); kind-- > 0;) {
      left_[kind] = static_cast<std::int32_t>(state / places_[kind]);
      state %= places_[kind];
    }
    return left_;
  }

 private:
  std::size_t size_ = 1;
  std::vector<std::size_t> places_;  // value of a digit, by kind
  std::vector<std::int32_t> left_;
};

/// Every number of workers of each kind that the buyer can use; nothing is one of them.
std::vector<Choice> choices_of(const Market& market, std::size_t i, const States& states) {
  const Buyer& buyer = market.buyer(i);
  std::vector<Choice> choices;
  std::vector<std::int32_t> workers(market.kinds());
  while (true) {
    Choice choice{workers, workers};
    for (std::size_t kind = 0; kind < market.kinds(); ++kind) {
      choice.gpus[kind] *= buyer.gpus;
      choice.offset += static_cast<std::size_t>(choice.gpus[kind]) * states.place(kind);
    }
    if (market.can_have(i, workers)) {
      choice.cost = market.cost(i, workers);
      if (choice.cost < kUnpayable) choices.push_back(std::move(choice));
    }
    std::size_t kind = 0;  // count on
    for (; kind < workers.size(); ++kind) {
      const bool can_more = market.power(i)[kind] > 0 && workers[kind] < buyer.max_workers &&
                            (workers[kind] + 1) * buyer.gpus <= market.gpus(kind);
      if (can_more) break;
      workers[kind] = 0;
    }
    if (kind == workers.size()) return choices;
    ++workers[kind];
  }
}

bool fits(const Choice& choice, const std::vector<std::int32_t>& left) {
  for (std::size_t kind = 0; kind < left.size(); ++kind)
    if (choice.gpus[kind] > left[kind]) return false;
  return true;
}

}  // namespace

double exact_steps(const Market& market) {
  States states(market);
  double steps = 0;
  for (std::size_t i = 0; i < market.size(); ++i)
    steps += static_cast<double>(states.size()) *
             static_cast<double>(choices_of(market, i, states).size());
  return steps;
}

Allocation solve_exactly(const Market& market) {
  States states(market);
  std::vector<std::vector<Choice>> choices;
  // Of each buyer and state before it: the best choice.
  std::vector<std::vector<std::uint32_t>> chosen(market.size());
  std::vector<double> after(states.size(), 0);  // the least cost of the buyers behind
  for (std::size_t i = 0; i < market.size(); ++i) choices.push_back(choices_of(market, i, states));
  for (std::size_t i = market.size(); i-- > 0;) {
    std::vector<double> best(states.size(), kUnpayable);
    chosen[i].assign(states.size(), 0);
    for (std::size_t state = 0; state < states.size(); ++state) {
      const auto& left = states.left(state);
      for (std::size_t c = 0; c < choices[i].size(); ++c) {
        const Choice& choice = choices[i][c];
        if (!fits(choice, left)) continue;
        const double cost = choice.cost + after[state - choice.offset];
        if (cost >= best[state]) continue;
        best[state] = cost;
        chosen[i][state] = static_cast<std::uint32_t>(c);
      }
    }
    after = std::move(best);
  }
  std::size_t state = states.size() - 1;
  if (after[state] == kUnpayable) return Allocation(market.kinds());
  Allocation allocation(market.kinds());
  for (std::size_t i = 0; i < market.size(); ++i) {
    const Choice& choice = choices[i][chosen[i][state]];
    allocation.add(choice.workers);
    state -= choice.offset;
  }
  return allocation;
}

}  // namespace trainyard
