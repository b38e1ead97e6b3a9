// How many workers, of which kinds, for many jobs at once (Liu et al.: proportional shares, a
// matching market in every category of sizes, sampled categories; market/ has the method, and what
// of it is ours). This is the policy that goes to that market.
//
// Every `round` all jobs that wait, and those that run and may be moved, are buyers of all GPUs
// that they have and that are free. A running job gets others than it has only if all together gain
// more by it than its pause costs (as preempt=benefit reckons it: its own time to save and to load,
// and what the GPUs that stand still meanwhile delay those that wait). Between rounds, jobs that
// wait buy what is free.
//
// The paper's problem is one set of jobs that all start now. Here jobs come and go, and there may
// be more than there are GPUs. Ours:
//
//   urgency   a job's weight in the sum is (mean work left / its work left)^urgency: a job that is
//             soon done makes room for the others. 0: all weigh the same, as in the paper.
//   waiting   in a round, a job that gets nothing counts as if it began when half of all work that
//             there is has been done by the whole cluster, and then had as many as it can use of
//             the slowest GPUs that suit it. So few large ones may go before many small ones: 20
//             jobs of an hour on 4 workers, 2 to 8 each, have 20 GPUs 4 and 8 at a time, not 2.
//             Between rounds it counts as if it began with its least when all work is done: what
//             is free is better than nothing.
//   patience  while a job has waited for longer than queue.patience no other that waits buys, and
//             those that run sell to it whatever they lose.
//   closeness a job that would be spread out gets only as many of its workers as make it fastest
//             where they stand; the market itself reckons with the closest placement of each size.
//
// Example: 4 V100 and 4 K80; A and B can use 1 to 4 workers and have an hour left on a V100, but on
// a K80 A takes 10 hours and B 2. A gets the V100s and B the K80s: 15 + 30 min; the other way round
// it is 150 + 15.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "market/solve.h"
#include "policy/joint/roster.h"
#include "policy/joint/vacancies.h"
#include "policy/members.h"
#include "policy/wait_reasons.h"

namespace trainyard {
namespace {

constexpr Duration kShortestMarket = seconds(1);
constexpr double kMostUrgency = 8;
constexpr std::int64_t kMostDraws = 64;

/// A job that buys, and what it bought.
struct Customer {
  JobId job = kNoJob;
  bool runs = false;
  std::vector<std::int32_t> workers = {};  // by kind
};

class MarketPolicy final : public Policy {
 public:
  MarketPolicy(const Params& params, PolicyContext& context)
      : yard_(context.yard()),
        estimates_(context.estimates()),
        seed_(context.seed()),
        patience_(context.patience()),
        roster_(yard_),
        round_(std::max(params.duration("round"), kShortestMarket)),
        urgency_(std::min(params.real("urgency"), kMostUrgency)),
        fairness_(params.real("fairness")),
        draws_(static_cast<int>(std::min<std::int64_t>(params.whole("draws"), kMostDraws))),
        sees_kinds_(params.choice("kinds") == "seen"),
        gpus_of_kind_(yard_.cluster().kinds.size()) {
    for (const Machine& machine : yard_.cluster().machines)
      gpus_of_kind_[index(machine.kind)] += machine.capacity.gpus;
  }

  void decide(Plan& plan) override {
    const bool is_round = is_due_ && yard_.now() >= next_round_;
    if (is_round) {
      next_round_ = yard_.now() + round_;
      is_due_ = false;
    }
    const JobId longest = longest_waiting();
    const Time patient_until = longest == kNoJob || patience_ == Duration::max()
                                   ? Time::never()
                                   : yard_.state(longest).since + patience_;
    first_ = patient_until < yard_.now() ? longest : kNoJob;
    if (is_round || first_ != kNoJob || (longest != kNoJob && has_news_))
      go_to_market(plan, is_round);
    has_news_ = false;
    if (is_due_) plan.wake_at(next_round_);
    if (first_ == kNoJob && patient_until != Time::never())
      plan.wake_at(patient_until + microseconds(1));
  }

  [[nodiscard]] bool preempts() const override { return true; }
  [[nodiscard]] WaitReason explain(JobId job) const override;

  void on_phase(JobId job, Phase from, Phase to) override {
    roster_.on_phase(job, from, to);
    if (to == Phase::queued || (holds_gpus(from) && !holds_gpus(to))) hear();
  }
  void on_machine(MachineId /*machine*/, bool up) override {
    if (up) hear();
  }
  void on_estimate(JobId /*job*/) override { is_due_ = true; }

 private:
  void hear() { has_news_ = is_due_ = true; }
  [[nodiscard]] JobId longest_waiting() const;
  void find_customers(bool is_round);
  void go_to_market(Plan& plan, bool is_round);
  [[nodiscard]] Market make_market(bool is_round) const;
  [[nodiscard]] std::vector<double> powers(JobId job) const;
  [[nodiscard]] bool mixes_kinds(JobId job) const;
  [[nodiscard]] bool fits_one_kind(JobId job) const;
  [[nodiscard]] Buyer make_buyer(JobId job) const;
  void weigh(std::vector<Buyer>& buyers, const std::vector<std::vector<double>>& powers,
             std::span<const std::int32_t> gpus, bool is_round) const;
  [[nodiscard]] bool place_all(std::vector<JobChange>& group, std::vector<bool>& stays) const;
  [[nodiscard]] Placement kept(const Customer& customer) const;
  [[nodiscard]] Placement place(const Customer& customer, Placement found, Vacancies& room) const;
  void keep_the_fastest(JobId job, Vacancies& room, Placement& place) const;
  [[nodiscard]] std::vector<std::int32_t> by_kind(const Placement& place) const;

  const Yard& yard_;
  const Estimator& estimates_;
  std::uint64_t seed_;
  Duration patience_;
  Roster roster_;
  Duration round_;
  double urgency_, fairness_;
  int draws_;
  bool sees_kinds_;
  Time next_round_{std::numeric_limits<std::int64_t>::min()};
  bool has_news_ = false;  // since the last decision: who waits may find room
  bool is_due_ = false;    // since the last round something changed, or some could not be moved
  JobId first_ = kNoJob;  // it is out of patience: until it has its least, no other that waits buys
  std::vector<std::int64_t> gpus_of_kind_;  // of all machines
  std::vector<Customer> customers_;
};

std::vector<std::int32_t> MarketPolicy::by_kind(const Placement& place) const {
  std::vector<std::int32_t> workers(yard_.cluster().kinds.size());
  for (const Share& share : place)
    workers[index(yard_.cluster().machine(share.machine).kind)] += share.workers;
  return workers;
}

JobId MarketPolicy::longest_waiting() const {
  JobId longest = kNoJob;
  roster_.waiting().each([&](JobId job) {
    if (longest == kNoJob || yard_.state(job).since < yard_.state(longest).since) longest = job;
    return true;
  });
  return longest;
}

void MarketPolicy::find_customers(bool is_round) {
  customers_.clear();
  roster_.waiting().each([&](JobId job) {
    const bool may_buy = first_ == kNoJob || job == first_;
    if (may_buy && yard_.job(job).per_worker.gpus > 0) customers_.push_back({job});
    return true;
  });
  if (!is_round && first_ == kNoJob) return;
  roster_.holding().each([&](JobId job) {
    if (yard_.job(job).per_worker.gpus == 0) return true;
    if (roster_.may_be_moved(job)) {
      customers_.push_back({job, true});
    } else {
      is_due_ = true;
    }
    return true;
  });
}

std::vector<double> MarketPolicy::powers(JobId job) const {
  const Cluster& cluster = yard_.cluster();
  std::vector<double> powers;
  for (std::uint16_t k = 0; k < cluster.kinds.size(); ++k) {
    const KindId kind{k};
    const bool suits = yard_.shape(job).kind == kAnyKind || yard_.shape(job).kind == kind;
    const bool is_seen = yard_.speed() != nullptr && sees_kinds_;
    powers.push_back(!suits ? 0 : is_seen ? yard_.speed()->power(yard_.job(job), kind) : 1);
  }
  if (mixes_kinds(job) || fits_one_kind(job)) return powers;
  // A rigid job that has to be on several kinds goes as the slowest of them.
  double slowest = std::numeric_limits<double>::infinity();
  for (const double power : powers)
    if (power > 0) slowest = std::min(slowest, power);
  for (double& power : powers)
    if (power > 0) power = slowest;
  return powers;
}

/// Whether its workers can be on any kinds without one waiting for another.
bool MarketPolicy::mixes_kinds(JobId id) const {
  const Job& job = yard_.job(id);
  return job.is_elastic() || job.measured_on == kAnyKind || !sees_kinds_;
}

bool MarketPolicy::fits_one_kind(JobId id) const {
  const Job& job = yard_.job(id);
  return std::ranges::any_of(gpus_of_kind_, [&](std::int64_t gpus) {
    return gpus >= std::int64_t{job.min_workers} * job.per_worker.gpus;
  });
}

Buyer MarketPolicy::make_buyer(JobId id) const {
  const Job& job = yard_.job(id);
  const GangSpeed gang = yard_.speed() != nullptr
                             ? yard_.speed()->gang(job)
                             : GangSpeed{.unit_s = static_cast<double>(job.workers)};
  return {.iterations = estimates_.remaining(id).seconds() / gang.work_s,
          .unit_s = gang.unit_s,
          .min_workers = job.min_workers,
          .max_workers = job.max_workers,
          .gpus = job.per_worker.gpus,
          .mixes_kinds = mixes_kinds(id) || !fits_one_kind(id),
          .overlap = gang.overlap,
          .communication_s = gang.communication_s};
}

/// What the buyers are to each other: weights, what it costs to wait and to be changed, and what an
/// equal split would give.
void MarketPolicy::weigh(std::vector<Buyer>& buyers, const std::vector<std::vector<double>>& powers,
                         std::span<const std::int32_t> gpus, bool is_round) const {
  const double all = std::max(std::accumulate(gpus.begin(), gpus.end(), 0.0), 1.0);
  double work = 0;  // of all, in seconds of a GPU of power 1
  for (const Buyer& buyer : buyers) work += buyer.iterations * buyer.unit_s * buyer.gpus;
  const double mean = work / static_cast<double>(buyers.size());
  double waiting = 0;  // weight
  for (std::size_t i = 0; i < buyers.size(); ++i) {
    Buyer& buyer = buyers[i];
    buyer.weight = std::pow(mean / (buyer.iterations * buyer.unit_s * buyer.gpus), urgency_);
    if (!customers_[i].runs) waiting += buyer.weight;
  }
  for (std::size_t i = 0; i < buyers.size(); ++i) {
    Buyer& buyer = buyers[i];
    double slowest = kUnpayable;  // of the kinds that suit it
    for (const double power : powers[i])
      if (power > 0) slowest = std::min(slowest, power);
    buyer.fair_s = equal_split_s(buyer, powers[i], gpus, buyers.size());
    const std::int32_t later = is_round ? buyer.max_workers : buyer.min_workers;
    const double least_s =
        completion_s(buyer, later * slowest, later) + work / all * (is_round ? 0.5 : 1);
    const double unfair = buyer.fair_s > 0 ? fairness_ * least_s / buyer.fair_s : 0;
    buyer.idle_cost = buyer.weight * least_s * (1 + unfair);
    const JobId job = customers_[i].job;
    if (job == first_) buyer.idle_cost = kUnpayable;
    if (!customers_[i].runs) continue;
    buyer.pause_s = (yard_.expected_pause(job) + yard_.reload_time(job)).seconds();
    buyer.change_cost = buyer.pause_s * waiting * yard_.gpus(job) / yard_.cluster().total_gpus;
  }
}

Market MarketPolicy::make_market(bool is_round) const {
  std::vector<std::int32_t> gpus;
  for (std::uint16_t kind = 0; kind < yard_.cluster().kinds.size(); ++kind)
    gpus.push_back(static_cast<std::int32_t>(yard_.free().of(KindId{kind}).free_gpus));
  std::vector<Buyer> buyers;
  std::vector<std::vector<double>> powers;
  std::vector<std::vector<std::int32_t>> has;
  for (const Customer& customer : customers_) {
    buyers.push_back(make_buyer(customer.job));
    powers.push_back(this->powers(customer.job));
    has.push_back(customer.runs ? by_kind(yard_.placement(customer.job))
                                : std::vector<std::int32_t>());
    for (std::size_t kind = 0; kind < has.back().size(); ++kind)
      gpus[kind] += has.back()[kind] * buyers.back().gpus;
  }
  weigh(buyers, powers, gpus, is_round);
  Market market(gpus, fairness_);
  for (std::size_t i = 0; i < buyers.size(); ++i) market.add(buyers[i], powers[i], has[i]);
  return market;
}

void MarketPolicy::go_to_market(Plan& plan, bool is_round) {
  start_without_gpus(yard_, roster_.waiting(), plan);
  find_customers(is_round);
  if (customers_.empty()) return;
  const Market market = make_market(is_round);
  Allocation bought = go_on(market, false);
  if (is_round && draws_ > 0) {
    Allocation anew = solve(market, {.draws = draws_, .shares = false, .shaken = 0, .seed = seed_});
    if (market.cost(anew) < market.cost(bought)) bought = std::move(anew);
  }
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    customers_[i].workers.assign(bought.of(i).begin(), bought.of(i).end());
    if (customers_[i].job == first_ && bought.workers(i) == 0) return;
  }

  std::vector<JobChange> group;
  std::vector<bool> stays(customers_.size());
  while (!place_all(group, stays)) {
  }
  if (!group.empty()) (void)plan.change(group);
}

/// False: some that run found no room, and stay where they are; it has to be tried again.
bool MarketPolicy::place_all(std::vector<JobChange>& group, std::vector<bool>& stays) const {
  Vacancies room(yard_);
  group.clear();
  std::vector<std::size_t> moving;
  std::vector<Placement> keeps(customers_.size());
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    const Customer& customer = customers_[i];
    const bool is_changed =
        customer.runs ? !stays[i] && by_kind(yard_.placement(customer.job)) != customer.workers
                      : std::ranges::max(customer.workers) > 0;
    if (!is_changed) continue;
    moving.push_back(i);
    if (!customer.runs) continue;
    keeps[i] = kept(customer);
    room.give_back(customer.job, yard_.placement(customer.job));
    room.take(customer.job, keeps[i]);
  }
  // The largest first: they find a place together the hardest.
  const auto size = [&](std::size_t i) {
    return std::accumulate(customers_[i].workers.begin(), customers_[i].workers.end(), 0) *
           yard_.job(customers_[i].job).per_worker.gpus;
  };
  std::ranges::stable_sort(moving, std::greater<>{}, size);
  for (const std::size_t i : moving) {
    const Customer& customer = customers_[i];
    Placement found = place(customer, std::move(keeps[i]), room);
    if (customer.runs && found.empty() && size(i) > 0) {
      stays[i] = true;
      return false;
    }
    if (!customer.runs && found.empty()) continue;
    if (customer.runs && found == yard_.placement(customer.job)) continue;
    group.push_back({.job = customer.job, .to = std::move(found)});
  }
  return true;
}

/// What a job that runs keeps of its place: of each kind as much as it bought, on the machines
/// where it has most.
Placement MarketPolicy::kept(const Customer& customer) const {
  Placement kept;
  if (!customer.runs) return kept;
  for (std::uint16_t k = 0; k < customer.workers.size(); ++k) {
    Placement here;
    for (const Share& share : yard_.placement(customer.job))
      if (yard_.cluster().machine(share.machine).kind == KindId{k}) here.push_back(share);
    std::ranges::stable_sort(here, std::greater<>{}, &Share::workers);
    here = first_of(here, customer.workers[k]);
    kept.insert(kept.end(), here.begin(), here.end());
  }
  return kept;
}

/// Adds to that the rest of what it bought, as far as there is room for it. Empty: for less than
/// its least.
Placement MarketPolicy::place(const Customer& customer, Placement found, Vacancies& room) const {
  const std::vector<std::int32_t> has = by_kind(found);
  for (std::uint16_t k = 0; k < customer.workers.size(); ++k)
    if (customer.workers[k] > has[k])
      room.add_close(customer.job, KindId{k}, customer.workers[k] - has[k], found);
  keep_the_fastest(customer.job, room, found);
  if (workers(found) >= yard_.job(customer.job).min_workers) return found;
  room.give_back(customer.job, found);
  return {};
}

/// Of a job that would be spread out: fewer machines, if it is faster there.
void MarketPolicy::keep_the_fastest(JobId id, Vacancies& room, Placement& place) const {
  const Job& job = yard_.job(id);
  if (yard_.speed() == nullptr || place.size() < 2 || workers(place) <= job.min_workers) return;
  Placement shares = place;
  std::ranges::stable_sort(shares, std::greater<>{}, &Share::workers);
  Placement best = place, some;
  double least = std::numeric_limits<double>::infinity();
  for (const Share& share : shares) {
    some.push_back(share);
    if (workers(some) < job.min_workers) continue;
    const double takes = yard_.speed()->rate(job, some).time_per_work();
    if (takes > least) continue;
    least = takes;
    best = some;
  }
  if (best.size() == place.size()) return;
  room.give_back(id, place);
  room.take(id, best);
  place = std::move(best);
}

WaitReason MarketPolicy::explain(JobId job) const {
  const JobState& state = yard_.state(job);
  if (state.phase == Phase::reserved) return room_being_made(yard_, job);
  if (state.phase != Phase::queued) return does_not_wait(yard_, job);
  Shape least = yard_.shape(job);
  least.workers = yard_.job(job).min_workers;
  const std::string lacks = shortage(yard_, least, least.workers,
                                     yard_.job(job).is_elastic() ? "needs at least" : "needs");
  const std::size_t place = roster_.waiting().rank(job) + 1;
  const std::string next = fmt::format("GPUs are dealt out again {}",
                                       next_round_ <= yard_.now() ? "now" : "at the next round");
  if (lacks.empty()) return {"priority", next, place, {}};
  return {"resources", fmt::format("{}; {}", lacks, next), place, {}};
}

}  // namespace

Member<Policy> joint_market() {
  return {{"market",
           "sizes and kinds of GPU for all jobs at once, so that the mean completion time is least",
           "Liu et al., by its abstract; rounds, urgency and the cost of waiting are ours",
           {{"round", ParamType::duration, "5m",
             "how often jobs that run may be moved and resized; at least 1s"},
            {"urgency", ParamType::real, "2",
             "how much more a job weighs that will soon be done; 0: all weigh the same; at most 8"},
            {"fairness", ParamType::real, "0.5",
             "weight of those that would be done earlier with an equal part"},
            {"draws", ParamType::whole, "2",
             "categories of sizes drawn in a round, besides what is reached from the last one; at "
             "most 64"},
            {"kinds",
             ParamType::choice,
             "seen",
             "ignored: all kinds of GPU are taken for alike",
             {"seen", "ignored"}}}},
          make_member<Policy, MarketPolicy>};
}

}  // namespace trainyard
