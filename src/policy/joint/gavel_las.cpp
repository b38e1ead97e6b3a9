// Gavel's heterogeneity-aware LAS (Narayanan et al., OSDI 2020): every job gets the share of time
// on each kind of GPU that makes the worst-off job as well off as can be (market/max_min.h has the
// linear program), and jobs take turns in rounds so that in the long run they have these shares.
//
// In a round, pairs of job and kind are served by their priority: the job's share there, over the
// part of its life that it had such GPUs. A job gets GPUs of one kind if there are enough left for
// its whole gang; one that has such GPUs already keeps them and is not paused, the others are
// moved, paused or started. Gavel does not resize: elastic jobs have `workers` workers.
//
// From Gavel's public scheduler, which we read: the program, a priority of the share over what was
// had, that half a round counts as had on every kind from the beginning, that pairs without a share
// come last but are served. Ours:
//
//   life       what a job has had is over its life so far, on each kind; Gavel's is over what all
//              jobs have had there, and begins anew when shares change.
//   shares     are reckoned anew at every decision if jobs came or went since; in Gavel's simulator
//              only after a least time.
//   new jobs   those that never had GPUs come first, in the order of submission, so that ever new
//              small jobs do not keep a gang out.
//   between    what becomes free between rounds goes to waiting jobs by the same priority, if they
//              can be paused again at the next; in Gavel it stands idle until then.
//   room       jobs keep their GPUs unless one with a higher priority finds no room otherwise.
//   large jobs a gang that fits on no single kind runs on several at once, and is due an equal
//   part.
//
// Example: one V100, A and B both want it. Each is due half of the time: A runs for a round, then
// it has had all of its life and B none, so B runs, and so on.
#include <algorithm>
#include <limits>
#include <numeric>

#include "market/max_min.h"
#include "policy/joint/kind_rates.h"
#include "policy/joint/roster.h"
#include "policy/joint/vacancies.h"
#include "policy/members.h"
#include "policy/wait_reasons.h"

namespace trainyard {
namespace {

constexpr Duration kShortestTurn = seconds(1);
/// Of all that a job is due; smaller ones are what rounding left.
constexpr double kLeastShare = 1e-3;

/// A job that is to have GPUs of a kind in this round.
struct RoundTurn {
  JobId job = kNoJob;
  std::size_t kind = 0;  // the number of kinds: on several
  bool runs = false;
  bool keeps = false;      // it is there already
  bool is_forced = false;  // before those that keep their place, if their priority is lower
  Placement place = {};    // empty: there is no room
};

class GavelLas final : public Policy {
 public:
  GavelLas(const Params& params, PolicyContext& context)
      : yard_(context.yard()),
        roster_(yard_),
        rates_(yard_),
        kinds_(yard_.cluster().kinds.size()),
        round_(std::max({params.duration("round"), kShortestTurn, yard_.rules().min_run})) {}

  void decide(Plan& plan) override {
    const bool is_round = yard_.now() >= next_round_;
    if (is_round) next_round_ = yard_.now() + round_;
    start_without_gpus(yard_, roster_.waiting(), plan);
    const bool may_fill = has_news_ && yard_.free().of(kAnyKind).free_gpus > 0;
    if (is_round || (may_fill && !roster_.waiting().empty())) serve(plan, is_round);
    has_news_ = false;
    // Where nobody holds GPUs after a round, those that wait cannot run until something happens.
    const bool is_due = !is_round && !roster_.waiting().empty();
    if (is_due || !roster_.holding().empty()) plan.wake_at(next_round_);
  }

  [[nodiscard]] bool preempts() const override { return true; }
  [[nodiscard]] WaitReason explain(JobId job) const override;

  void save_learnt(Learnt& learnt) const override;
  void recall_jobs(const Learnt& learnt) override;
  void on_phase(JobId job, Phase from, Phase to) override;
  void on_machine(MachineId /*machine*/, bool /*up*/) override { has_news_ = has_changed_ = true; }

 private:
  static constexpr const char* kName = "rounds of gavel-las";

  /// A job that may have a turn, and what it can do with one.
  struct Candidate {
    JobId job = kNoJob;
    bool runs = false;
    std::vector<double> rate = {};  // by kind
  };
  /// A candidate on a kind.
  struct Claim {
    std::size_t candidate = 0, kind = 0;
    double priority = 0, share = 0, rate = 0;
    bool is_first = false;  // it never had GPUs
  };

  void find_shares();
  void find_candidates(bool is_round);
  [[nodiscard]] std::vector<Claim> claims() const;
  void give_turns();
  [[nodiscard]] bool place_all();
  [[nodiscard]] Placement find_place(const RoundTurn& turn, Vacancies& room) const;
  void serve(Plan& plan, bool is_round);
  [[nodiscard]] std::vector<JobChange> changes() const;

  [[nodiscard]] std::size_t kind_of(const Placement& place) const;
  [[nodiscard]] double had_s(JobId job, std::size_t kind) const;
  [[nodiscard]] double share(JobId job, std::size_t kind) const {
    const std::size_t at = index(job) * (kinds_ + 1) + kind;
    return at < shares_.size() ? shares_[at] : 0;
  }

  const Yard& yard_;
  Roster roster_;
  KindRates rates_;
  std::size_t kinds_;
  Duration round_;
  Time next_round_{std::numeric_limits<std::int64_t>::min()};
  bool has_news_ = false;     // there may be room for jobs that wait
  bool has_changed_ = false;  // shares are to be reckoned anew
  // By job and kind, and behind them on several kinds at once.
  std::vector<double> shares_;
  std::vector<double> had_s_;      // up to its present run
  std::vector<Time> holds_since_;  // by job
  std::vector<Candidate> candidates_;
  std::vector<RoundTurn> turns_;  // by priority
};

std::size_t GavelLas::kind_of(const Placement& place) const {
  const KindId first = yard_.cluster().machine(place.front().machine).kind;
  const bool is_one = std::ranges::all_of(place, [&](const Share& share) {
    return yard_.cluster().machine(share.machine).kind == first;
  });
  return is_one ? index(first) : kinds_;
}

void GavelLas::on_phase(JobId job, Phase from, Phase to) {
  roster_.on_phase(job, from, to);
  has_news_ |= to == Phase::queued || (holds_gpus(from) && !holds_gpus(to));
  has_changed_ |= from == Phase::absent || has_ended(to);
  if (holds_gpus(from) == holds_gpus(to)) return;
  if (index(job) >= holds_since_.size()) {
    holds_since_.resize(index(job) + 1);
    had_s_.resize(holds_since_.size() * (kinds_ + 1));
  }
  if (holds_gpus(to)) {
    holds_since_[index(job)] = yard_.now();
  } else if (yard_.job(job).per_worker.gpus > 0) {
    had_s_[index(job) * (kinds_ + 1) + kind_of(yard_.placement(job))] +=
        (yard_.now() - holds_since_[index(job)]).seconds();
  }
}

/// Of each job since when it holds GPUs, its shares, and how long it had GPUs in runs that are
/// over.
void GavelLas::save_learnt(Learnt& learnt) const {
  Policy::save_learnt(learnt);
  learnt[kName] = {number_of(std::max(next_round_, Time{})), has_changed_ ? 1.0 : 0.0,
                   has_news_ ? 1.0 : 0.0};
  const std::size_t kinds = kinds_ + 1;
  JobNotes notes(learnt, kName, 1 + 2 * kinds);
  for (std::uint32_t j = 0; j < yard_.jobs(); ++j) {
    const JobId job{j};
    if (has_ended(yard_.state(job).phase)) continue;
    std::vector<double> numbers{j < holds_since_.size() ? number_of(holds_since_[j]) : 0};
    for (std::size_t kind = 0; kind < kinds; ++kind) numbers.push_back(share(job, kind));
    for (std::size_t at = j * kinds; at < (j + 1) * kinds; ++at)
      numbers.push_back(at < had_s_.size() ? had_s_[at] : 0);
    notes.add(job, numbers);
  }
}

void GavelLas::recall_jobs(const Learnt& learnt) {
  Policy::recall_jobs(learnt);
  each_learnt(learnt, kName, [&](std::string_view, std::span<const double> kept) {
    if (kept.size() != 3) return;
    next_round_ = std::min(time_of(kept[0]), yard_.now() + round_);
    has_changed_ = kept[1] != 0, has_news_ = kept[2] != 0;
  });
  const std::size_t kinds = kinds_ + 1;
  each_note(learnt, kName, 1 + 2 * kinds, yard_.jobs(), [&](JobId job, auto numbers) {
    const std::size_t first = index(job) * kinds;
    holds_since_.resize(std::max(holds_since_.size(), index(job) + 1));
    had_s_.resize(holds_since_.size() * kinds), shares_.resize(holds_since_.size() * kinds);
    holds_since_[index(job)] = std::min(time_of(numbers[0]), yard_.now());
    std::ranges::copy(numbers.subspan(1, kinds), &shares_[first]);
    std::ranges::copy(numbers.subspan(1 + kinds, kinds), &had_s_[first]);
  });
}

/// How long it has had GPUs of that kind by now.
double GavelLas::had_s(JobId job, std::size_t kind) const {
  const std::size_t at = index(job) * (kinds_ + 1) + kind;
  const double before = at < had_s_.size() ? had_s_[at] : 0;
  if (!holds_gpus(yard_.state(job).phase) || kind_of(yard_.placement(job)) != kind) return before;
  return before + (yard_.now() - holds_since_[index(job)]).seconds();
}

void GavelLas::find_shares() {
  has_changed_ = false;
  std::vector<std::int32_t> gpus(kinds_);
  double all = 0;
  for (std::uint32_t m = 0; m < yard_.cluster().machines.size(); ++m) {
    const Machine& machine = yard_.cluster().machine(MachineId{m});
    if (yard_.free().is_up(MachineId{m})) gpus[index(machine.kind)] += machine.capacity.gpus;
  }
  for (const std::int32_t number : gpus) all += number;
  std::vector<JobId> jobs;
  std::vector<std::int32_t> gangs;
  std::vector<double> rates;
  const auto add = [&](JobId job) {
    if (yard_.job(job).per_worker.gpus == 0) return true;
    jobs.push_back(job);
    gangs.push_back(yard_.job(job).gpus());
    const std::vector<double> rate = rates_.of(job);
    rates.insert(rates.end(), rate.begin(), rate.end());
    return true;
  };
  roster_.waiting().each(add);
  roster_.holding().each(add);
  const std::vector<double> found = max_min_shares(gpus, gangs, rates);
  shares_.assign(yard_.jobs() * (kinds_ + 1), 0);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    double* const shares = &shares_[index(jobs[i]) * (kinds_ + 1)];
    double due = 0;
    for (std::size_t kind = 0; kind < kinds_; ++kind) due += found[i * kinds_ + kind];
    for (std::size_t kind = 0; kind < kinds_; ++kind)
      if (found[i * kinds_ + kind] >= kLeastShare * due) shares[kind] = found[i * kinds_ + kind];
    if (rates_.needs_several_kinds(jobs[i]))
      shares[kinds_] = std::min(1.0, all / static_cast<double>(jobs.size()) / gangs[i]);
  }
}

void GavelLas::find_candidates(bool is_round) {
  candidates_.clear();
  const auto add = [&](JobId job, bool runs) {
    candidates_.push_back({job, runs, rates_.of(job)});
    candidates_.back().rate.push_back(rates_.needs_several_kinds(job) ? 1 : 0);
  };
  roster_.waiting().each([&](JobId job) {
    const Time pausable = yard_.now() + yard_.load_time(job) + yard_.rules().min_run;
    if (yard_.job(job).per_worker.gpus > 0 && (is_round || pausable <= next_round_))
      add(job, false);
    return true;
  });
  if (!is_round) return;
  roster_.holding().each([&](JobId job) {
    if (yard_.job(job).per_worker.gpus > 0 && roster_.may_be_paused(job)) add(job, true);
    return true;
  });
}

/// All that the candidates could have, in the order in which it is given.
std::vector<GavelLas::Claim> GavelLas::claims() const {
  std::vector<Claim> claims;
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const auto& [job, runs, rate] = candidates_[c];
    const double start_s = round_.seconds() / 2;
    const double life_s = (yard_.now() - yard_.job(job).submit).seconds() + start_s;
    const bool is_new = yard_.state(job).first_start == Time::never();
    for (std::size_t kind = 0; kind <= kinds_; ++kind) {
      if (rate[kind] <= 0) continue;
      const double due = share(job, kind);
      claims.push_back({c, kind, due * life_s / (had_s(job, kind) + start_s), due, rate[kind],
                        is_new && due > 0});
    }
  }
  std::ranges::sort(claims, [&](const Claim& a, const Claim& b) {
    if (a.is_first != b.is_first) return a.is_first;
    if (!a.is_first && a.priority != b.priority) return a.priority > b.priority;
    const JobId x = candidates_[a.candidate].job, y = candidates_[b.candidate].job;
    if (x != y) return x < y;
    if (a.share != b.share) return a.share > b.share;
    return a.rate != b.rate ? a.rate > b.rate : a.kind < b.kind;
  });
  return claims;
}

/// By the number of GPUs alone, as Gavel does.
void GavelLas::give_turns() {
  std::vector<std::int64_t> left(kinds_);
  for (std::size_t kind = 0; kind < kinds_; ++kind)
    left[kind] = yard_.free().of(KindId{static_cast<std::uint16_t>(kind)}).free_gpus;
  for (const Candidate& candidate : candidates_)
    for (const Share& share : candidate.runs ? yard_.placement(candidate.job) : Placement())
      left[index(yard_.cluster().machine(share.machine).kind)] +=
          std::int64_t{share.workers} * yard_.job(candidate.job).per_worker.gpus;
  const auto take = [&](std::int64_t gpus, std::size_t kind) {
    const auto first = left.begin() + static_cast<std::ptrdiff_t>(kind == kinds_ ? 0 : kind);
    const auto last = kind == kinds_ ? left.end() : first + 1;
    if (std::accumulate(first, last, std::int64_t{0}) < gpus) return false;
    for (auto here = first; gpus > 0; ++here) {
      const std::int64_t some = std::min(*here, gpus);
      *here -= some;
      gpus -= some;
    }
    return true;
  };
  turns_.clear();
  std::vector<bool> has_turn(candidates_.size());
  for (const Claim& claim : claims()) {
    const auto& [job, runs, rate] = candidates_[claim.candidate];
    const bool keeps = runs && kind_of(yard_.placement(job)) == claim.kind;
    const std::int32_t gpus = keeps ? yard_.gpus(job) : yard_.job(job).gpus();
    if (has_turn[claim.candidate] || !take(gpus, claim.kind)) continue;
    has_turn[claim.candidate] = true;
    turns_.push_back({job, claim.kind, runs, keeps});
  }
}

Placement GavelLas::find_place(const RoundTurn& turn, Vacancies& room) const {
  const std::int32_t workers = yard_.job(turn.job).workers;
  Placement place;
  if (turn.kind == kinds_) {
    room.add_at_least(turn.job, workers, workers, place);
    return place;
  }
  const KindId kind{static_cast<std::uint16_t>(turn.kind)};
  if (room.add_close(turn.job, kind, workers, place) == workers) return place;
  room.give_back(turn.job, place);
  return {};
}

/// False: one found no room where others keep their places, and comes before them from now on, so
/// it has to be tried again.
bool GavelLas::place_all() {
  Vacancies room(yard_);
  for (const Candidate& candidate : candidates_)
    if (candidate.runs) room.give_back(candidate.job, yard_.placement(candidate.job));
  for (RoundTurn& turn : turns_) {
    turn.place.clear();
    if (turn.keeps && room.has_room(turn.job, yard_.placement(turn.job))) {
      turn.place = yard_.placement(turn.job);
      room.take(turn.job, turn.place);
    } else if (turn.is_forced) {
      turn.place = find_place(turn, room);
    }
  }
  for (RoundTurn& turn : turns_) {
    if (!turn.place.empty()) continue;
    turn.place = find_place(turn, room);
    if (!turn.place.empty() || turn.is_forced) continue;
    turn.is_forced = true;
    return false;
  }
  // Where there is still room, those without a turn need not leave.
  for (const Candidate& candidate : candidates_) {
    const auto turn = std::ranges::find(turns_, candidate.job, &RoundTurn::job);
    if (!candidate.runs || (turn != turns_.end() && !turn->place.empty())) continue;
    const Placement& here = yard_.placement(candidate.job);
    if (!room.has_room(candidate.job, here)) continue;
    room.take(candidate.job, here);
    if (turn != turns_.end()) {
      turn->place = here;
    } else {
      turns_.push_back({candidate.job, kind_of(here), true, true, false, here});
    }
  }
  return true;
}

std::vector<JobChange> GavelLas::changes() const {
  std::vector<JobChange> group;
  for (const Candidate& candidate : candidates_) {
    const auto turn = std::ranges::find(turns_, candidate.job, &RoundTurn::job);
    Placement to = turn == turns_.end() ? Placement() : turn->place;
    const bool stays = candidate.runs ? to == yard_.placement(candidate.job) : to.empty();
    if (!stays) group.push_back({.job = candidate.job, .to = std::move(to)});
  }
  return group;
}

void GavelLas::serve(Plan& plan, bool is_round) {
  if (has_changed_) find_shares();
  find_candidates(is_round);
  give_turns();
  while (!place_all()) {
  }
  const std::vector<JobChange> group = changes();
  if (!group.empty()) (void)plan.change(group);
}

WaitReason GavelLas::explain(JobId job) const {
  const JobState& state = yard_.state(job);
  if (state.phase == Phase::reserved) return room_being_made(yard_, job);
  if (state.phase != Phase::queued) return does_not_wait(yard_, job);
  const std::string lacks = shortage(yard_, yard_.shape(job), yard_.shape(job).workers);
  double due = 0, had = 0;
  for (std::size_t kind = 0; kind <= kinds_; ++kind)
    due += share(job, kind), had += had_s(job, kind);
  const double life_s = (yard_.now() - yard_.job(job).submit).seconds();
  const std::string turn = fmt::format(
      "it is due GPUs for {:.0f}% of the time and has had them for {:.0f}%; turns are given {}",
      due * 100, life_s > 0 ? had / life_s * 100 : 0,
      next_round_ <= yard_.now() ? "now" : "at the next round");
  const std::size_t place = roster_.waiting().rank(job) + 1;
  if (lacks.empty()) return {"priority", turn, place, {}};
  return {"resources", fmt::format("{}; {}", lacks, turn), place, {}};
}

}  // namespace

Member<Policy> joint_gavel_las() {
  return {
      {"gavel-las",
       "jobs take turns on the kinds of GPU so that the worst-off has the most that it can",
       "Narayanan et al., Gavel, OSDI 2020, heterogeneity-aware LAS; what is ours is in "
       "docs/policies.md",
       {{"round", ParamType::duration, "6m", "how long a turn is; at least 1s, and yard.min_run"}}},
      make_member<Policy, GavelLas>};
}

}  // namespace trainyard
