// First in, first out, by time of submission. A paused job keeps its time, so it comes back to
// where it was: ahead of all that came after it.
#include "policy/members.h"

namespace trainyard {
namespace {

class Fifo final : public OrderStage {
 public:
  using OrderStage::OrderStage;

  [[nodiscard]] std::int64_t key(JobId job) const override { return yard_.job(job).submit.us; }

  [[nodiscard]] bool can_starve() const override { return false; }
};

}  // namespace

Member<OrderStage> order_fifo() {
  return {{"fifo", "first submitted, first served; a paused job keeps its place", "standard"},
          make_member<OrderStage, Fifo>};
}

}  // namespace trainyard
