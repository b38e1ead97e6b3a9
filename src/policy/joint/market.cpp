// How many workers, of which kinds, for many jobs at once (Liu et al.: proportional shares, a
// matching market in every category of sizes, sampled categories; market/ has the method, and what
// of it is ours). This is the policy that goes to that market.
//
// Every `round` all jobs that wait, and those that run and may be moved, are buyers of all GPUs
// that they have and that are free. A running job gets others than it has only if all together gain
// more by it than its pause costs (as preempt=benefit reckons it: its own time to save and to load,
// and what the GPUs that stand still meanwhile delay those that wait). Between rounds, jobs that
// wait buy what is free. Of very many jobs that run, some are moved in a round, others in the next.
//
// The paper's problem is one set of jobs that all start now. Here jobs come and go, and there may
// be more than there are GPUs. Ours:
//
//   urgency   a job's weight in the sum is (mean work left / its work left)^2: a job that is soon
//             done makes room for the others. In the paper all weigh the same.
//   waiting   in a round, a job that gets nothing counts as if it began when half of all work that
//             there is has been done by the whole cluster, and then had as many as it can use of
//             the slowest GPUs that suit it. So few large ones may go before many small ones: 20
//             jobs of an hour on 4 workers, 2 to 8 each, have 20 GPUs 4 and 8 at a time, not 2.
//             Between rounds it counts as if it began with its least when all work is done: what
//             is free is better than nothing. So it does after a round that leaves all GPUs
//             idle: there is nothing to wait for.
//   patience  while a job has waited for longer than queue.patience no other that waits buys, and
//             those that run sell to it whatever they lose.
//   closeness the market reckons with the closest placement of each size, and with nobody else on
//             its links. Then all are placed; what an iteration takes there, by the distance
//             between its workers and by the traffic of all the others in the plan, is what it
//             costs from then on; where that is not what was reckoned they go to market once more.
//             Of both plans, the cheaper as it would really be is carried out. In a round a job
//             that is spread out may also move closer together, as it is.
//
// Example: 4 V100 and 4 K80; A and B can use 1 to 4 workers and have an hour left on a V100, but on
// a K80 A takes 10 hours and B 2. A gets the V100s and B the K80s: 15 + 30 min; the other way round
// it is 150 + 15.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "market/solve.h"
#include "market/trading.h"
#include "policy/joint/crowding.h"
#include "policy/joint/kind_rates.h"
#include "policy/joint/market_places.h"
#include "policy/joint/open_jobs.h"
#include "policy/joint/roster.h"
#include "policy/members.h"
#include "policy/wait_reasons.h"

namespace trainyard {
namespace {

constexpr Duration kShortestMarket = seconds(1);
constexpr double kUrgency = 2;
constexpr double kFairness = 0.5;  // weight of those that an equal part would serve better
constexpr std::int64_t kMostDraws = 64;

constexpr int kMostAttempts = 2;  // to find places that are as the market reckoned
constexpr double kAsReckoned = 0.02;
constexpr int kMostMovedCloser = 2;  // in a round
constexpr std::size_t kMostSellers = 1000;
constexpr std::size_t kMostWaiting = 64;  // of those that wait for stages, too

/// Where all customers are, and what that costs them together as it is there.
struct Deal {
  std::vector<Placement> at = {};
  std::vector<bool> anew = {};  // it has what it had, elsewhere
  double cost = kUnpayable;
};

class MarketPolicy final : public Policy {
 public:
  MarketPolicy(const Params& params, PolicyContext& context)
      : yard_(context.yard()),
        estimates_(context.estimates()),
        seed_(context.seed()),
        context_(context),
        takes_all_(params.choice("takes") == "all"),
        patience_(takes_all_ ? context.patience() : Duration::max()),
        roster_(yard_),
        round_(std::max(params.duration("round"), kShortestMarket)),
        draws_(static_cast<int>(std::min<std::int64_t>(params.whole("draws"), kMostDraws))),
        sees_kinds_(params.choice("kinds") == "seen"),
        rates_(yard_),
        crowding_(yard_) {}

  void decide(Plan& plan) override {
    if (!takes_all_ && !roster_.has_any()) return;
    is_deciding_ = true;
    const JobId alone = job_alone();
    const bool is_early = alone != kNoJob && roster_.may_be_moved(alone);
    const bool is_round = is_due_ && (yard_.now() >= next_round_ || is_early);
    if (is_round) {
      next_round_ = yard_.now() + round_;
      is_due_ = false;
    }
    const bool some_wait = !roster_.waiting().empty();
    const JobId longest = patience_ == Duration::max() ? kNoJob : longest_waiting();
    const Time patient_until =
        longest == kNoJob ? Time::never() : yard_.state(longest).since + patience_;
    first_ = patient_until < yard_.now() ? longest : kNoJob;
    if (is_round || first_ != kNoJob || (some_wait && has_news_)) go_to_market(plan, is_round);
    if (is_round && some_wait && yard_.held_gpus() == 0) go_to_market(plan, false);
    has_news_ = is_deciding_ = false;
    // The stages may yet start jobs that wait.
    const bool may_be_due = !takes_all_ && !roster_.waiting().empty();
    if (is_due_) plan.wake_at(next_round_);
    if (is_due_ && alone != kNoJob && !is_early) plan.wake_at(yard_.movable_from(alone));
    if (!is_due_ && may_be_due) plan.wake_at(std::max(next_round_, yard_.now() + round_));
    if (first_ == kNoJob && patient_until != Time::never())
      plan.wake_at(patient_until + microseconds(1));
  }

  [[nodiscard]] bool preempts() const override { return true; }
  [[nodiscard]] WaitReason explain(JobId job) const override;

  void save_learnt(Learnt& learnt) const override {
    Policy::save_learnt(learnt);
    learnt[kName] = {number_of(std::max(next_round_, Time{})), is_due_ ? 1.0 : 0.0,
                     has_news_ ? 1.0 : 0.0};
    JobNotes(learnt, kName, 0).add(next_seller_, {});
  }
  void recall_jobs(const Learnt& learnt) override {
    Policy::recall_jobs(learnt);
    each_learnt(learnt, kName, [&](std::string_view, std::span<const double> kept) {
      if (kept.size() != 3) return;
      next_round_ = std::min(time_of(kept[0]), yard_.now() + round_);
      is_due_ = kept[1] != 0, has_news_ = kept[2] != 0;
    });
    each_note(learnt, kName, 0, yard_.jobs(), [&](JobId job, auto) { next_seller_ = job; });
  }

  void on_phase(JobId job, Phase from, Phase to) override {
    const bool is_mine = takes(job), is_freed = holds_gpus(from) && !holds_gpus(to);
    if (is_mine) roster_.on_phase(job, from, to);
    const bool is_placed = !holds_gpus(from) && holds_gpus(to);
    if (is_placed && yard_.placement(job).size() > 1) spread_.insert(job);
    if (is_freed) spread_.erase(job);
    has_news_ |= is_freed || (to == Phase::queued && is_mine);
    const bool by_stages = is_mine && from == Phase::queued && !is_deciding_;
    is_due_ |= is_freed || to == Phase::queued || by_stages;
  }
  void on_machine(MachineId /*machine*/, bool up) override {
    has_news_ |= up;
    is_due_ |= up;
  }
  void on_estimate(JobId /*job*/) override { is_due_ = true; }

 private:
  static constexpr const char* kName = "rounds of market";

  /// The only job there is, if it could use more than it has: no other waits for the round, so it
  /// need not either. Else none.
  [[nodiscard]] JobId job_alone() const;
  /// "GPUs are dealt out again at the next round, in 3m 20s".
  [[nodiscard]] std::string next_round() const;
  [[nodiscard]] bool takes(JobId job) const { return takes_all_ || leaves_open(yard_, job); }
  [[nodiscard]] JobId longest_waiting() const;
  void find_customers(bool is_round);
  void find_waiting();
  void find_sellers();
  void go_to_market(Plan& plan, bool is_round);
  void find_buyers(bool is_round);
  [[nodiscard]] Market make_market() const;
  [[nodiscard]] bool buy(bool is_round, std::span<const Placement> placed);
  [[nodiscard]] bool some_buy() const;
  [[nodiscard]] std::vector<double> powers(JobId job, bool kinds_are_seen);
  /// Of all workers there, with so much power each by kind.
  [[nodiscard]] double power_at(const Placement& at, const std::vector<double>& powers) const;
  [[nodiscard]] bool mixes_kinds(JobId job) const;
  [[nodiscard]] Buyer make_buyer(JobId job);
  void weigh(std::span<const std::int32_t> gpus, bool is_round);
  [[nodiscard]] bool look_at(Deal& deal);
  [[nodiscard]] std::vector<double> slowed_at(const std::vector<Placement>& at) const;
  [[nodiscard]] bool learn(std::size_t i, const Placement& at, double slowed);
  [[nodiscard]] double cost(const Deal& deal) const;
  void move_closer(Deal& best);
  void keep_what_none_takes(Deal& deal) const;

  const Yard& yard_;
  const Estimator& estimates_;
  std::uint64_t seed_;
  const PolicyContext& context_;
  bool takes_all_;
  Duration patience_;
  Roster roster_;
  SortedList<JobId> spread_;  // all jobs that hold GPUs on several machines
  Duration round_;
  int draws_;
  bool sees_kinds_;
  Time next_round_{std::numeric_limits<std::int64_t>::min()};
  bool is_deciding_ = false;
  bool has_news_ = false;  // since the last decision: who waits may find room
  bool is_due_ = false;    // since the last round something changed, or some could not be moved
  JobId first_ = kNoJob;  // it is out of patience: until it has its least, no other that waits buys
  KindRates rates_;
  Crowding crowding_;
  std::vector<Customer> customers_;
  std::vector<JobId> sellers_;  // those of them that run, by number
  JobId next_seller_{0};
  // Of each customer:
  std::vector<Buyer> buyers_;
  std::vector<std::vector<double>> powers_;         // by kind
  std::vector<std::vector<double>> communication_;  // by size, where it was placed; empty: not yet
};

JobId MarketPolicy::job_alone() const {
  if (roster_.holding().size() != 1 || !roster_.waiting().empty()) return kNoJob;
  if (!takes_all_ && !context_.queue()->empty()) return kNoJob;
  const JobId job = roster_.holding().front();
  const std::int32_t has = yard_.workers(job);
  const bool holds_all = yard_.held_gpus() == std::int64_t{has} * yard_.job(job).per_worker.gpus;
  const bool could_grow = yard_.state(job).phase == Phase::running &&
                          has < yard_.job(job).max_workers &&
                          yard_.held_gpus() < yard_.cluster().total_gpus;
  return holds_all && could_grow ? job : kNoJob;
}

std::string MarketPolicy::next_round() const {
  return next_round_ <= yard_.now()
             ? "GPUs are dealt out again now"
             : fmt::format("GPUs are dealt out again at the next round, in {}",
                           format(next_round_ - yard_.now()));
}

JobId MarketPolicy::longest_waiting() const {
  JobId longest = kNoJob;
  roster_.waiting().each([&](JobId job) {
    if (longest == kNoJob || yard_.state(job).since < yard_.state(longest).since) longest = job;
    return true;
  });
  return longest;
}

/// All, or the next in the queue that they share with those that only bid.
void MarketPolicy::find_waiting() {
  std::vector<JobId> next;
  if (takes_all_) {
    roster_.waiting().each([&](JobId job) {
      if (first_ == kNoJob || job == first_) next.push_back(job);
      return true;
    });
  } else {
    std::vector<Queue::Entry> entries;
    context_.queue()->collect(
        kMostWaiting, [](LaneId) { return false; }, entries);
    for (const Queue::Entry& entry : entries) next.push_back(entry.job);
  }
  for (const JobId job : next)
    if (yard_.job(job).per_worker.gpus > 0)
      customers_.push_back({.job = job, .only_bids = !takes(job)});
}

void MarketPolicy::find_customers(bool is_round) {
  customers_.clear();
  sellers_.clear();
  find_waiting();
  if (is_round || first_ != kNoJob) find_sellers();
}

/// All that run and may be moved; of very many, some, and the next ones in the next round.
void MarketPolicy::find_sellers() {
  const JobId from = std::exchange(next_seller_, JobId{0});
  roster_.holding().each_from(from, [&](JobId job) {
    if (sellers_.size() == kMostSellers) {
      next_seller_ = job;
      is_due_ = true;
      return false;
    }
    if (yard_.job(job).per_worker.gpus == 0) return true;
    const bool sells = roster_.may_be_moved(job);
    if (sells) sellers_.push_back(job);
    is_due_ |= !sells;
    return true;
  });
  for (const JobId job : sellers_) customers_.push_back({.job = job, .runs = true});
}

std::vector<double> MarketPolicy::powers(JobId job, bool kinds_are_seen) {
  const Cluster& cluster = yard_.cluster();
  std::vector<double> powers;
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k) {
    const KindId kind{static_cast<std::uint16_t>(k)};
    const bool suits = yard_.shape(job).suits(kind);
    const bool is_seen = yard_.speed() != nullptr && kinds_are_seen;
    powers.push_back(!suits ? 0 : is_seen ? yard_.speed()->power(yard_.job(job), kind) : 1);
  }
  if (mixes_kinds(job) || !rates_.needs_several_kinds(job)) return powers;
  // A rigid job that has to be on several kinds goes as the slowest of them.
  double slowest = std::numeric_limits<double>::infinity();
  for (const double power : powers)
    if (power > 0) slowest = std::min(slowest, power);
  for (double& power : powers)
    if (power > 0) power = slowest;
  return powers;
}

double MarketPolicy::power_at(const Placement& at, const std::vector<double>& powers) const {
  const std::vector<std::int32_t> kinds = by_kind(yard_.cluster(), at);
  return std::inner_product(kinds.begin(), kinds.end(), powers.begin(), 0.0);
}

/// Whether its workers can be on any kinds without one waiting for another.
bool MarketPolicy::mixes_kinds(JobId id) const {
  const Job& job = yard_.job(id);
  return job.is_elastic() || job.measured_on == kAnyKind || !sees_kinds_;
}

Buyer MarketPolicy::make_buyer(JobId id) {
  const Job& job = yard_.job(id);
  const GangSpeed gang = yard_.speed() != nullptr
                             ? yard_.speed()->gang(job)
                             : GangSpeed{.unit_s = static_cast<double>(job.workers)};
  return {.iterations = estimates_.remaining(id).seconds() / gang.work_s,
          .unit_s = gang.unit_s,
          .min_workers = job.min_workers,
          .max_workers = job.max_workers,
          .gpus = job.per_worker.gpus,
          .mixes_kinds = mixes_kinds(id) || rates_.needs_several_kinds(id),
          .overlap = gang.overlap,
          .communication_s = gang.communication_s};
}

void MarketPolicy::find_buyers(bool is_round) {
  buyers_.clear();
  powers_.clear();
  communication_.assign(customers_.size(), {});
  for (Customer& customer : customers_) {
    buyers_.push_back(make_buyer(customer.job));
    customer.mixes_kinds = buyers_.back().mixes_kinds;
    powers_.push_back(powers(customer.job, sees_kinds_));
  }
  weigh(make_market().gpus(), is_round);
}

/// What the buyers are to each other: weights, what it costs to wait and to be changed, and what an
/// equal split would give.
void MarketPolicy::weigh(std::span<const std::int32_t> gpus, bool is_round) {
  const double all = std::max(std::accumulate(gpus.begin(), gpus.end(), 0.0), 1.0);
  double work = 0;  // of all, in seconds of a GPU of power 1
  for (const Buyer& buyer : buyers_) work += buyer.iterations * buyer.unit_s * buyer.gpus;
  const double mean = work / static_cast<double>(buyers_.size());
  double waiting = 0;  // weight
  for (std::size_t i = 0; i < buyers_.size(); ++i) {
    Buyer& buyer = buyers_[i];
    buyer.weight = std::pow(mean / (buyer.iterations * buyer.unit_s * buyer.gpus), kUrgency);
    if (!customers_[i].runs) waiting += buyer.weight;
  }
  for (std::size_t i = 0; i < buyers_.size(); ++i) {
    Buyer& buyer = buyers_[i];
    double slowest = kUnpayable;  // of the kinds that suit it
    for (const double power : powers_[i])
      if (power > 0) slowest = std::min(slowest, power);
    buyer.fair_s = equal_split_s(buyer, powers_[i], gpus, buyers_.size());
    const std::int32_t later = is_round ? buyer.max_workers : buyer.min_workers;
    const double least_s =
        completion_s(buyer, later * slowest, later) + work / all * (is_round ? 0.5 : 1);
    const double unfair = buyer.fair_s > 0 ? kFairness * least_s / buyer.fair_s : 0;
    buyer.idle_cost = buyer.weight * least_s * (1 + unfair);
    const JobId job = customers_[i].job;
    const bool may_wait = customers_[i].runs ? roster_.may_be_paused(job) : job != first_;
    if (!may_wait) buyer.idle_cost = kUnpayable;
    if (!customers_[i].runs) continue;
    buyer.pause_s = (yard_.expected_pause(job) + yard_.reload_time(job)).seconds();
    buyer.change_cost = buyer.pause_s * waiting * yard_.gpus(job) / yard_.cluster().total_gpus;
  }
}

Market MarketPolicy::make_market() const {
  std::vector<std::int32_t> gpus;
  for (std::size_t k = 0; k < yard_.cluster().kinds.size(); ++k) {
    const KindId kind{static_cast<std::uint16_t>(k)};
    gpus.push_back(static_cast<std::int32_t>(yard_.free().of(kind).free_gpus));
  }
  std::vector<std::vector<std::int32_t>> has;
  for (const Customer& customer : customers_) {
    has.push_back(customer.runs ? by_kind(yard_.cluster(), yard_.placement(customer.job))
                                : std::vector<std::int32_t>());
    for (std::size_t kind = 0; kind < has.back().size(); ++kind)
      gpus[kind] += has.back()[kind] * yard_.job(customer.job).per_worker.gpus;
  }
  Market market(gpus, kFairness);
  for (std::size_t i = 0; i < buyers_.size(); ++i) market.add(buyers_[i], powers_[i], has[i]);
  return market;
}

/// From where the attempt before has placed them, if there was one. False: who is out of patience
/// gets nothing.
bool MarketPolicy::buy(bool is_round, std::span<const Placement> placed) {
  const Market market = make_market();
  Allocation start = market.has();
  for (std::size_t i = 0; i < placed.size(); ++i)
    std::ranges::copy(by_kind(yard_.cluster(), placed[i]), start.of(i).begin());
  Allocation bought = trade(market, start, false);
  if (is_round && draws_ > 0 && placed.empty()) {
    Allocation anew = solve(market, {.draws = draws_, .shares = false, .shaken = 0, .seed = seed_});
    if (market.cost(anew) < market.cost(bought)) bought = std::move(anew);
  }
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    customers_[i].workers.assign(bought.of(i).begin(), bought.of(i).end());
    if (customers_[i].job == first_ && bought.workers(i) == 0) return false;
  }
  return true;
}

/// Whether any that waits has bought something that is not left to the stages.
bool MarketPolicy::some_buy() const {
  return std::ranges::any_of(customers_, [](const Customer& customer) {
    return !customer.runs && !customer.only_bids && std::ranges::max(customer.workers) > 0;
  });
}

void MarketPolicy::go_to_market(Plan& plan, bool is_round) {
  if (takes_all_) start_without_gpus(yard_, roster_.waiting(), plan);
  find_customers(is_round);
  if (std::ranges::all_of(customers_, &Customer::only_bids)) return;
  find_buyers(is_round);
  Deal best, deal;
  bool is_as_reckoned = false;
  for (int attempt = 0; attempt < kMostAttempts && !is_as_reckoned; ++attempt) {
    if (!buy(is_round, deal.at)) break;
    if (!is_round && !some_buy()) break;
    deal.anew.assign(customers_.size(), false);
    is_as_reckoned = look_at(deal);
    if (deal.cost < best.cost || best.at.empty()) best = deal;
  }
  if (best.at.empty()) return;
  if (is_round) move_closer(best);
  keep_what_none_takes(best);

  std::vector<JobChange> group;
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    if (customers_[i].only_bids) continue;
    const JobId job = customers_[i].job;
    const bool is_changed =
        customers_[i].runs ? best.at[i] != yard_.placement(job) : !best.at[i].empty();
    if (is_changed) group.push_back({.job = job, .to = std::move(best.at[i])});
  }
  if (!group.empty()) (void)plan.change(group);
}

/// A job that runs and sold all of its GPUs stays where it is if no other has bought them. The
/// market reckons that what it allots stays so, and that who waits has all it can use later: so it
/// would rather have a job wait than go on with few, and the next decision would start it again.
void MarketPolicy::keep_what_none_takes(Deal& deal) const {
  Vacancies room(yard_);
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    if (customers_[i].runs) room.give_back(customers_[i].job, yard_.placement(customers_[i].job));
    room.take(customers_[i].job, deal.at[i]);
  }
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    const JobId job = customers_[i].job;
    if (!customers_[i].runs || !deal.at[i].empty()) continue;
    if (!room.has_room(job, yard_.placement(job))) continue;
    deal.at[i] = yard_.placement(job);
    room.take(job, deal.at[i]);
  }
}

/// How many times as long as alone an iteration of each customer takes there.
std::vector<double> MarketPolicy::slowed_at(const std::vector<Placement>& at) const {
  const auto is_spread = [](const Placement& place) { return place.size() > 1; };
  if (std::ranges::none_of(at, is_spread)) return std::vector<double>(at.size(), 1);
  std::vector<Crowding::Running> customers, others;
  for (std::size_t i = 0; i < customers_.size(); ++i)
    customers.push_back({customers_[i].job, &at[i]});
  spread_.each([&](JobId job) {
    if (!std::ranges::binary_search(sellers_, job)) others.push_back({job, &yard_.placement(job)});
    return true;
  });
  return crowding_.slowed(customers, others);
}

/// Places all that was bought, and sees what comes of it: the market reckons with that from then
/// on. True: it is what the market reckoned with.
bool MarketPolicy::look_at(Deal& deal) {
  deal.at = find_places(yard_, customers_, deal.anew);
  const std::vector<double> slowed = slowed_at(deal.at);
  bool is_as_reckoned = true;
  for (std::size_t i = 0; i < customers_.size(); ++i)
    if (!deal.at[i].empty()) is_as_reckoned &= learn(i, deal.at[i], slowed[i]);
  deal.cost = cost(deal);
  return is_as_reckoned;
}

/// What its communication takes there. As it is of this size it will be of larger ones, and of all
/// that are in several machines.
bool MarketPolicy::learn(std::size_t i, const Placement& at, double slowed) {
  Buyer& buyer = buyers_[i];
  if (buyer.communication_s.empty()) return true;
  const JobId id = customers_[i].job;
  const Job& job = yard_.job(id);
  const double power = power_at(at, powers(id, true));
  const GangSpeed gang = yard_.speed()->gang(job);
  const double compute_s = gang.unit_s / power;
  const double takes_s = yard_.speed()->rate(job, at).time_per_work() * gang.work_s * slowed;
  const auto size = static_cast<std::size_t>(workers(at));
  const double before_s = exposed_time(buyer.communication_s[size], compute_s, buyer.overlap);
  const double exposed_s = std::max(takes_s - compute_s, 0.0);
  if (std::abs(exposed_s - before_s) <= kAsReckoned * takes_s) return true;

  const double now_s = communication_exposing(exposed_s, compute_s, buyer.overlap);
  const double alone_s = gang.communication_s[size];
  std::vector<double>& all = communication_[i];
  all.assign(gang.communication_s.begin(), gang.communication_s.end());
  for (std::size_t n = 1; n < all.size() && alone_s > 0; ++n) {
    const bool is_spread =
        static_cast<std::int64_t>(n) * job.per_worker.gpus > yard_.cluster().largest_machine_gpus;
    if (n >= size || is_spread) all[n] *= now_s / alone_s;
  }
  all[size] = now_s;
  buyer.communication_s = all;
  return false;
}

double MarketPolicy::cost(const Deal& deal) const {
  double sum = 0;
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    const Placement& at = deal.at[i];
    const double power = power_at(at, powers_[i]);
    const bool is_changed = customers_[i].runs && at != yard_.placement(customers_[i].job);
    sum += cost_of(buyers_[i], kFairness, power, workers(at), is_changed);
  }
  return sum;
}

/// Jobs that run and are spread out, in places of the same size: those first that would gain most.
void MarketPolicy::move_closer(Deal& best) {
  std::vector<std::pair<double, std::size_t>> gains;
  for (std::size_t i = 0; i < customers_.size(); ++i) {
    const Customer& customer = customers_[i];
    if (!customer.runs || best.at[i].size() < 2 || communication_[i].empty() ||
        best.at[i] != yard_.placement(customer.job))
      continue;
    Buyer alone = buyers_[i];
    alone.communication_s = yard_.speed()->gang(yard_.job(customer.job)).communication_s;
    const double power = power_at(best.at[i], powers_[i]);
    const std::int32_t size = workers(best.at[i]);
    const double gain =
        cost_of(buyers_[i], kFairness, power, size) - cost_of(alone, kFairness, power, size, true);
    if (gain > 0) gains.emplace_back(gain, i);
  }
  std::ranges::stable_sort(gains, std::greater<>{}, [](const auto& gain) { return gain.first; });
  if (gains.size() > kMostMovedCloser) gains.resize(kMostMovedCloser);
  for (const auto& [gain, i] : gains) {
    Deal closer{.anew = best.anew};
    closer.anew[i] = true;
    (void)look_at(closer);
    if (closer.cost < best.cost) best = std::move(closer);
  }
}

WaitReason MarketPolicy::explain(JobId job) const {
  const JobState& state = yard_.state(job);
  if (state.phase == Phase::reserved) return room_being_made(yard_, job);
  const bool may_grow =
      state.phase == Phase::running && yard_.workers(job) < yard_.job(job).max_workers;
  if (may_grow) return {std::string(kNextRound), next_round(), 0, {}};
  if (state.phase != Phase::queued) return does_not_wait(yard_, job);
  Shape least = yard_.shape(job);
  least.workers = yard_.job(job).min_workers;
  const std::string lacks = shortage(yard_, least, least.workers,
                                     yard_.job(job).is_elastic() ? "needs at least" : "needs");
  const std::size_t place =
      takes_all_ ? roster_.waiting().rank(job) + 1 : context_.queue()->place(job);
  const std::string belief = context_.belief_of(job);
  const std::string next = next_round() + (belief.empty() ? "" : "; " + belief);
  if (lacks.empty()) return {"priority", next, place, {}};
  return {"resources", fmt::format("{}; {}", lacks, next), place, {}};
}

}  // namespace

Member<Policy> joint_market() {
  return {{"market",
           "sizes and kinds of GPU for all jobs at once, so that the mean completion time is least",
           "Liu et al., by its abstract; rounds, urgency and the cost of waiting are ours",
           {{"takes",
             ParamType::choice,
             "all",
             "open: only the jobs whose size or kind is open; the stages decide for the others",
             {"all", "open"}},
            {"round", ParamType::duration, "5m",
             "how often jobs that run may be moved and resized; at least 1s"},
            {"draws", ParamType::whole, "8",
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
