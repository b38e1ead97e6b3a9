// Equal parts: every job that has not ended has as many workers as any other, within what it can
// use. The baseline of policies that deal out sizes.
//
// Sizes are dealt out anew every `round`. All jobs that hold GPUs keep the least that they can run
// with; those that wait get theirs in the order of submission, up to the first for which there is
// no room; what is left is dealt out one worker at a time, in turn, up to the most that each can
// use. A running job is given another size only then, and only if it has run for yard.min_run: that
// costs it a pause. Between rounds the first that waits starts as soon as there is room for it, at
// the largest size for which there is.
//
// Example: 8 GPUs; A can use 2 to 8 of them, B 1 to 8, C 1 to 2. A alone has all 8. At the next
// round after B and C came they have 2, 1 and 1, then in turn 3, 2 and 2, and, as C can use no
// more, 4, 2 and 2.
//
// Jobs of one size are passed by nobody and give way to nobody, so under this policy they are first
// come, first served; of an elastic job that runs, others wait for all but the least.
#include <algorithm>
#include <limits>
#include <optional>

#include "policy/joint/roster.h"
#include "policy/joint/vacancies.h"
#include "policy/members.h"
#include "policy/wait_reasons.h"

namespace trainyard {
namespace {

constexpr Duration kShortestRound = seconds(1);

class EqualSplit final : public Policy {
 public:
  EqualSplit(const Params& params, PolicyContext& context)
      : yard_(context.yard()),
        roster_(yard_),
        round_(std::max(params.duration("round"), kShortestRound)) {}

  void decide(Plan& plan) override {
    if (yard_.now() >= next_round_) {
      next_round_ = yard_.now() + round_;
      deal_out(plan);
    } else {
      start_waiting(plan);
    }
    if (roster_.has_elastic()) plan.wake_at(next_round_);
  }

  [[nodiscard]] bool preempts() const override { return true; }
  [[nodiscard]] WaitReason explain(JobId job) const override;

  void save_learnt(Learnt& learnt) const override {
    Policy::save_learnt(learnt);
    learnt[kName] = {number_of(std::max(next_round_, Time{}))};
  }
  void recall_jobs(const Learnt& learnt) override {
    Policy::recall_jobs(learnt);
    each_learnt(learnt, kName, [&](std::string_view, std::span<const double> next) {
      if (next.size() == 1) next_round_ = std::min(time_of(next[0]), yard_.now() + round_);
    });
  }

  void on_phase(JobId job, Phase from, Phase to) override { roster_.on_phase(job, from, to); }

 private:
  static constexpr const char* kName = "rounds of equal-split";

  /// What a job gets in a round.
  struct Part {
    JobId job = kNoJob;
    std::int32_t workers = 0;
    Placement place = {};  // where they would be if all of the round were done
  };

  [[nodiscard]] bool may_be_resized(JobId job) const;
  void start_waiting(Plan& plan);
  void deal_out(Plan& plan);
  void find_sizes(bool packed);
  [[nodiscard]] bool place(std::vector<JobChange>& group) const;
  void place_as_dealt(std::vector<JobChange>& group) const;

  const Yard& yard_;
  Roster roster_;
  Duration round_;
  Time next_round_{std::numeric_limits<std::int64_t>::min()};
  std::vector<Part> resized_, started_;  // in this round: those that run, and those that wait
};

bool EqualSplit::may_be_resized(JobId job) const {
  return yard_.job(job).is_elastic() && roster_.may_be_paused(job);
}

void EqualSplit::start_waiting(Plan& plan) {
  std::optional<Vacancies> room;  // made only when there may be some
  while (!roster_.waiting().empty()) {
    const JobId first = roster_.waiting().front();
    const Job& job = yard_.job(first);
    const std::int64_t free_gpus = yard_.free().of(yard_.shape(first).kind).free_gpus;
    if (free_gpus < std::int64_t{job.min_workers} * job.per_worker.gpus) return;
    if (!room) room.emplace(yard_);
    Placement place;
    if (room->add_at_least(first, job.min_workers, job.max_workers, place) == 0) return;
    if (plan.start(first, place) != Verdict::ok) return;
  }
}

void EqualSplit::deal_out(Plan& plan) {
  find_sizes(false);
  bool moves = false;
  if (started_.size() < roster_.waiting().size()) {  // closer together there may be room for more
    const std::vector<Part> resized = resized_, started = started_;
    find_sizes(true);
    moves = started_.size() > started.size();
    if (!moves) resized_ = resized, started_ = started;
  }
  std::vector<JobChange> group;
  if (moves || !place(group)) place_as_dealt(group);
  if (!group.empty()) (void)plan.change(group);
}

/// As if all that may be resized left: how many workers each would have, and where. `packed`: not
/// even the least of a job stays where it is.
void EqualSplit::find_sizes(bool packed) {
  Vacancies room(yard_);
  resized_.clear(), started_.clear();
  roster_.holding().each([&](JobId job) {
    if (may_be_resized(job)) resized_.push_back({job, yard_.job(job).min_workers});
    return true;
  });
  for (const Part& part : resized_) room.give_back(part.job, yard_.placement(part.job));
  for (Part& part : resized_) {
    if (packed) {
      if (room.add_at_least(part.job, part.workers, part.workers, part.place) == 0) return;
      continue;
    }
    part.place = first_of(yard_.placement(part.job), part.workers);
    room.take(part.job, part.place);
  }
  roster_.waiting().each([&](JobId job) {
    const std::int32_t least = yard_.job(job).min_workers;
    Placement place;
    const bool fits = room.add_at_least(job, least, least, place) == least;
    if (fits) started_.push_back({job, least, std::move(place)});
    return fits;
  });
  std::vector<Part*> in_turn;
  for (Part& part : resized_) in_turn.push_back(&part);
  for (Part& part : started_) in_turn.push_back(&part);
  std::ranges::sort(in_turn, {}, &Part::job);
  // A job that found no room for another worker finds none later.
  while (!in_turn.empty())
    std::erase_if(in_turn, [&](Part* part) {
      if (part->workers == yard_.job(part->job).max_workers) return true;
      const std::int32_t added = room.add(part->job, 1, part->place);
      part->workers += added;
      return added == 0;
    });
}

/// Who keeps its size stays where it is, who shrinks keeps some of its place, who grows all of it.
/// Where that leaves less room than a size needs, the job has less, or waits.
bool EqualSplit::place(std::vector<JobChange>& group) const {
  Vacancies room(yard_);
  for (const auto& [job, workers, dealt] : resized_) {
    if (workers >= yard_.workers(job)) continue;
    group.push_back({.job = job, .to = first_of(yard_.placement(job), workers)});
    room.give_back(job, yard_.placement(job));
    room.take(job, group.back().to);
  }
  for (const auto& [job, workers, dealt] : started_) {
    Placement place;
    if (room.add_at_least(job, yard_.job(job).min_workers, workers, place) == 0) return false;
    group.push_back({.job = job, .to = std::move(place)});
  }
  for (const auto& [job, workers, dealt] : resized_) {
    const std::int32_t more = workers - yard_.workers(job);
    Placement place = yard_.placement(job);
    if (more > 0 && room.add(job, more, place) > 0)
      group.push_back({.job = job, .to = std::move(place)});
  }
  return true;
}

/// Where that keeps a waiting job out: all go where they were dealt their workers.
void EqualSplit::place_as_dealt(std::vector<JobChange>& group) const {
  const auto in_order = [](Placement place) {
    std::ranges::sort(place, {}, &Share::machine);
    return place;
  };
  group.clear();
  for (const Part& part : resized_)
    if (in_order(part.place) != in_order(yard_.placement(part.job)))
      group.push_back({.job = part.job, .to = part.place});
  for (const Part& part : started_) group.push_back({.job = part.job, .to = part.place});
}

WaitReason EqualSplit::explain(JobId job) const {
  const JobState& state = yard_.state(job);
  if (state.phase == Phase::reserved) return room_being_made(yard_, job);
  if (state.phase != Phase::queued) return does_not_wait(yard_, job);
  const std::size_t place = roster_.waiting().rank(job) + 1;
  Shape least = yard_.shape(job);
  least.workers = yard_.job(job).min_workers;
  const std::string lacks = shortage(yard_, least, least.workers,
                                     yard_.job(job).is_elastic() ? "needs at least" : "needs");
  if (place == 1)
    return {"resources", lacks.empty() ? "is next, and waits for the decision" : lacks, place, {}};
  const std::string behind =
      fmt::format("behind job {}", yard_.workload().job_name(roster_.waiting().front()));
  if (lacks.empty()) return {"priority", behind, place, {}};
  return {"resources", fmt::format("{}; {}", lacks, behind), place, {}};
}

}  // namespace

Member<Policy> joint_none() {
  return {{"none", "one job after the other, by the stages", "standard"},
          [](const Params&, PolicyContext&) -> std::unique_ptr<Policy> { return nullptr; }};
}

Member<Policy> joint_equal_split() {
  return {{"equal-split",
           "every job has an equal part of the cluster, within what it can use",
           "standard: max-min fairness of workers; what happens between rounds is ours",
           {{"round", ParamType::duration, "10m",
             "how often the sizes of running jobs are dealt out anew; at least 1s"}}},
          make_member<Policy, EqualSplit>};
}

}  // namespace trainyard
