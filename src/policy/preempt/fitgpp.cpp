// FitGpp (Yabuuchi, Taniwaki and Omura, OpML 2019), reconstructed from descriptions of the paper: a
// trial job that finds no room makes the batch job give way that can be resumed with little delay.
//
//   Size(j)  = sqrt(sum over GPUs, CPUs, memory of (demand of j / capacity of its machine)^2)
//   Score(j) = Size(j) / largest Size + s * GP(j) / largest GP     largest of all running batch
//   jobs victim   = the least Score of those with  demand of the trial job <= free there + demand
//   of j,
//              in every resource, and fewer than P pauses so far
//   none     : batch jobs drawn at random until the trial job fits
//
// GP is the time from being told to leave until the GPUs are free, saving included. Example: two
// batch jobs, A with Size 0.5 and GP 60 s, B with 0.25 and 120 s; s = 4. A scores 0.5/0.5 + 4 *
// 60/120 = 3, B 0.5 + 4 = 4.5: A leaves, though it is larger.
//
// Ours: jobs on several machines (their Size is the sum over the machines), trial gangs (below),
// ties, learnt pauses, and that all victims are known to suffice before the first is paused.
//
// A gang of n workers that needs several machines gets the set of machines and victims, at most
// one on each machine, with the least summed score that holds it (cover.h). Only the n best
// machines for each number of workers need be looked at: a cover has at most n machines, so one
// beyond these can be exchanged for one of them. (A victim that itself spans machines is counted
// for each machine on which it is chosen: then the set may not be the cheapest, but it suffices.)
// Where the place stage binds a gang to one rack, its victims are drawn at random.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "policy/members.h"
#include "policy/preempt/cover.h"
#include "policy/preempt/learnt_pause.h"
#include "policy/preempt/lots.h"
#include "policy/preempt/offers.h"
#include "policy/preempt/victim_index.h"

namespace trainyard {
namespace {

double size_of(const Yard& yard, JobId job) {
  double size = 0;
  for (std::size_t i = 0; i < yard.placement(job).size(); ++i) {
    const Share& share = yard.placement(job)[i];
    const Resources& each = yard.each(job, i);
    const Resources& capacity = yard.cluster().machine(share.machine).capacity;
    const auto part = [&](std::int32_t demand, std::int32_t all) {
      return all == 0 ? 0.0 : static_cast<double>(demand) * share.workers / all;
    };
    size += std::hypot(part(each.gpus, capacity.gpus), part(each.milli_cpus, capacity.milli_cpus),
                       part(each.memory_mib, capacity.memory_mib));
  }
  return size;
}

class FitGpp final : public PreemptStage {
 public:
  FitGpp(const Params& params, PolicyContext& context)
      : PreemptStage(params, context),
        s_(params.real("s")),
        most_pauses_(params.whole("P")),
        over_candidates_(params.choice("normalise") == "candidates"),
        falls_back_(params.choice("fallback") != "none"),
        literal_(params.choice("fallback") == "literal"),
        fallback_keeps_p_(params.choice("fallback_P") == "kept"),
        learns_(params.choice("pause") == "learnt"),
        rights_(context.rights()),
        index_(context.yard()),
        batch_(context.seed()) {}

  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override {
    if (claim(waiter) == kNoClaim) return false;
    if (yard_.rules().min_run == Duration::max()) return false;
    admit_newcomers();
    const bool found = yard_.shape(waiter).workers == 1 ? find_victim(waiter, finder)
                                                        : find_victims(waiter, reach, finder);
    if (found || fall_back(waiter, reach, finder, retry)) return true;
    if (!newcomers_.empty())
      retry = std::min(retry, newcomers_.front().since + yard_.rules().min_run);
    return false;
  }

  [[nodiscard]] std::int64_t claim(JobId waiter) const override {
    return rights_.acts_as_trial(waiter) ? 0 : kNoClaim;
  }

  void save_learnt(Learnt& learnt) const override { batch_.save_learnt(learnt); }
  void recall_jobs(const Learnt& learnt) override { batch_.recall_jobs(learnt, yard_.jobs()); }

  void on_phase(JobId job, Phase from, Phase to) override {
    if (from == Phase::running) leave(job);
    if (learns_) learnt_.on_phase(yard_, job, from, to);
    if (to == Phase::running && !rights_.acts_as_trial(job)) join(job);
    const bool took = holds_gpus(from) || from == Phase::reserved;
    const bool takes = holds_gpus(to) || to == Phase::reserved;
    if (took != takes) index_.refresh(yard_.placement(job));
  }

  void on_outlook(JobId job) override {
    if (batch_.contains(job)) index_.reprice(job, pause_of(job));
  }

  void on_machine(MachineId machine) override { index_.refresh({{machine, 0}}); }

 private:
  struct Newcomer {
    Time since;
    JobId job = kNoJob;
  };

  void join(JobId job) {
    batch_.add(yard_, job);
    index_.add(job, size_of(yard_, job), pause_of(job), false);
    newcomers_.push_back({yard_.now(), job});
  }

  [[nodiscard]] double pause_of(JobId job) const {
    return (learns_ ? learnt_.expected(yard_, job) : yard_.expected_pause(job)).seconds();
  }

  void leave(JobId job) {
    batch_.remove(job);
    index_.remove(job);
  }

  /// Who has run long enough can give way, unless it did so too often.
  void admit_newcomers() {
    for (; !newcomers_.empty(); newcomers_.pop_front()) {
      const Newcomer& first = newcomers_.front();
      if (first.since + yard_.rules().min_run > yard_.now()) return;
      const JobState& state = yard_.state(first.job);
      if (state.phase != Phase::running || state.since != first.since) continue;
      if (state.pauses < std::min<std::int64_t>(most_pauses_, yard_.rules().max_pauses))
        index_.allow(first.job);
    }
  }

  VictimIndex::Weights weights(const VictimIndex::Question& question) {
    VictimIndex::Weights largest{index_.largest_size(), index_.largest_pause()};
    if (over_candidates_) largest = index_.largest_of(question);
    const VictimIndex::Weights weights{largest.size > 0 ? 1 / largest.size : 0,
                                       largest.pause > 0 ? s_ / largest.pause : 0};
    if (!over_candidates_ && index_.is_stale(weights)) index_.reweigh(weights);
    return weights;
  }

  bool find_victim(JobId waiter, RoomFinder& finder) {
    const Shape& shape = yard_.shape(waiter);
    const VictimIndex::Question question{shape.per_worker, shape.kind, waiter};
    index_.find(question, weights(question), 1, choices_);
    if (choices_.empty()) return false;
    const VictimIndex::Choice& best = choices_.front();
    finder.settle(waiter, {{{best.machine, 1}}}, {{best.job}});
    return true;
  }

  bool find_victims(JobId waiter, Reach reach, RoomFinder& finder);
  void collect_offers(const VictimIndex::Question& question, std::int32_t workers);
  bool fall_back(JobId waiter, Reach reach, RoomFinder& finder, Time& retry);
  bool pause_one(JobId waiter, RoomFinder& finder);
  [[nodiscard]] bool may_be_drawn(JobId job) const {
    return !fallback_keeps_p_ || yard_.state(job).pauses < most_pauses_;
  }

  double s_;
  std::int64_t most_pauses_;
  bool over_candidates_, falls_back_, literal_, fallback_keeps_p_, learns_;

  const TrialRights& rights_;
  VictimIndex index_;
  Lots batch_;                      // those that run
  std::deque<Newcomer> newcomers_;  // those that have not run for min_run, or left before; by time
  LearntPause learnt_;
  std::map<JobId, JobId> asked_;  // by the literal rule: who was paused last for whom

  std::vector<VictimIndex::Choice> choices_, picked_;
  std::vector<CoverOffer> offers_, taken_;
};

/// What machines offer to a gang: what is free, at no price, and for each number of workers the
/// best victims that make room for so many.
void FitGpp::collect_offers(const VictimIndex::Question& question, std::int32_t workers) {
  offers_.clear();
  picked_.clear();
  const CountIndex& machines = yard_.free().of(question.kind).machines;
  const auto gpus = static_cast<std::size_t>(question.demand.gpus);
  for (std::size_t m = machines.next(0, gpus); m != CountIndex::kNone;
       m = machines.next(m + 1, gpus)) {
    const MachineId machine{static_cast<std::uint32_t>(m)};
    const std::int32_t fit =
        yard_.shape(question.waiter).fitting(machine, yard_.free().on(machine), workers);
    if (fit == 0) continue;
    offers_.push_back({m, fit, 0, picked_.size()});
    picked_.push_back({0, machine, kNoJob});
  }
  VictimIndex::Question slots = question;
  slots.only_if_needed = true;
  const VictimIndex::Weights w = weights(question);
  for (std::int32_t n = 1; n <= workers; ++n) {
    slots.demand = question.demand * n;
    slots.workers = n;
    index_.find(slots, w, static_cast<std::size_t>(workers), choices_);
    if (choices_.empty() && n > yard_.cluster().largest_machine_gpus) break;
    for (const VictimIndex::Choice& choice : choices_) {
      offers_.push_back({index(choice.machine), n, choice.score, picked_.size()});
      picked_.push_back(choice);
    }
  }
  std::stable_sort(offers_.begin(), offers_.end(),
                   [](const CoverOffer& a, const CoverOffer& b) { return a.machine < b.machine; });
}

bool FitGpp::find_victims(JobId waiter, Reach reach, RoomFinder& finder) {
  const Shape& shape = yard_.shape(waiter);
  if (reach.machines > 1 && reach.tier + 1 < yard_.cluster().tiers.size()) return false;
  const VictimIndex::Question question{shape.per_worker, shape.kind, waiter};
  collect_offers(question, shape.workers);
  if (!cheapest_cover(offers_, shape.workers, reach.machines, taken_)) return false;
  // What is free is filled first, so that whoever is paused is needed.
  std::stable_sort(taken_.begin(), taken_.end(), [](const CoverOffer& a, const CoverOffer& b) {
    return a.price == 0 && b.price > 0;
  });
  Placement room;
  std::vector<JobId> victims;
  std::int32_t left = shape.workers;
  for (const CoverOffer& offer : taken_) {
    const VictimIndex::Choice& choice = picked_[offer.id];
    const std::int32_t here = std::min(left, offer.workers);
    room.push_back({choice.machine, here});
    left -= here;
    if (choice.job != kNoJob &&
        std::find(victims.begin(), victims.end(), choice.job) == victims.end())
      victims.push_back(choice.job);
  }
  finder.settle(waiter, room, victims);
  return true;
}

bool FitGpp::fall_back(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) {
  if (!falls_back_) return false;
  if (literal_) return pause_one(waiter, finder);
  Offers offers(yard_, waiter, reach, finder, retry);
  return batch_.draw([&](JobId job) { return may_be_drawn(job) && offers.make(job); });
}

/// The literal rule: pauses one, and looks again when it has left.
bool FitGpp::pause_one(JobId waiter, RoomFinder& finder) {
  const auto asked = asked_.find(waiter);
  if (asked != asked_.end() && yard_.state(asked->second).phase == Phase::draining) return false;
  JobId victim = kNoJob;
  batch_.draw([&](JobId job) {
    if (may_be_drawn(job) && yard_.pausable_from(job, waiter) <= yard_.now()) victim = job;
    return victim != kNoJob;
  });
  if (victim == kNoJob) return false;
  asked_[waiter] = victim;
  finder.settle(waiter, {}, {{victim}});
  return true;
}

const std::string kPaper = "the paper's, as others describe it";
const std::string kOurs = "ours: the paper leaves it open";
const std::string kBeyond = "ours, beyond the paper";

}  // namespace

Member<PreemptStage> preempt_fitgpp() {
  return {{"fitgpp",
           "a trial job pauses the batch job that is small and quick to leave",
           "Yabuuchi, Taniwaki and Omura, OpML 2019, reconstructed from descriptions of it",
           {{"s", ParamType::real, "4", "weight of the pause against the size", {}, kPaper},
            {"P", ParamType::whole, "1", "no job gives way more often", {}, kPaper},
            {"normalise",
             ParamType::choice,
             "all",
             "whose largest size and pause count as 1: all running batch jobs', or the candidates'",
             {"all", "candidates"},
             kOurs},
            {"fallback",
             ParamType::choice,
             "random",
             "where no one job will do: a set drawn at random, nothing, or one by one (literal, in "
             "vain at times)",
             {"random", "none", "literal"},
             "literal is the paper's, as others describe it; that a set must suffice is ours"},
            {"fallback_P",
             ParamType::choice,
             "ignored",
             "whether P binds what is drawn at random",
             {"ignored", "kept"},
             kOurs},
            {"pause",
             ParamType::choice,
             "declared",
             "how long leaving takes: as declared, or as the job and its like took before",
             {"declared", "learnt"},
             kBeyond}}},
          make_member<PreemptStage, FitGpp>};
}

}  // namespace trainyard
