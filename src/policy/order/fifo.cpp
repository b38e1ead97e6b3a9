// First in, first out, by time of submission. A paused job keeps its time, so it comes back to
// where it was: ahead of all that came after it.
#include "policy/members.h"

namespace trainyard {
namespace {

class Fifo final : public OrderStage {
 public:
  [[nodiscard]] std::int64_t key(const Yard& yard, JobId job) const override {
    return yard.job(job).submit.us;
  }

  [[nodiscard]] bool can_starve() const override { return false; }
};

}  // namespace

Member<OrderStage> order_fifo() {
  return {{"fifo", "first submitted, first served; a paused job keeps its place", "standard"},
          [](const Params&) -> std::unique_ptr<OrderStage> { return std::make_unique<Fifo>(); }};
}

}  // namespace trainyard
