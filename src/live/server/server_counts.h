// What the server counts of itself. Safe to use from any thread.
#pragma once

#include <atomic>

#include "live/server/admission.h"
#include "live/server/reply.h"

namespace trainyard {

class ServerCounts : public ServerStatus {
 public:
  explicit ServerCounts(const Admission& admission) : admission_(admission) {}

  void count(int status) { ++answers_.at(static_cast<std::size_t>(status / 100)); }
  [[nodiscard]] std::size_t connections() const override { return admission_.open(); }
  [[nodiscard]] std::array<std::uint64_t, 6> answers() const override {
    std::array<std::uint64_t, 6> counts{};
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = answers_[i];
    return counts;
  }

 private:
  const Admission& admission_;
  std::array<std::atomic<std::uint64_t>, 6> answers_{};
};

}  // namespace trainyard
