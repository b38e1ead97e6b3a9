// A policy made of stages. One round of deciding:
//
//  1. When an overdue job may go first (economy/overdue.h), the one that has waited longest does.
//     If it cannot start it gets a reservation as EASY backfilling gives, and only jobs that do not
//     delay it may pass: otherwise jobs that start beside it would keep a gang as large as the
//     cluster from ever finding all GPUs free, or held by jobs that may be paused. (An order in
//     which no job is overtaken needs no such bound.)
//  2. In the order of the order stage: place the job on what is free; else let the preempt stage
//     make room for it. Stop at the first that gets neither.
//  3. The backfill stage decides who may go behind it.
//     Where room is kept for trial jobs to come (trial_rooms.h), all this leaves it alone, except
//     for trial jobs and overdue jobs that go first.
//  4. Flow classes that are no longer what the flow stage says are written anew.
//
// Where jobs that run compete anew (PreemptStage::take_rebids) the round is an auction: what they
// hold counts as free and they stand in the queue, until all have had their turn; then what was won
// is one group of changes. Whoever wins no closer room than its own, and could have that back,
// stays where it is. Example: A and B run on a machine each of two racks, and C waits, for as much.
// Both leases are over, and the order is C, B, A. C wins A's machine, the first by number; B's own
// is as close as any other, so it stays; A leaves for the queue, and C starts when A has left.
#pragma once

#include <limits>
#include <memory>
#include <string>

#include "policy/extend.h"
#include "policy/forecast.h"
#include "policy/job_at.h"
#include "policy/queue.h"
#include "policy/trial_rooms.h"

namespace trainyard {

struct Stages {
  std::unique_ptr<OrderStage> order;
  std::unique_ptr<BackfillStage> backfill;
  std::unique_ptr<PlaceStage> place;
  std::unique_ptr<PreemptStage> preempt;  // null: nothing is ever paused
  std::unique_ptr<FlowStage> flow;        // null if all jobs are in one class
  bool bounds_waits = false;              // by patience; false: none is set, or none is needed
  std::unique_ptr<BackfillStage> guard;   // of who ran out of it; null: the backfill stage does it
  std::unique_ptr<TrialRooms> rooms;      // that are kept for trial jobs to come; null: none
};

class StagedPolicy final : public Policy, private Dispatcher {
 public:
  /// The stages were made with this context.
  StagedPolicy(PolicyContext& context, Stages stages);

  void decide(Plan& plan) override;
  [[nodiscard]] bool preempts() const override { return stages_.preempt != nullptr; }
  [[nodiscard]] std::string explain_flow(JobId job) const override {
    return stages_.flow ? stages_.flow->why(job) : "";
  }
  [[nodiscard]] FlowRules flow_rules() const override {
    return stages_.flow ? stages_.flow->rules() : FlowRules{};
  }
  [[nodiscard]] WaitReason explain(JobId job) const override;
  /// Whether a job has run out of patience for which there are machines.
  [[nodiscard]] bool has_overdue() const { return overdue() != kNoJob; }
  [[nodiscard]] const Queue& queue() const override { return queue_; }
  void save_learnt(Learnt& learnt) const override;
  void recall(const Learnt& learnt, Time now) override;
  void recall_jobs(const Learnt& learnt) override;

  void on_phase(JobId job, Phase from, Phase to) override;
  void on_machine(MachineId machine, bool up) override;
  void on_rate(JobId job) override { on_outlook(job); }
  void on_estimate(JobId job) override { on_outlook(job); }
  void on_learnt(JobId job, const LearningPoint& point) override;

 private:
  [[nodiscard]] RoomFinder& finder() override { return finder_; }
  [[nodiscard]] PlaceStage& place() override { return *stages_.place; }
  [[nodiscard]] bool is_closed(LaneId lane) const override;
  [[nodiscard]] JobId next_to_try(JobId from) override;
  bool try_start(JobId job) override;
  bool try_place(JobId job, const Avoid* avoid) override;

  [[nodiscard]] Queue::Entry entry_of(JobId job);
  [[nodiscard]] Queue::Least least_of(std::span<const Queue::Entry> entries) const;
  [[nodiscard]] bool are_known_vain(const Queue::Least& least, std::int64_t free_gpus) const;
  [[nodiscard]] bool is_hopeless(const Queue::Entry& entry, std::int64_t free_gpus);
  [[nodiscard]] bool could_have(std::int32_t gpus, std::int64_t claim, std::int64_t free_gpus);
  [[nodiscard]] bool is_known_vain(std::int32_t gpus, std::int64_t claim,
                                   std::int64_t free_gpus) const;
  template <class Visit>
  void each_stage(Visit visit) const;
  [[nodiscard]] WaitReason reason_of(JobId job) const;
  [[nodiscard]] std::string bound_of(JobId job) const;
  void note_retry(JobId job, std::int64_t claim, bool was_paused);
  void on_outlook(JobId job);
  void join_queue(JobId job);
  void leave_queue(JobId job);
  void serve_queue();
  void wake_for_overdue(Plan& plan) const;
  // Jobs that run and compete anew (staged_policy_rebids.cpp).
  void move_closer();
  [[nodiscard]] bool would_change_nothing();
  [[nodiscard]] bool cannot_use_rebids(const Queue::Entry& head, std::int64_t gpus);
  void hold_auction();
  void bid_for_them();
  bool give(JobId job, Placement& room);
  [[nodiscard]] bool could_stay(JobId job) const;
  [[nodiscard]] bool is_closer(const Placement& a, const Placement& b) const;
  void refresh_order(Plan& plan);
  void requeue_changed();
  [[nodiscard]] FlowClass flow_of(JobId job) const {
    return stages_.flow ? stages_.flow->flow(job) : kFirstFlow;
  }
  void write_flows(Plan& plan);
  [[nodiscard]] bool has_rooms_kept_from(JobId job) const;
  [[nodiscard]] bool leaves_rooms(JobId job, const Placement& there, std::span<const JobId> leave);
  /// Who has waited longest of those that ran out of patience and for which there are machines.
  [[nodiscard]] JobId overdue() const;
  [[nodiscard]] bool has_machines(JobId job) const;
  [[nodiscard]] bool has_machines_for(const Shape& shape) const;
  /// Decides who may pass the job at the head of the queue, or the one that ran out of patience.
  [[nodiscard]] BackfillStage& keeper(bool is_overdue) const;
  [[nodiscard]] std::optional<Forecast> forecast_of(JobId job, JobId head) const;

  /// What is known of a lane: when it last found no room, counted in rounds and in releases; and
  /// since which release, in which state of the preempt stage, none could be made for this claim.
  struct LaneMemory {
    std::uint64_t closed_in_round = 0;
    std::uint64_t no_room_since_release = 0;
    std::uint64_t vain_since_release = 0;
    std::uint64_t vain_in_state = 0;
    std::int64_t vain_claim = 0;
  };
  [[nodiscard]] LaneMemory& memory(LaneId lane) { return lanes_[index(lane)]; }
  bool try_make_room(JobId job, LaneMemory& known);
  bool carry_out(JobId job);
  [[nodiscard]] bool is_as_it_was(const LaneMemory& known, std::int64_t claim, bool was_paused);

  /// What is known in this round of those for whom nobody need be asked to leave. Nothing is freed
  /// while deciding, so it holds for the rest of the round.
  struct RoundMemory {
    // Claims as weak as this, or weaker, on as many GPUs, or more, are in vain.
    std::int64_t vain_claim = PreemptStage::kNoClaim;
    std::int64_t vain_gpus = std::numeric_limits<std::int64_t>::max();
    // The strongest for which it is known when to look again.
    std::int64_t retried_claim = PreemptStage::kNoClaim;
  };

  const Yard& yard_;
  PolicyContext& context_;
  Stages stages_;
  Queue queue_;
  SortedList<JobAt> by_wait_;  // the longest first; empty where waits are not bounded
  /// By shape, as far as anybody asked since a machine went down or came up.
  mutable std::vector<std::optional<bool>> has_machines_;
  RoomFinder finder_;

  Plan* plan_ = nullptr;  // during decide
  std::vector<LaneMemory> lanes_;
  std::uint64_t round_ = 0;
  RoundMemory in_round_;
  std::uint64_t releases_ = 1;
  Placement scratch_;
  std::vector<JobId> rebids_, movers_;  // in this round
  bool is_auction_ = false;
  std::vector<JobChange> won_;  // in it
  std::vector<JobId> changed_;
  std::vector<JobId> reflow_;  // whose flow class may be another than the yard's
};

}  // namespace trainyard
