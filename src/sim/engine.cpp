#include "sim/engine.h"

#include <algorithm>
#include <cmath>

#include "base/grow.h"
#include "base/random.h"
#include "perf/catalogue_speed.h"

namespace trainyard {

namespace {

constexpr std::int64_t kReports = 100;  // over all the work of a job

}  // namespace

/// By model, kinds of GPU, size and network, and by what slow machines make of that.
class SimulatedEngine::Speed final : public PlacementSpeed {
 public:
  Speed(const Cluster& cluster, const Workload& workload, const Catalogue* models)
      : machines_(cluster.machines.size(), 1) {
    static const Catalogue nothing;
    const Catalogue& known = models == nullptr ? nothing : *models;
    if (CatalogueSpeed::matters(workload, known))
      usual_ = std::make_unique<CatalogueSpeed>(cluster, workload, known);
  }

  [[nodiscard]] bool matters() const { return usual_ != nullptr; }
  void share_links() { shares_links_ = true; }

  [[nodiscard]] Rate rate(const Job& job, const Placement& placement) const override {
    const Rate usual = usual_ ? usual_->rate(job, placement) : Rate{};
    if (slow_ == 0) return usual;
    double slowest = machines_[index(placement.front().machine)];
    for (const Share& share : placement)
      slowest = std::min(slowest, machines_[index(share.machine)]);
    return Rate::taking(usual.time_per_work() / slowest);
  }

  [[nodiscard]] Rate rate_at(const Job& job, std::size_t tier) const override {
    return usual_ ? usual_->rate_at(job, tier) : Rate{};
  }

  [[nodiscard]] GangSpeed gang(const Job& job) const override {
    return usual_ ? usual_->gang(job) : PlacementSpeed::gang(job);
  }
  [[nodiscard]] double power(const Job& job, KindId kind) const override {
    return usual_ ? usual_->power(job, kind) : 1;
  }

  [[nodiscard]] Iteration on_shared_links(const Job& job,
                                          const Placement& placement) const override {
    return shares_links_ ? usual_->on_shared_links(job, placement) : Iteration{};
  }

  [[nodiscard]] double of(MachineId machine) const { return machines_[index(machine)]; }
  void set(MachineId machine, double speed) {
    double& now = machines_[index(machine)];
    slow_ += static_cast<std::size_t>(speed != 1) - static_cast<std::size_t>(now != 1);
    now = speed;
  }

 private:
  std::unique_ptr<CatalogueSpeed> usual_;
  std::vector<double> machines_;  // times the usual
  std::size_t slow_ = 0;          // machines that are not as usual
  bool shares_links_ = false;
};

SimulatedEngine::SimulatedEngine(const Cluster& cluster, const Workload& workload,
                                 const Options& options)
    : cluster_(cluster),
      options_(options),
      speed_(std::make_unique<Speed>(cluster, workload, options.models)),
      pending_(workload.jobs.size()) {}

SimulatedEngine::~SimulatedEngine() = default;

const PlacementSpeed* SimulatedEngine::speed() const {
  return options_.machines_change || speed_->matters() ? speed_.get() : nullptr;
}

void SimulatedEngine::share_network(const NetworkOptions& network, const FlowRules& rules) {
  if (network.model == NetworkOptions::Model::none || !speed_->matters()) return;
  sharing_model_ = network.model;
  speed_->share_links();
  links_ = std::make_unique<Links>(cluster_);
  network_ = network.model == NetworkOptions::Model::fluid
                 ? make_fluid_network(*links_, network, rules)
                 : make_iteration_network(*links_, network, rules, options_.seed);
}

Time SimulatedEngine::next(Time limit) {
  const Time at = std::min(limit, pending_.next());
  return network_ ? network_->run_until(at) : at;
}

std::optional<PendingEvents::Entry> SimulatedEngine::take(Time at) {
  if (network_) {
    network_->take(paces_);
    for (const SharedNetwork::Pace& pace : paces_)
      if (pace.is_over) pending_.push(at, EventKind::finished, pace.job);
    std::erase_if(paces_, [](const SharedNetwork::Pace& pace) { return pace.is_over; });
  }
  if (pending_.next() != at) return {};
  const PendingEvents::Entry event = pending_.top();
  pending_.pop();
  if (event.kind == EventKind::finished) leave(at, event.job);
  return event;
}

std::optional<EventKind> SimulatedEngine::carry_out(const Yard& yard, const Order& order) {
  if (order.kind == Order::Kind::flow) {
    if (shares(order.job)) network_->set_class(yard.now(), order.job, order.flow);
    return {};
  }
  pending_.cancel(order.job);
  leave(yard.now(), order.job);
  if (order.kind == Order::Kind::stop) return {};
  const bool starts = order.kind == Order::Kind::start;
  const EventKind outcome = starts ? EventKind::loaded : EventKind::drained;
  const Duration takes =
      starts ? time_to_start(yard, order.job) : time_to_leave(yard.job(order.job));
  if (takes.us == 0) return outcome;
  pending_.push(yard.now() + takes, outcome, order.job);
  return {};
}

void SimulatedEngine::take_up(const Yard& yard, JobId job) {
  const JobState& state = yard.state(job);
  if (state.phase == Phase::running) return begin(yard, job);
  const bool starts = state.phase == Phase::starting;
  if (!starts && state.phase != Phase::draining) return;
  const Duration takes = starts ? time_to_start(yard, job) : time_to_leave(yard.job(job));
  pending_.push(std::max(state.since + takes, yard.now()),
                starts ? EventKind::loaded : EventKind::drained, job);
}

void SimulatedEngine::begin(const Yard& yard, JobId job) {
  if (network_) join(yard, job);
  go_on(yard, job);
}

/// The next thing to happen to it: that it is done, or has something to report of what it learns,
/// which it has after every hundredth of its work.
void SimulatedEngine::go_on(const Yard& yard, JobId id) {
  if (plays_iterations(id)) return;
  const Job& job = yard.job(id);
  pending_.cancel(id);
  if (yard.workload().curve(id) != nullptr) {
    // Work is rounded down where the time for it is rounded up: it may be there but for a trifle.
    constexpr Duration kTrifle = microseconds(2);
    const Duration part{(job.duration.us - 1) / kReports + 1};
    const Duration next = part * ((yard.work_done(id) + kTrifle) / part + 1);
    if (next < job.duration) return pending_.push(yard.end_of(id, next), EventKind::learnt, id);
  }
  // Between two reports the yard may believe too much: paused then, it comes back with all done.
  pending_.push(std::max(yard.end_of(id, job.duration), yard.now()), EventKind::finished, id);
}

/// Two reports of the same share of the work are the same.
LearningPoint SimulatedEngine::point_at(const Yard& yard, JobId job, double done_s) const {
  constexpr std::uint64_t kStream = 303;
  const LearningCurve& curve = *yard.workload().curve(job);
  const double share = std::min(1.0, done_s / yard.job(job).duration.seconds());
  const auto report = static_cast<std::uint64_t>(std::llround(share * kReports));
  Random random(options_.seed, kStream + index(job) * (kReports + 1) + report);
  const double noise = random.normal(0, yard.workload().curve_noise);
  return {share * steps_of(yard.job(job)), curve.at(share) * (1 + noise)};
}

double SimulatedEngine::speed_of(MachineId machine) const {
  return speed_->of(machine);
}

std::vector<SimulatedEngine::NewRate> SimulatedEngine::set_speed(const Yard& yard,
                                                                 MachineId machine, double speed) {
  speed_->set(machine, speed);
  std::vector<NewRate> changed;
  for (const JobId job : yard.jobs_on(machine)) {
    const Phase phase = yard.state(job).phase;
    if (phase != Phase::starting && phase != Phase::running) continue;
    const Rate alone = speed_->rate(yard.job(job), yard.placement(job));
    const Rate rate =
        shares(job) ? Rate::taking(alone.time_per_work() * sharing_[index(job)].slowed) : alone;
    if (rate != yard.rate(job)) changed.push_back({job, rate});
  }
  return changed;
}

// --- Jobs that share the network -----------------------------------------------------------------

void SimulatedEngine::join(const Yard& yard, JobId id) {
  const Job& job = yard.job(id);
  const Placement& placement = yard.placement(id);
  if (placement.size() < 2) return;
  const Iteration iteration = speed_->on_shared_links(job, placement);
  if (iteration.model == nullptr) return;
  SharedNetwork::Arrival arrival;
  arrival.job = id;
  arrival.flow = yard.flow(id);
  arrival.work = work_of(*links_, cluster_, placement, job.per_worker.gpus, iteration);
  if (arrival.work.flow.links.empty() || arrival.work.flow.bytes <= 0) return;

  const double all = job.duration.seconds() / iteration.work_s;
  const double done = yard.work_done(id).seconds() / iteration.work_s;
  arrival.iterations = all - done;
  if (arrival.iterations <= 0) return;
  arrival.report_every = all / static_cast<double>(kReports);
  arrival.first_report =
      (std::floor(done / arrival.report_every + 1e-9) + 1) * arrival.report_every - done;
  grow_to(sharing_, index(id), yard.workload().jobs.size());
  sharing_[index(id)] = {
      true, arrival.work.alone_s(), 1, iteration.work_s, yard.work_done(id), arrival.report_every};
  network_->join(yard.now(), std::move(arrival));
}

void SimulatedEngine::leave(Time now, JobId job) {
  if (!shares(job)) return;
  network_->leave(now, job);
  sharing_[index(job)].is_in = false;
}

bool SimulatedEngine::shares(JobId job) const {
  return index(job) < sharing_.size() && sharing_[index(job)].is_in;
}

bool SimulatedEngine::plays_iterations(JobId job) const {
  return sharing_model_ == NetworkOptions::Model::iteration && shares(job);
}

/// In the iteration model the yard believes that work is done evenly between two reports; the rate
/// is such that it will be right again at the next.
Rate SimulatedEngine::rate_by(const Yard& yard, const SharedNetwork::Pace& pace) {
  Sharing& sharing = sharing_[index(pace.job)];
  sharing.slowed = pace.iteration_s / sharing.alone_s;
  const Rate alone = speed_->rate(yard.job(pace.job), yard.placement(pace.job));
  if (sharing_model_ == NetworkOptions::Model::fluid)
    return Rate::taking(alone.time_per_work() * sharing.slowed);
  const double until_next = sharing.report_every * pace.iteration_s;
  const double believed = (yard.work_done(pace.job) - sharing.brought).seconds();
  const double by_then = (pace.iterations + sharing.report_every) * sharing.work_s;
  const double least = 0.01 * sharing.report_every * sharing.work_s;
  return Rate::taking(until_next / std::max(by_then - believed, least));
}

std::vector<Event> SimulatedEngine::take_reports(const Yard& yard) {
  std::vector<Event> reports;
  network_->take(paces_);
  for (const SharedNetwork::Pace& pace : paces_) {
    if (pace.is_over) pending_.push(yard.now(), EventKind::finished, pace.job);
    if (pace.is_over || !shares(pace.job)) continue;
    reports.push_back(Event::rate_of(yard.now(), pace.job, rate_by(yard, pace)));
    if (!plays_iterations(pace.job) || yard.workload().curve(pace.job) == nullptr) continue;
    const Sharing& sharing = sharing_[index(pace.job)];
    const double done_s = sharing.brought.seconds() + pace.iterations * sharing.work_s;
    reports.push_back(Event::learnt_by(yard.now(), pace.job, point_at(yard, pace.job, done_s)));
  }
  paces_.clear();
  return reports;
}

}  // namespace trainyard
