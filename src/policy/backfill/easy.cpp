// EASY backfilling: the first in the queue gets a reservation, at the earliest time when by the
// estimates of what runs its gang will fit. Others may go before it if they do not delay that: they
// end before it by their own estimate, or keep off the machines it then needs.
//
// By default (holds=machines) the reservation names machines, not a mere number of GPUs, so a gang
// that needs whole machines is not fooled by GPUs that are free here and there: jobs that would not
// end in time keep off those machines, even where some of their GPUs will be left. The textbook's
// (holds=count) is a number: of the GPUs that are free at the reserved start, all that the head
// does not need go to jobs that would not end in time. On one machine, or where no job cares which
// GPUs it has, that wastes nothing; on many, those jobs may take the GPUs of the head's machines,
// and it starts late.
//
// Example, one machine of 8: a job holds 6 until 2:00, and the head wants 4. A job of 2 that takes
// a day may start with holds=count (8 - 4 = 4 are left at 2:00), and not with holds=machines.
//
// The reservation stands until the head starts or cannot
// start by it; it is looked for anew when someone left earlier than expected (it may come earlier),
// when a machine went down or came up, and when someone ahead of the head took room. While none can
// be had, because machines are down or being emptied for others, anyone may go.
//
// Of the jobs behind the head the first `depth` are looked at, of lanes that are not closed. A lane
// is done with as soon as one of its jobs that would end in time finds no room, and once a job that
// would not finds none beside the reservation, only those that would are looked for; that a job
// does not end in time stays true as long as the reservation does, and is remembered.
//
// Who goes before the head finds room as it is: nobody is paused for it, because what a pause
// brings about (the victim comes back and runs longer) is not in the estimates.
#include <algorithm>
#include <limits>

#include "base/grow.h"
#include "perf/run_progress.h"
#include "policy/members.h"
#include "policy/running.h"

namespace trainyard {
namespace {

const Queue::Entry kBeforeAll{std::numeric_limits<std::int64_t>::min(), JobId{0}};

class Easy final : public BackfillStage {
 public:
  Easy(const Params& params, PolicyContext& context)
      : BackfillStage(params, context),
        depth_(static_cast<std::size_t>(params.whole("depth"))),
        counts_(params.choice("holds") == "count") {
    context.heed_declared_times();
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    running_.on_phase(yard_, job, from, to);
    const bool left = (holds_gpus(from) || from == Phase::reserved) && !holds_gpus(to);
    const bool expected = from == Phase::running && yard_.now() >= running_.end_of(job);
    const bool came_ahead = from == Phase::queued && !has_ended(to) && !backfilling_;
    if ((left && !expected) || came_ahead) head_ = kNoJob;
  }

  void on_machine(MachineId /*machine*/) override { head_ = kNoJob; }

  void on_outlook(JobId job) override {
    if (running_.on_outlook(yard_, job)) head_ = kNoJob;
    if (yard_.state(job).phase == Phase::queued) ++reservation_;  // who ends in time is asked anew
  }

  void run(Dispatcher& dispatcher, JobId blocked) override {
    const bool stands = blocked == head_ && start_ != Time::never() && yard_.now() < start_;
    if (!stands) reserve(dispatcher, blocked);
    backfilling_ = true;
    start_others(dispatcher);
    backfilling_ = false;
  }

  [[nodiscard]] bool keeps_a_place() const override { return true; }

  [[nodiscard]] std::optional<Time> reserved_start(JobId head) const override {
    if (head != head_ || start_ == Time::never()) return {};
    return start_;
  }

 private:
  static constexpr std::size_t kFewLanes = 64;

  /// A lane that is looked at, and the next of its jobs that might go.
  struct Lane {
    Queue::Entry first, next;
    std::size_t started = 0;
    bool beside = true;  // there may be room for it beside the reservation
  };

  /// All jobs of a lane up to this one would end too late for the reservation of this number.
  struct Late {
    Queue::Entry last;
    std::uint64_t reservation = 0;
    std::uint32_t overtakings = 0;
  };

  void start_others(Dispatcher& dispatcher) {
    open_lanes(dispatcher);
    const auto comes_later = [&](std::size_t a, std::size_t b) {
      return lanes_[b].next < lanes_[a].next;
    };
    std::make_heap(heap_.begin(), heap_.end(), comes_later);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), comes_later);
      Lane& lane = lanes_[heap_.back()];
      if (!is_within_depth(dispatcher.queue(), lane.next)) return;  // and so are all others
      const bool goes_on = try_next(dispatcher, lane) && find_next(dispatcher, lane, lane.next);
      if (goes_on) {
        std::push_heap(heap_.begin(), heap_.end(), comes_later);
      } else {
        heap_.pop_back();
      }
    }
  }

  /// More lanes than the depth has jobs cannot matter: the first of each goes before the next.
  void open_lanes(Dispatcher& dispatcher) {
    const std::int64_t free = yard_.free().of(kAnyKind).free_gpus;
    lanes_.clear();
    heap_.clear();
    dispatcher.queue().each_head([&](const Queue::Entry& head) {
      if (dispatcher.is_closed(head.lane)) return true;
      Lane& lane = lanes_.emplace_back(Lane{head, head, 0, head.gpus <= free});
      if (lane.beside || find_next(dispatcher, lane, kBeforeAll))
        heap_.push_back(lanes_.size() - 1);
      return lanes_.size() < depth_;
    });
    if (lanes_.size() > kFewLanes) find_those_within(dispatcher.queue());
  }

  /// Whether fewer than `depth` jobs of these lanes stood before this one when the round began.
  [[nodiscard]] bool is_within_depth(const Queue& queue, const Queue::Entry& entry) const {
    if (lanes_.size() > kFewLanes) return within_.size() < depth_ || !(within_.back() < entry);
    std::size_t before = 0;
    for (const Lane& lane : lanes_)
      if (lane.first < entry) before += lane.started + queue.lane(lane.first.lane).rank(entry);
    return before < depth_;
  }

  /// With many lanes, which are short, it pays to find the last that is within once.
  void find_those_within(const Queue& queue) {
    within_.clear();
    const bool is_bound = lanes_.size() == depth_;  // by the first of the last lane
    for (const Lane& lane : lanes_)
      queue.lane(lane.first.lane).each([&](const Queue::Entry& entry) {
        if (is_bound && lanes_.back().first < entry) return false;
        within_.push_back(entry);
        return true;
      });
    if (within_.size() < depth_) return;
    const auto last = within_.begin() + static_cast<std::ptrdiff_t>(depth_) - 1;
    std::nth_element(within_.begin(), last, within_.end());
    within_.erase(last + 1, within_.end());
  }

  /// False: none of the lane can go.
  bool try_next(Dispatcher& dispatcher, Lane& lane) {
    const bool ends_before = is_in_time(lane.next.job);
    if (ends_before ? dispatcher.try_place(lane.next.job, nullptr)
                    : try_beside(dispatcher, lane.next.job)) {
      ++lane.started;
      return true;
    }
    lane.beside = false;
    return !ends_before;
  }

  /// For longer than until the reserved start.
  bool try_beside(Dispatcher& dispatcher, JobId job) {
    if (!counts_) return dispatcher.try_place(job, &needed_);
    if (yard_.job(job).gpus() > spare_ || !dispatcher.try_place(job, nullptr)) return false;
    spare_ -= yard_.gpus(job);
    return true;
  }

  /// The next of the lane, behind this one, for which there may be room; false if there is none.
  bool find_next(Dispatcher& dispatcher, Lane& lane, const Queue::Entry& behind) {
    const Queue& queue = dispatcher.queue();
    const SortedList<Queue::Entry>& jobs = queue.lane(lane.first.lane);
    Late& late = late_of(queue, lane.first.lane);
    const Queue::Entry from = !lane.beside && behind < late.last ? late.last : behind;
    std::size_t place = lane.started + jobs.rank(from);
    bool found = false;
    jobs.each_from(from, [&](const Queue::Entry& entry) {
      if (place++ >= depth_) return false;
      if (!(from < entry)) return true;
      found = lane.beside || is_in_time(entry.job);
      (found ? lane.next : late.last) = entry;
      return !found;
    });
    return found;
  }

  Late& late_of(const Queue& queue, LaneId lane) {
    grow_to(late_, index(lane), 0);
    Late& late = late_[index(lane)];
    if (late.reservation != reservation_ || late.overtakings != queue.overtakings(lane))
      late = {kBeforeAll, reservation_, queue.overtakings(lane)};
    return late;
  }

  [[nodiscard]] bool is_in_time(JobId job) const {
    return yard_.now() + longest_stay(job) <= start_;
  }

  /// As far apart as it could be placed, where that slows it down.
  [[nodiscard]] Duration longest_stay(JobId id) const {
    const Job& job = yard_.job(id);
    const std::size_t last = yard_.cluster().tiers.size() - 1;
    const Rate slowest = yard_.speed() == nullptr ? Rate{} : yard_.speed()->rate_at(job, last);
    return yard_.load_time(id) + run_time(job, yard_.expected_remaining(id), slowest);
  }

  void reserve(Dispatcher& dispatcher, JobId head) {
    RoomFinder& finder = dispatcher.finder();
    ++reservation_;
    head_ = head;
    start_ = Time::never();
    needed_.assign(yard_.cluster().machines.size(), false);
    finder.begin(head, dispatcher.place().reach(head));
    const bool never_fits = running_.ends().each([&](const auto& entry) {
      return yard_.is_supposed_gone(entry.job) || !finder.offer(entry.job);
    });
    if (never_fits) return;  // machines are down, or being emptied for others
    start_ = yard_.now();
    for (const JobId job : finder.victims()) start_ = std::max(start_, running_.end_of(job));
    for (const Share& share : finder.room()) needed_[index(share.machine)] = true;
    if (counts_) count_spare(head);
  }

  /// The GPUs that are free at the reserved start, without those of the head.
  void count_spare(JobId head) {
    spare_ = yard_.free().of(kAnyKind).free_gpus - yard_.job(head).gpus();
    running_.ends().each([&](const JobAt& entry) {
      const bool has_left = running_.end_of(entry.job) <= start_;
      if (has_left) spare_ += yard_.gpus(entry.job);
      return has_left;
    });
  }

  std::size_t depth_;
  bool counts_;  // the reservation is a number of GPUs
  RunningByEnd running_;
  JobId head_ = kNoJob;
  Time start_ = Time::never();
  Avoid needed_;                      // the machines of the reservation
  std::int64_t spare_ = 0;            // GPUs that those who stay longer may have; of counts_
  bool backfilling_ = false;          // those that start now respect it
  std::uint64_t reservation_ = 0;     // the number of the present one, or of what is asked of it
  std::vector<Late> late_;            // by lane
  std::vector<Lane> lanes_;           // in this round, by their first
  std::vector<std::size_t> heap_;     // of those whose next might go
  std::vector<Queue::Entry> within_;  // the depth, in no order but for the last; of many lanes
};

}  // namespace

Member<BackfillStage> backfill_easy() {
  return {{"easy",
           "jobs go that do not delay the start which is reserved for the first in the queue",
           "EASY: Lifka, JSSPP 1995; reservations of machines instead of counts are ours",
           {{"holds",
             ParamType::choice,
             "machines",
             "what is kept for the first: its machines, or as many GPUs as it needs (the "
             "textbook's, for one pool)",
             {"machines", "count"}},
            {"depth", ParamType::whole, "500",
             "jobs looked at behind the first (as many as Slurm's bf_max_job_test)"}}},
          make_member<BackfillStage, Easy>};
}

}  // namespace trainyard
