// The most network-sensitive job first (Dally): who lost most of its time to communication so far
// is the one that a close placement helps most. Ties go to whoever has waited longest since it was
// last in the queue.
#include "policy/members.h"
#include "policy/sensitivity.h"

namespace trainyard {
namespace {

class BySensitivity final : public OrderStage {
 public:
  using OrderStage::OrderStage;

  [[nodiscard]] std::int64_t key(JobId job) const override {
    const std::int64_t since_ms = waiting_since(job).us / 1000;
    return sensitivity_.of(yard_, job) * kStride + std::min(since_ms, kStride - 1);
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    sensitivity_.on_phase(yard_, job, from, to);
  }

  void save_learnt(Learnt& learnt) const override { sensitivity_.save_learnt(yard_, learnt); }
  void recall_jobs(const Learnt& learnt) override { sensitivity_.recall_jobs(yard_, learnt); }

 private:
  static constexpr std::int64_t kStride = std::int64_t{1} << 49;  // ms: 17,000 years

  NetworkSensitivity sensitivity_;
};

}  // namespace

Member<OrderStage> order_network_sensitivity() {
  return {{"network-sensitivity",
           "the job that lost the largest share of its GPU time to communication goes first",
           "Dally (Sharma et al.), from its first author's public simulator"},
          make_member<OrderStage, BySensitivity>};
}

}  // namespace trainyard
