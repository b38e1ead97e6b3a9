// EASY backfilling: the first in the queue gets a reservation, at the earliest time when by the
// estimates of what runs its gang will fit. Others may go before it if they do not delay that: they
// end before it by their own estimate, or keep off the machines it then needs.
//
// The reservation names machines, not a mere number of GPUs, so a gang that needs whole machines
// is not fooled by GPUs that are free here and there. It stands until the head starts or cannot
// start by it; it is looked for anew when someone left earlier than expected (it may come earlier),
// when a machine went down or came up, and when someone ahead of the head took room. While none can
// be had, because machines are down or being emptied for others, anyone may go.
//
// Who goes before the head finds room as it is: nobody is paused for it, because what a pause
// brings about (the victim comes back and runs longer) is not in the estimates.
#include <algorithm>

#include "perf/checkpoint.h"
#include "policy/members.h"
#include "policy/running.h"

namespace trainyard {
namespace {

class Easy final : public BackfillStage {
 public:
  explicit Easy(const Params& params) : depth_(static_cast<std::size_t>(params.whole("depth"))) {}

  void on_phase(const Yard& yard, JobId job, Phase from, Phase to) override {
    running_.on_phase(yard, job, from, to);
    const bool left = (holds_gpus(from) || from == Phase::reserved) && !holds_gpus(to);
    const bool expected = from == Phase::running && yard.now() >= running_.end_of(job);
    const bool came_ahead = from == Phase::queued && !has_ended(to) && !backfilling_;
    if ((left && !expected) || came_ahead) head_ = kNoJob;
  }

  void on_machine() override { head_ = kNoJob; }

  void run(Dispatcher& dispatcher, JobId blocked) override {
    const Yard& yard = dispatcher.yard();
    const bool stands = blocked == head_ && start_ != Time::never() && yard.now() < start_;
    if (!stands) reserve(dispatcher, blocked);
    backfilling_ = true;
    start_others(dispatcher);
    backfilling_ = false;
  }

  [[nodiscard]] bool uses_estimates() const override { return true; }

  [[nodiscard]] std::optional<Time> reserved_start(JobId head) const override {
    if (head != head_ || start_ == Time::never()) return {};
    return start_;
  }

 private:
  void start_others(Dispatcher& dispatcher) {
    const Yard& yard = dispatcher.yard();
    candidates_.clear();
    no_room_.clear();
    no_room_beside_.clear();
    dispatcher.queue().collect(
        depth_, [&](LaneId lane) { return dispatcher.is_closed(lane); }, candidates_);
    for (const Queue::Entry& entry : candidates_) {
      if (contains(no_room_, entry.lane)) continue;
      const bool ends_before = yard.now() + longest_stay(yard, entry.job) <= start_;
      if (!ends_before && contains(no_room_beside_, entry.lane)) continue;
      if (dispatcher.try_place(entry.job, ends_before ? nullptr : &needed_)) continue;
      (ends_before ? no_room_ : no_room_beside_).push_back(entry.lane);
    }
  }

  /// As far apart as it could be placed, where that slows it down.
  static Duration longest_stay(const Yard& yard, JobId id) {
    const Job& job = yard.job(id);
    const std::size_t last = yard.cluster().tiers.size() - 1;
    const double slowdown = yard.speed() == nullptr ? 1 : yard.speed()->slowdown_at(job, last);
    return yard.load_time(id) + run_time(job, yard.expected_remaining(id), slowdown);
  }

  static bool contains(const std::vector<LaneId>& lanes, LaneId lane) {
    return std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
  }

  void reserve(Dispatcher& dispatcher, JobId head) {
    const Yard& yard = dispatcher.yard();
    RoomFinder& finder = dispatcher.finder();
    head_ = head;
    start_ = Time::never();
    needed_.assign(yard.cluster().machines.size(), false);
    finder.begin(head, dispatcher.place().reach(yard, head));
    const bool never_fits =
        running_.ends().each([&](const auto& entry) { return !finder.offer(entry.job); });
    if (never_fits) return;  // machines are down, or being emptied for others
    start_ = yard.now();
    for (const JobId job : finder.victims()) start_ = std::max(start_, running_.end_of(job));
    for (const Share& share : finder.room()) needed_[index(share.machine)] = true;
  }

  std::size_t depth_;
  RunningByEnd running_;
  JobId head_ = kNoJob;
  Time start_ = Time::never();
  Avoid needed_;              // the machines of the reservation
  bool backfilling_ = false;  // those that start now respect it
  std::vector<Queue::Entry> candidates_;
  std::vector<LaneId> no_room_, no_room_beside_;  // found in this round; beside the reservation
};

}  // namespace

Member<BackfillStage> backfill_easy() {
  return {{"easy",
           "jobs go that do not delay the start which is reserved for the first in the queue",
           "EASY: Lifka, JSSPP 1995; reservations of machines instead of counts are ours",
           {{"depth", ParamType::whole, "500",
             "jobs looked at behind the first (as many as Slurm's bf_max_job_test)"}}},
          [](const Params& params) -> std::unique_ptr<BackfillStage> {
            return std::make_unique<Easy>(params);
          }};
}

}  // namespace trainyard
