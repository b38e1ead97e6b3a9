// Two buyers share some GPUs in the best way there is: every share of the one beside the best that
// the other can make of the rest. With (GPUs + 1) multiplied over the kinds as the number of
// shares, it takes O(shares x kinds), so it is for few GPUs: what two buyers have and what is on
// offer.
//
// Example: A and B of market.h and both workers: of the shares (0,0), (1,0), (0,1) and (1,1) of A
// the best is (1,0), and B makes (0,1) of the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "market/market.h"

namespace trainyard {

class Sharing {
 public:
  explicit Sharing(const Market& market) : market_(market), workers_(market.kinds()) {}

  /// In how many ways one could take a part.
  [[nodiscard]] static double shares(std::span<const std::int32_t> gpus);

  /// The least cost of both together; may be infinite.
  double share(std::size_t one, std::size_t other, std::span<const std::int32_t> gpus);
  /// What they get at that cost, in workers by kind.
  [[nodiscard]] const std::vector<std::int32_t>& of_one() const { return of_one_; }
  [[nodiscard]] const std::vector<std::int32_t>& of_other() const { return of_other_; }

 private:
  /// A share of a buyer and what it costs with it.
  struct Use {
    double cost;
    std::size_t share;
  };

  void list_uses(std::size_t buyer, std::span<const std::int32_t> gpus, std::vector<Use>& uses);
  std::vector<std::int32_t> workers_of(std::size_t buyer, std::size_t share,
                                       std::span<const std::int32_t> gpus) const;

  const Market& market_;
  std::vector<std::int32_t> workers_;
  std::vector<Use> one_, other_;  // by share: GPUs of each kind as a number in a mixed base
  std::vector<std::int32_t> of_one_, of_other_;
};

}  // namespace trainyard
