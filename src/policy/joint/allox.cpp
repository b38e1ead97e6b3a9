// AlloX (Le et al., EuroSys 2020): which waiting job goes to which kind of GPU, and in which order,
// so that the sum of completion times is least: a matching of jobs to (machine, k-th from the last)
// at a cost of k times what the job takes there (market/assignment.h). Whenever there is something
// free, all waiting jobs are matched anew, and those start that come first where GPUs are free.
//
// A matched job has one machine for itself. For kinds of many GPUs and gangs, our reading:
//
//   lanes      a kind has as many lanes as gangs of the mean size of the waiting jobs fit on its
//              GPUs: exact where all jobs have one GPU. What is free is free now, what a job holds
//              when that is expected to end; lanes that get free later than others are taken
//              together, up to eight times in each kind, at their mean time.
//   order      on each kind jobs start by what the matching says; one that finds no room is passed
//              by those behind it.
//   large jobs a gang that fits on no single kind comes after all others, on several.
//   queue      of more than 400 jobs that wait, those with the least to do are matched.
//
// That no job is paused is our choice. AlloX's
// fairness (only jobs of the users that have had least are matched, by a parameter alpha) is left
// out; queue.patience bounds waits instead: a job out of patience goes first, and nothing starts on
// the kinds that it could use before it does. Elastic jobs have `workers` workers.
//
// Example: a V100 and a K80, both free; A takes 1 h and 2 h there, B 2 h and 8 h. B on the V100 and
// A on the K80: 2 + 2 = 4 h; both on the V100, A first: 1 + 3 = 4 h; A there and B on the K80: 9 h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "market/assignment.h"
#include "policy/joint/kind_rates.h"
#include "policy/joint/roster.h"
#include "policy/joint/vacancies.h"
#include "policy/members.h"
#include "policy/wait_reasons.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostMatched = 400;
constexpr std::size_t kMostReleases = 8;  // of a kind, besides what is free now

class Allox final : public Policy {
 public:
  Allox(const Params& /*params*/, PolicyContext& context)
      : yard_(context.yard()),
        estimates_(context.estimates()),
        patience_(context.patience()),
        roster_(yard_),
        rates_(yard_),
        kinds_(yard_.cluster().kinds.size()),
        is_kept_(kinds_) {}

  void decide(Plan& plan) override {
    start_without_gpus(yard_, roster_.waiting(), plan);
    if (has_news_ && !roster_.waiting().empty() && yard_.free().of(kAnyKind).free_gpus > 0)
      start_matched(plan);
    has_news_ = false;
  }

  [[nodiscard]] WaitReason explain(JobId job) const override;

  void on_phase(JobId job, Phase from, Phase to) override {
    roster_.on_phase(job, from, to);
    has_news_ |= to == Phase::queued || (holds_gpus(from) && !holds_gpus(to));
  }
  void on_machine(MachineId /*machine*/, bool up) override { has_news_ |= up; }

 private:
  static constexpr std::size_t kSeveral = std::numeric_limits<std::size_t>::max();

  /// A job that waits, and where it is to run.
  struct Waiting {
    JobId job = kNoJob;
    std::vector<double> takes_s = {};  // by kind; infinite: it cannot run there
    std::size_t kind = kSeveral;
    double free_s = 0;           // of its lanes
    std::int32_t from_last = 0;  // on them
  };

  [[nodiscard]] bool is_impatient(JobId job) const {
    return patience_ != Duration::max() && yard_.now() - yard_.state(job).since > patience_;
  }
  [[nodiscard]] bool any_kept() const {
    return std::ranges::find(is_kept_, true) != is_kept_.end();
  }
  void find_waiting();
  [[nodiscard]] std::vector<Lanes> lanes() const;
  void match();
  void start_matched(Plan& plan);
  void start_or_keep(Plan& plan, Vacancies& room, const Waiting& waiting);
  bool start_on(Plan& plan, Vacancies& room, JobId job, std::size_t kind);

  const Yard& yard_;
  const Estimator& estimates_;
  Duration patience_;
  Roster roster_;
  KindRates rates_;
  std::size_t kinds_;
  bool has_news_ = false;
  std::vector<Waiting> waiting_;  // as last matched, in the order in which they are tried
  std::vector<bool> is_kept_;     // by kind, for a job out of patience
};

void Allox::find_waiting() {
  waiting_.clear();
  roster_.waiting().each([&](JobId job) {
    if (yard_.job(job).per_worker.gpus == 0) return true;
    Waiting& waiting = waiting_.emplace_back(Waiting{job, rates_.of(job)});
    const double left_s = estimates_.remaining(job).seconds();
    for (double& takes_s : waiting.takes_s)
      takes_s = takes_s > 0 ? left_s / takes_s : std::numeric_limits<double>::infinity();
    return true;
  });
}

std::vector<Lanes> Allox::lanes() const {
  double mean = 0;
  for (const Waiting& waiting : waiting_) mean += yard_.job(waiting.job).gpus();
  mean /= static_cast<double>(waiting_.size());
  struct Release {
    double at_s = 0, gpus = 0;
  };
  std::vector<std::vector<Release>> releases(kinds_);
  for (std::size_t k = 0; k < kinds_; ++k) {
    const KindId kind{static_cast<std::uint16_t>(k)};
    releases[k].push_back({0, static_cast<double>(yard_.free().of(kind).free_gpus)});
  }
  roster_.holding().each([&](JobId job) {
    const double left_s = estimates_.remaining(job).seconds() * yard_.rate(job).time_per_work();
    for (const Share& share : yard_.placement(job))
      releases[index(yard_.cluster().machine(share.machine).kind)].push_back(
          {left_s, static_cast<double>(share.workers) * yard_.job(job).per_worker.gpus});
    return true;
  });
  std::vector<Lanes> lanes;
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    std::vector<Release>& of = releases[kind];
    std::ranges::stable_sort(of.begin() + 1, of.end(), {}, &Release::at_s);
    const std::size_t together = (of.size() - 1 + kMostReleases - 1) / kMostReleases;
    double gpus = 0, lane_s = 0, lane_gpus = 0;
    std::int32_t so_far = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      gpus += of[i].gpus, lane_gpus += of[i].gpus, lane_s += of[i].at_s * of[i].gpus;
      const bool is_last = i + 1 == of.size();
      if (i > 0 && !is_last && i % together != 0) continue;
      auto number = static_cast<std::int32_t>(std::lround(gpus / mean)) - so_far;
      if (is_last && gpus > 0) number = std::max(number, so_far == 0 ? 1 : 0);
      if (number > 0) lanes.push_back({kind, number, lane_s / lane_gpus});
      so_far += number;
      lane_s = lane_gpus = 0;
    }
  }
  return lanes;
}

void Allox::match() {
  const auto shortest_s = [](const Waiting& waiting) {
    return *std::ranges::min_element(waiting.takes_s);
  };
  std::ranges::stable_sort(waiting_, {}, shortest_s);
  if (waiting_.size() > kMostMatched) waiting_.resize(kMostMatched);
  const std::vector<Lanes> lanes = this->lanes();
  std::vector<double> takes_s;
  for (const Waiting& waiting : waiting_)
    takes_s.insert(takes_s.end(), waiting.takes_s.begin(), waiting.takes_s.end());
  const std::vector<LanePlace> places = assign_to_lanes(lanes, kinds_, takes_s);
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (places[i].lanes == kNoLanes) continue;
    waiting_[i].kind = lanes[places[i].lanes].kind;
    waiting_[i].free_s = lanes[places[i].lanes].free_s;
    waiting_[i].from_last = places[i].from_last;
  }
  std::ranges::stable_sort(waiting_, {}, [](const Waiting& waiting) {
    const double alone_s = waiting.kind == kSeveral ? 0 : waiting.takes_s[waiting.kind];
    return std::tuple(waiting.kind, waiting.free_s, -waiting.from_last, alone_s, waiting.job);
  });
}

/// Whether the job found room there.
bool Allox::start_on(Plan& plan, Vacancies& room, JobId job, std::size_t kind) {
  const std::int32_t workers = yard_.job(job).workers;
  Placement place;
  if (kind == kSeveral) {
    if (!rates_.needs_several_kinds(job)) return false;  // its kind is down
    if (room.add_at_least(job, workers, workers, place) == 0) return false;
  } else if (room.add_close(job, KindId{static_cast<std::uint16_t>(kind)}, workers, place) <
             workers) {
    room.give_back(job, place);
    return false;
  }
  return plan.start(job, place) == Verdict::ok;
}

/// At once if there is room; else what it could use is kept for it.
void Allox::start_or_keep(Plan& plan, Vacancies& room, const Waiting& waiting) {
  if (rates_.needs_several_kinds(waiting.job)) {
    if (any_kept() || !start_on(plan, room, waiting.job, kSeveral)) is_kept_.assign(kinds_, true);
    return;
  }
  std::vector<std::size_t> kinds;
  for (std::size_t kind = 0; kind < kinds_; ++kind)
    if (std::isfinite(waiting.takes_s[kind])) kinds.push_back(kind);
  std::ranges::stable_sort(kinds, {}, [&](std::size_t kind) { return waiting.takes_s[kind]; });
  const bool has_started = std::ranges::any_of(kinds, [&](std::size_t kind) {
    return !is_kept_[kind] && start_on(plan, room, waiting.job, kind);
  });
  for (const std::size_t kind : kinds) is_kept_[kind] = is_kept_[kind] || !has_started;
}

void Allox::start_matched(Plan& plan) {
  Vacancies room(yard_);
  find_waiting();
  is_kept_.assign(kinds_, false);
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const bool goes_first = is_impatient(waiting.job);
    if (goes_first) start_or_keep(plan, room, waiting);
    return goes_first;
  });
  if (waiting_.empty()) return;
  match();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.kind == kSeveral ? any_kept() : is_kept_[waiting.kind]) return false;
    return start_on(plan, room, waiting.job, waiting.kind);
  });
}

WaitReason Allox::explain(JobId job) const {
  const JobState& state = yard_.state(job);
  if (state.phase == Phase::reserved) return room_being_made(yard_, job);
  if (state.phase != Phase::queued) return does_not_wait(yard_, job);
  const std::string lacks = shortage(yard_, yard_.shape(job), yard_.shape(job).workers);
  const std::size_t place = roster_.waiting().rank(job) + 1;
  const auto matched = std::ranges::find(waiting_, job, &Waiting::job);
  std::string next = is_impatient(job) ? "it is out of patience, so no job passes it"
                                       : "it is matched with GPUs when other jobs leave";
  if (matched != waiting_.end() && matched->kind != kSeveral) {
    const auto before = std::count_if(waiting_.begin(), matched, [&](const Waiting& other) {
      return other.kind == matched->kind && yard_.state(other.job).phase == Phase::queued;
    });
    next = fmt::format("it is to run on {}, where {} other{} first",
                       yard_.cluster().kinds[matched->kind],
                       before == 0 ? "no" : fmt::to_string(before), before == 1 ? " goes" : "s go");
  }
  if (lacks.empty()) return {"priority", next, place, {}};
  return {"resources", fmt::format("{}; {}", lacks, next), place, {}};
}

}  // namespace

Member<Policy> joint_allox() {
  return {{"allox",
           "every job on the kind of GPU, and in the order, that makes the sum of completion times "
           "least; never pauses",
           "Le et al., AlloX, EuroSys 2020; many GPUs of a kind and gangs are our reading, in "
           "docs/policies.md"},
          make_member<Policy, Allox>};
}

}  // namespace trainyard
