// Jobs that run and compete anew: the auction of those whose leases are over, and moves.
#include <algorithm>

#include "policy/staged_policy.h"

namespace trainyard {

/// What a job gets that finds room: it starts there or, in an auction, has won it.
bool StagedPolicy::give(JobId job, Placement& room) {
  if (!is_auction_) return plan_->start(job, room, flow_of(job)) == Verdict::ok;
  const bool runs = yard_.state(job).phase == Phase::running;
  if (runs && could_stay(job) && !is_closer(room, yard_.placement(job)))
    room = yard_.placement(job);
  plan_->suppose_placed(job, room);
  won_.push_back({.job = job, .to = room, .flow = flow_of(job)});
  runs ? queue_.erase(job) : leave_queue(job);
  return true;
}

/// Whether nobody has won any of what it holds.
bool StagedPolicy::could_stay(JobId job) const {
  const Placement& shares = yard_.placement(job);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const MachineId machine = shares[i].machine;
    if (!yard_.free().is_up(machine)) return false;
    if (!yard_.held(job, i).fits_in(yard_.free().on(machine))) return false;
  }
  return true;
}

bool StagedPolicy::is_closer(const Placement& a, const Placement& b) const {
  const std::size_t tier_a = tier_of(yard_.cluster(), a), tier_b = tier_of(yard_.cluster(), b);
  return tier_a != tier_b ? tier_a < tier_b : a.size() < b.size();
}

void StagedPolicy::move_closer() {
  for (const JobId job : movers_) {
    stages_.place->on_rebid(job);
    if (stages_.place->find(job, nullptr, scratch_) && is_closer(scratch_, yard_.placement(job)))
      (void)plan_->change(std::vector{JobChange{.job = job, .to = scratch_, .flow = flow_of(job)}});
  }
  movers_.clear();
}

/// True if every job keeps what it has: each of those that bid anew holds one machine, so that no
/// room is closer, and no job that waits could use their GPUs. Most leases end like this.
bool StagedPolicy::would_change_nothing() {
  const std::int64_t free_gpus = yard_.free().of(kAnyKind).free_gpus;
  std::int64_t gpus = free_gpus;
  for (const JobId job : rebids_) {
    const Placement& shares = yard_.placement(job);
    if (shares.size() > 1 || !yard_.free().is_up(shares.front().machine)) return false;
    if (yard_.shape(job).fit != nullptr) return false;  // it may take more there than it did
    gpus += yard_.gpus(job);
  }
  if (queue_.empty()) return true;
  // Whoever could hold back those behind it might take the GPUs from them and leave them idle.
  if (!stages_.backfill->can_starve() || overdue() != kNoJob) return false;
  bool is_too_few = true;
  queue_.each_head([&](const Queue::Entry& head) {
    return is_too_few = head.gpus > gpus || cannot_use_rebids(head, gpus - free_gpus);
  });
  return is_too_few;
}

/// True if the job found no room in what is free, has to stay within a machine or a rack, and where
/// a job bids anew there would be too few GPUs with all that are bid for.
bool StagedPolicy::cannot_use_rebids(const Queue::Entry& head, std::int64_t gpus) {
  if (memory(head.lane).no_room_since_release != releases_) return false;
  const std::size_t tier = stages_.place->reach(head.job).tier;
  if (tier > kRackTier) return false;
  return std::ranges::none_of(rebids_, [&](JobId job) {
    const MachineId machine = yard_.placement(job).front().machine;
    const std::size_t rack = index(yard_.cluster().machine(machine).rack);
    const std::int64_t free = tier == kMachineTier ? yard_.free().on(machine).gpus
                                                   : yard_.free().of(kAnyKind).free_in_rack[rack];
    return free + gpus >= head.gpus;
  });
}

void StagedPolicy::hold_auction() {
  const bool is_hypothetical = !stages_.preempt->leaves_before_rebid();
  if (is_hypothetical && would_change_nothing()) return rebids_.clear();
  if (is_hypothetical) bid_for_them();
  for (const JobId job : rebids_) won_.push_back({.job = job});
  std::erase_if(won_, [&](const JobChange& won) {
    return yard_.state(won.job).phase == Phase::running && won.to == yard_.placement(won.job);
  });
  if (!won_.empty()) (void)plan_->change(won_);
  won_.clear();
  rebids_.clear();
  if (!is_hypothetical) serve_queue();
}

/// Leaves queue and yard as they were, in won_ who won what, and in rebids_ who won nothing.
void StagedPolicy::bid_for_them() {
  ++releases_;  // what they hold can be had
  for (const JobId job : rebids_) {
    plan_->suppose_left(job);
    stages_.place->on_rebid(job);
    queue_.insert(entry_of(job));
  }
  is_auction_ = true;
  serve_queue();
  is_auction_ = false;
  plan_->end_supposing();
  std::vector<JobId> winners;
  for (const JobChange& won : won_) {
    winners.push_back(won.job);
    if (yard_.state(won.job).phase == Phase::queued) join_queue(won.job);
  }
  std::ranges::sort(winners);
  std::erase_if(rebids_, [&](JobId job) { return std::ranges::binary_search(winners, job); });
  for (const JobId job : rebids_) queue_.erase(job);
}

}  // namespace trainyard
