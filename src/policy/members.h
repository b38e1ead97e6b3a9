// Every member of every stage. How to add one: policy/extend.h.
#pragma once

#include "policy/extend.h"

namespace trainyard {

// Who is next?
Member<OrderStage> order_fifo();
Member<OrderStage> order_sjf();
Member<OrderStage> order_srtf();
Member<OrderStage> order_srsf();
Member<OrderStage> order_smith();
Member<OrderStage> order_las();
Member<OrderStage> order_attained_service();
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
Member<PlaceStage> place_lwf();
Member<PlaceStage> place_random();

// Who gives way?
Member<PreemptStage> preempt_none();
Member<PreemptStage> preempt_random();
Member<PreemptStage> preempt_longest_remaining();
Member<PreemptStage> preempt_srtf_blind();
Member<PreemptStage> preempt_srsf_blind();
Member<PreemptStage> preempt_by_level();
Member<PreemptStage> preempt_fitgpp();
Member<PreemptStage> preempt_benefit();
Member<PreemptStage> preempt_smith();
Member<PreemptStage> preempt_lease();
Member<PreemptStage> preempt_closer();

// Whose bytes go first?
Member<FlowStage> flow_fair();
Member<FlowStage> flow_fifo();
Member<FlowStage> flow_srtf();
Member<FlowStage> flow_las();
Member<FlowStage> flow_progress();
Member<FlowStage> flow_to_95();
Member<FlowStage> flow_milestones();
Member<FlowStage> flow_adadual();

// Who has what, decided for many jobs at once?
Member<Policy> joint_none();
Member<Policy> joint_equal_split();
Member<Policy> joint_market();
Member<Policy> joint_allox();
Member<Policy> joint_gavel_las();

}  // namespace trainyard
