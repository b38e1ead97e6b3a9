// Without reservations: nobody passes (none), or whoever fits goes (greedy).
#include "policy/members.h"

namespace trainyard {
namespace {

class None final : public BackfillStage {
 public:
  using BackfillStage::BackfillStage;

  void run(Dispatcher& /*dispatcher*/, JobId /*blocked*/) override {}
};

class Greedy final : public BackfillStage {
 public:
  using BackfillStage::BackfillStage;

  /// Nothing is freed while deciding, so what finds no room finds none later on: one pass.
  void run(Dispatcher& dispatcher, JobId /*blocked*/) override {
    JobId next = dispatcher.queue().front().job;
    while ((next = dispatcher.next_to_try(next)) != kNoJob) dispatcher.try_start(next);
  }

  [[nodiscard]] bool can_starve() const override { return true; }
};

}  // namespace

Member<BackfillStage> backfill_none() {
  return {{"none", "no job passes the first in the queue", "standard"},
          make_member<BackfillStage, None>};
}

Member<BackfillStage> backfill_greedy() {
  return {{"greedy",
           "every job that fits goes, in order; queue.patience bounds how long a job is passed",
           "standard"},
          make_member<BackfillStage, Greedy>};
}

}  // namespace trainyard
