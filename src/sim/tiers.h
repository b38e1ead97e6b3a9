// How far apart jobs were placed: how many starts spanned which tier of the network.
#pragma once

#include <array>
#include <cstdint>

#include "model/tiers.h"
#include "yard/yard.h"

namespace trainyard {

class TierRecorder final : public YardListener {
 public:
  explicit TierRecorder(const Yard& yard) : yard_(yard) {}

  void on_phase(JobId job, Phase /*from*/, Phase to) override {
    if (to == Phase::starting) ++starts_[tier_of(yard_.cluster(), yard_.placement(job))];
  }

  [[nodiscard]] const std::array<std::uint64_t, kMaxTiers>& starts() const { return starts_; }

 private:
  const Yard& yard_;
  std::array<std::uint64_t, kMaxTiers> starts_{};
};

}  // namespace trainyard
