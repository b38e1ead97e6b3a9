// Every member of every stage. A new one is a file with its class, its test, and a line here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/params.h"
#include "policy/stages.h"

namespace trainyard {

/// What `trainyard policies` tells of a member.
struct MemberInfo {
  std::string name;
  std::string summary;
  std::string source;  // the paper or system it is from, or that it is ours
  std::vector<ParamSpec> params = {};
};

template <class Stage>
struct Member {
  MemberInfo info;
  std::unique_ptr<Stage> (*make)(const Params& params);
};

// Who is next?
Member<OrderStage> order_fifo();
Member<OrderStage> order_sjf();
Member<OrderStage> order_srtf();
Member<OrderStage> order_srsf();
Member<OrderStage> order_las();
Member<OrderStage> order_trial_first();
Member<OrderStage> order_network_sensitivity();

// Who may go while the first in the queue cannot?
Member<BackfillStage> backfill_none();
Member<BackfillStage> backfill_greedy();
Member<BackfillStage> backfill_easy();

// Where?
Member<PlaceStage> place_first_fit();
Member<PlaceStage> place_best_fit();
Member<PlaceStage> place_consolidate();
Member<PlaceStage> place_spread();
Member<PlaceStage> place_delay();

// Who gives way?
Member<PreemptStage> preempt_none();
Member<PreemptStage> preempt_random();
Member<PreemptStage> preempt_longest_remaining();
Member<PreemptStage> preempt_srtf_blind();
Member<PreemptStage> preempt_srsf_blind();
Member<PreemptStage> preempt_by_level();
Member<PreemptStage> preempt_fitgpp();
Member<PreemptStage> preempt_benefit();
Member<PreemptStage> preempt_lease();

}  // namespace trainyard
