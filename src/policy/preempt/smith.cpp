// A job may pause only jobs that rank behind it by Smith's rule, and only if that pays.
//
// R is the time that a job has left, k its width and p the worth of its seconds (economy/worth.h).
// The waiter w ranks before v if R_w k_w / p_w < R_v k_v / p_v, as in order=smith. To pause v alone
// pays if that holds with the costs of the pause included:
//
//   p_w k_v (R_v - S_v)  >  p_v (k_w R_w + min(k_w, k_v) (L_w + C_v)) + lambda k_v min(g_w, g_v)
//   C_v
//
//   R_w       in the slowest place that w takes now, as R_v is where v runs: a job that is slow
//             wherever it can be must not look short while it waits, and long while it runs
//   S_v, L_v  the time that v takes to leave, and to load again; L_w that w takes to load
//   C_v       S_v + L_v, and what v loses by coming back to where jobs of its size usually find
//             room, if it runs in a better place; and the work that it has to do again, if it was
//             killed when it was last paused
//   lambda    the price of a GPU-second (economy/gpu_price.h), g_v the GPUs of v
//
// A wide job that leaves makes room for several: the waiter bears its part of the costs only, that
// of the GPUs that it takes. Without that a gang on the whole cluster would hold it against
// thousands of small jobs, each of which alone would have to make up for what all GPUs lose.
//
// Those for which it pays are offered by the service that they have left, most first (behind.h),
// until the gang fits. The set is paused if the sum of completion times falls by it (gain.h): the
// waiter, and those that move up behind it, gain no more than the time until there would be room
// anyway (first_room.h) allows.
//
// Example: on 512 GPUs, w needs 1 GPU for 2 h; A runs on 1 GPU for another 5 h, B on 8 for 1 h.
// All count alike and pauses cost nothing. B has 8 GPU-hours left and A 5: B leaves, and seven more
// jobs of the queue can start beside w.
#include <algorithm>
#include <cmath>

#include "policy/members.h"
#include "policy/preempt/behind.h"
#include "policy/preempt/first_room.h"
#include "policy/preempt/gain.h"
#include "policy/preempt/usual_place.h"

namespace trainyard {
namespace {

/// The most GPUs that a running job holds.
class Widest {
 public:
  void add(std::int32_t gpus) {
    const auto number = static_cast<std::size_t>(gpus);
    if (number >= running_.size()) running_.resize(number + 1);
    ++running_[number];
  }
  void remove(std::int32_t gpus) {
    --running_[static_cast<std::size_t>(gpus)];
    while (!running_.empty() && running_.back() == 0) running_.pop_back();
  }
  /// At least 1.
  [[nodiscard]] std::int32_t gpus() const {
    return std::max(static_cast<std::int32_t>(running_.size()) - 1, 1);
  }

 private:
  std::vector<std::uint32_t> running_;  // by their GPUs
};

class Smith final : public PreemptStage {
 public:
  Smith(const Params& params, PolicyContext& context)
      : PreemptStage(params, context),
        context_(context),
        worth_(context.worth()),
        gpu_price_(context.gpu_price()),
        estimates_(context.estimates()),
        behind_(context.yard(), context.estimates()),
        first_room_(context.yard(), context.estimates()) {}

  void on_phase(JobId job, Phase from, Phase to) override {
    first_room_.forget();
    if (to == Phase::starting) usual_.note(yard_, job);
    if (from == Phase::running) {
      behind_.remove(job, known_[index(job)].width);
      first_room_.remove(job, known_[index(job)].rank);
      widest_.remove(gpus_of(job));
    }
    if (to == Phase::running) {
      grow_to(known_, index(job), yard_.workload().jobs.size());
      const std::size_t tier = tier_of(yard_.cluster(), yard_.placement(job));
      known_[index(job)] = {estimates_.rank(job), worth_.width(job),
                            usual_.slower(yard_, job, tier)};
      behind_.add(job, known_[index(job)].width);
      first_room_.add(job, known_[index(job)].rank);
      widest_.add(gpus_of(job));
    }
  }
  void on_outlook(JobId job) override {
    if (yard_.state(job).phase != Phase::running) return;
    Known& known = known_[index(job)];
    first_room_.remove(job, known.rank);
    known.rank = estimates_.rank(job);
    first_room_.add(job, known.rank);
    first_room_.forget();
    behind_.rerank(job, known.width);
  }

  void on_machine(MachineId /*machine*/) override { first_room_.forget(); }

  void save_learnt(Learnt& learnt) const override {
    usual_.save_learnt(learnt);
    JobNotes notes(learnt, kName, 1);
    for (std::size_t j = 0; j < known_.size(); ++j)
      if (const JobId job{static_cast<std::uint32_t>(j)}; yard_.state(job).phase == Phase::running)
        notes.add(job, {1 + known_[j].slower});
  }
  void recall_jobs(const Learnt& learnt) override {
    each_note(learnt, kName, 1, yard_.jobs(), [&](JobId job, std::span<const double> times) {
      if (yard_.state(job).phase == Phase::running) known_[index(job)].slower = times[0] - 1;
    });
  }
  void recall(const Learnt& learnt, Time /*now*/) override { usual_.recall(learnt); }

  /// Its place in the order; before that, if it runs in less time than its work takes where GPUs
  /// are fast.
  [[nodiscard]] std::int64_t claim(JobId waiter) const override {
    const double least = std::min(work_left(waiter), time_within(waiter, kMachineTier));
    const double service = least * worth_.width(waiter);
    return static_cast<std::int64_t>(std::min(service / worth_.of(waiter), 9e18));
  }
  [[nodiscard]] bool could_free(std::int64_t claim, std::int64_t gpus) override {
    return may_pause() && behind_.hold(gpus, static_cast<double>(claim));
  }
  void find_retry(JobId waiter, std::int64_t claim, Time& retry) override {
    behind_.find_retry(waiter, static_cast<double>(claim), retry);
    if (estimates_.grows() && first_room_.any()) retry = std::min(retry, first_room_.next_look());
  }
  bool make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) override;

 private:
  static constexpr const char* kName = "usual places";

  struct Known {
    Time rank;
    double width = 1;
    double slower = 0;  // its time at a usual place over that where it is, less 1
  };

  /// Of a waiting job.
  struct Search {
    const GainWaiter& terms;
    double width = 1;
    std::size_t tier = 0;
    std::int32_t gpus = 0;
  };

  [[nodiscard]] std::int32_t gpus_of(JobId job) const { return std::max(yard_.job(job).gpus(), 1); }
  [[nodiscard]] bool cannot_pay(JobId waiter, const GainWaiter& w);
  [[nodiscard]] bool may_pause() const { return yard_.rules().min_run != Duration::max(); }
  [[nodiscard]] double work_left(JobId waiter) const {
    return static_cast<double>(estimates_.remaining(waiter).us);
  }
  /// How long the waiter would run in the slowest place that it takes.
  [[nodiscard]] double time_within(JobId waiter, std::size_t tier) const;
  [[nodiscard]] GainVictim victim_terms(JobId victim) const;
  [[nodiscard]] bool pays(const Search& search, const Behind::Entry& victim) const;
  [[nodiscard]] bool is_offered(const Search& search, const Behind::Entry& entry) const;
  bool find_victims(JobId waiter, Reach reach, const GainWaiter& w, RoomFinder& finder,
                    Time& retry);
  bool does_one_suffice(JobId waiter, const Search& search, std::size_t count);
  bool offer(const Search& search, std::size_t count, Offers& offers) const;
  [[nodiscard]] PauseGain gain_of(GainWaiter w, JobId waiter) const;

  PolicyContext& context_;
  const Worth& worth_;
  const GpuPrice& gpu_price_;
  const Estimator& estimates_;
  Behind behind_;
  FirstRoom first_room_;
  Widest widest_;
  UsualPlace usual_;
  std::vector<Known> known_;  // by job, of those that run or did

  // Of the present waiter.
  Placement room_;
  std::vector<JobId> victims_;
};

double Smith::time_within(JobId waiter, std::size_t tier) const {
  if (yard_.speed() == nullptr) return work_left(waiter);
  double slowest = 0;
  const std::size_t last = yard_.job(waiter).workers == 1 ? kMachineTier : tier;
  for (std::size_t t = 0; t <= last; ++t)
    slowest = std::max(slowest, yard_.speed()->rate_at(yard_.job(waiter), t).time_per_work());
  return std::floor(work_left(waiter) * slowest);
}

GainVictim Smith::victim_terms(JobId victim) const {
  const Known& known = known_[index(victim)];
  const auto left = static_cast<double>(estimates_.left_at(known.rank).us);
  return {left,
          static_cast<double>(yard_.expected_pause(victim).us),
          static_cast<double>(yard_.reload_time(victim).us),
          static_cast<double>(gpus_of(victim)),
          worth_.of(victim),
          std::floor(std::max(left * known.slower, 0.0)) +
              static_cast<double>(yard_.work_at_stake(victim).us)};
}

bool Smith::pays(const Search& search, const Behind::Entry& victim) const {
  const GainWaiter& w = search.terms;
  const GainVictim v = victim_terms(victim.job);
  const double lost = v.leave + v.load + v.after;
  const double own = v.price * (w.load + lost);
  const double others = w.others_per_gpu * v.gpus * lost * part_of(search.gpus, v.gpus);
  return w.price * victim.width * (v.left - v.leave) >
         v.price * search.width * w.remaining + std::min(search.width, victim.width) * own +
             victim.width * others;
}

bool Smith::make_room(JobId waiter, Reach reach, RoomFinder& finder, Time& retry) {
  if (!may_pause()) return false;
  const std::size_t tier = std::min(reach.tier, yard_.cluster().tiers.size() - 1);
  GainWaiter w{time_within(waiter, tier), static_cast<double>(yard_.load_time(waiter).us),
               worth_.of(waiter), gpu_price_.per_second()};
  w.first_room = first_room_.until(yard_.shape(waiter).gpus(), tier);
  w.all_started = all_started(w.first_room, gpu_price_.waiting());
  if (cannot_pay(waiter, w) || !find_victims(waiter, reach, w, finder, retry)) return false;
  const PauseGain gain = gain_of(w, waiter);
  if (!(gain.gain() >= 0)) return false;
  finder.settle(waiter, room_, victims_);
  context_.tell(waiter, {.gain_s = gain.gain() / 1e6,
                         .spared_s = gain.spared() / 1e6,
                         .worth_s = gain.worth() / 1e6,
                         .room_s = gain.room() / 1e6,
                         .suspended_s = gain.suspended() / 1e6,
                         .costs_s = (gain.loss() - gain.others()) / 1e6,
                         .others_s = gain.others() / 1e6});
  return true;
}

/// True if any set of victims is suspended for longer than it spares all that wait, by which no set
/// gains anything: most jobs that wait in vain need no look at any victim. (Where places differ the
/// room may be worth a pause by itself. A victim whose turn comes later is found by find_turn.)
bool Smith::cannot_pay(JobId waiter, const GainWaiter& w) {
  constexpr double kRounding = 2;
  if (yard_.speed() != nullptr || w.load == 0 || !first_room_.any()) return false;
  const auto longest = static_cast<double>(first_room_.longest().us);
  const double most_gained = w.all_started + (w.price - 1) * std::min(w.first_room, longest);
  // The least of what it answers for: that of one victim, as wide as any.
  const double part = part_of(yard_.job(waiter).gpus(), widest_.gpus());
  return most_gained < part * w.remaining - kRounding;
}

/// Of ever more of those that rank behind it, those that run where there could be room if all of
/// them left. True: room and victims are found.
bool Smith::find_victims(JobId waiter, Reach reach, const GainWaiter& w, RoomFinder& finder,
                         Time& retry) {
  const auto own = static_cast<double>(claim(waiter));
  const Search search{w, worth_.width(waiter),
                      std::min(reach.tier, yard_.cluster().tiers.size() - 1),
                      yard_.shape(waiter).gpus()};
  std::size_t count = behind_.enough(search.gpus, search.tier, own);
  if (does_one_suffice(waiter, search, count)) return true;
  for (; count > 0; count *= 2) {
    behind_.list(count, search.tier, own);
    Offers offers(yard_, waiter, reach, finder, retry);
    if (offer(search, count, offers)) {
      room_ = offers.room();
      victims_.assign(offers.victims().begin(), offers.victims().end());
      return true;
    }
    const std::size_t listed = behind_.listed().size();
    if (listed < count || behind_.listed()[count - 1].service <= own) return false;
  }
  return false;
}

/// True: room and victims are what a search would find. A single worker mostly fits where the first
/// one runs that would be offered.
bool Smith::does_one_suffice(JobId waiter, const Search& search, std::size_t count) {
  const Shape& shape = yard_.shape(waiter);
  if (shape.workers != 1) return false;
  const CountIndex& free = yard_.free().of(shape.kind).machines;  // kept from it, or short of CPUs
  if (free.next(0, static_cast<std::size_t>(search.gpus)) != CountIndex::kNone) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Behind::Entry& first = behind_.listed()[i];
    if (!is_offered(search, first)) continue;
    if (first.place.machine == HeldPlace::kSeveral) return false;
    const MachineId machine{first.place.machine};
    if (!yard_.free().is_up(machine) || yard_.pausable_from(first.job, waiter) > yard_.now() ||
        (shape.kind != kAnyKind && shape.kind != yard_.cluster().machine(machine).kind))
      return false;
    if (shape.fitting(machine, yard_.free().on(machine) + yard_.held(first.job, 0), 1) == 0)
      return false;
    room_.assign(1, {machine, 1});
    victims_.assign(1, first.job);
    return true;
  }
  return false;
}

bool Smith::offer(const Search& search, std::size_t count, Offers& offers) const {
  const std::vector<Behind::Entry>& all = behind_.listed();
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i)
    if (is_offered(search, all[i]) && offers.make(all[i].job)) return true;
  return false;
}

bool Smith::is_offered(const Search& search, const Behind::Entry& entry) const {
  return behind_.has_beside(entry, search.tier, search.gpus) && pays(search, entry);
}

PauseGain Smith::gain_of(GainWaiter w, JobId waiter) const {
  if (yard_.speed() != nullptr)
    w.remaining = std::floor(work_left(waiter) *
                             yard_.speed()->rate(yard_.job(waiter), room_).time_per_work());
  PauseGain gain(w);
  double freed = 0;
  for (const JobId victim : victims_) {
    const GainVictim v = victim_terms(victim);
    gain.add(v);
    freed += v.gpus;
  }
  gain.take_part(part_of(yard_.job(waiter).gpus(), freed));
  const double slower = usual_.slower(yard_, waiter, tier_of(yard_.cluster(), room_));
  return gain.add_room(w.remaining * slower, yard_.job(waiter).gpus());
}

}  // namespace

Member<PreemptStage> preempt_smith() {
  return {
      {"smith",
       "a job pauses those behind it by Smith's rule, if the sum of completion times falls, all "
       "costs and the network included",
       "ours; Smith, Naval Research Logistics 1956"},
      make_member<PreemptStage, Smith>};
}

}  // namespace trainyard
