#include "policy/registry.h"
#include "reference_simulator.h"

namespace trainyard::reference {

Settings settings_of(const PolicySpec& spec) {
  Settings set;
  set.order = spec.member("order");
  set.backfill = spec.member("backfill");
  set.place = spec.member("place");
  set.preempt = spec.member("preempt");
  set.flow = spec.member("flow");
  if (set.flow != "fair") {
    const Params flow = spec.params("flow");
    set.flow_classes = static_cast<std::size_t>(flow.whole("classes"));
    set.flow_period = flow.duration("period");
    set.flow_floor = flow.real("floor");
  }
  if (set.flow == "progress" || set.flow == "to-95" || set.flow == "milestones")
    set.curves = spec.params("flow").choice("curves");
  if (set.place == "lwf") set.lwf_k = spec.params("place").whole("k");
  if (set.place == "delay") set.delay_lease = spec.params("place").duration("lease");
  if (set.place == "consolidate") set.wait_for = spec.params("place").choice("wait_for");
  if (set.order == "las") {
    const Params las = spec.params("order");
    set.thresholds = las.durations("thresholds");
  }
  if (set.order == "trial-first") {
    set.reentry = spec.params("order").choice("reentry");
    set.by_remaining = spec.params("order").choice("within") == "remaining";
  }
  if (set.preempt == "fitgpp") {
    const Params fitgpp = spec.params("preempt");
    set.s = fitgpp.real("s");
    set.most_pauses = fitgpp.whole("P");
    set.over_candidates = fitgpp.choice("normalise") == "candidates";
  }
  if (set.preempt == "lease") {
    set.lease = spec.params("preempt").duration("lease");
    set.leaves_before_rebid = spec.params("preempt").choice("pays") == "always";
  }
  const Params queue = spec.params("queue");
  set.estimates = queue.choice("estimates");
  set.keeps_rooms = queue.choice("trial_rooms") == "kept";
  set.trial_share = queue.real("trial_share");
  set.trial_window = queue.duration("trial_window");
  set.trial_worth = queue.real("trial_worth");
  set.critical_first = queue.choice("critical") == "first";
  set.patience = queue.duration("patience");
  set.fair_wait = queue.real("fair_wait");
  set.overdue_share = queue.real("overdue_share");
  const Params yard = spec.params("yard");
  set.min_run = yard.duration("min_run");
  set.turn = yard.duration("turn");
  set.max_pauses = yard.whole("max_pauses");
  return set;
}

}  // namespace trainyard::reference
