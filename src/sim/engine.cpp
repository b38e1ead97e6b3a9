#include "sim/engine.h"

#include <algorithm>

#include "perf/catalogue_speed.h"

namespace trainyard {

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

  void set(MachineId machine, double speed) {
    double& now = machines_[index(machine)];
    slow_ += static_cast<std::size_t>(speed != 1) - static_cast<std::size_t>(now != 1);
    now = speed;
  }

 private:
  std::unique_ptr<CatalogueSpeed> usual_;
  std::vector<double> machines_;  // times the usual
  std::size_t slow_ = 0;          // machines that are not as usual
};

SimulatedEngine::SimulatedEngine(const Cluster& cluster, const Workload& workload,
                                 const Catalogue* models, bool machines_change)
    : speed_(std::make_unique<Speed>(cluster, workload, models)),
      machines_change_(machines_change),
      pending_(workload.jobs.size()) {}

SimulatedEngine::~SimulatedEngine() = default;

const PlacementSpeed* SimulatedEngine::speed() const {
  return machines_change_ || speed_->matters() ? speed_.get() : nullptr;
}

PendingEvents::Entry SimulatedEngine::take() {
  const PendingEvents::Entry event = pending_.top();
  pending_.pop();
  return event;
}

std::optional<EventKind> SimulatedEngine::carry_out(const Yard& yard, const Order& order) {
  if (order.kind == Order::Kind::flow) return {};  // the network has no contention
  pending_.cancel(order.job);
  if (order.kind == Order::Kind::stop) return {};
  const Job& job = yard.job(order.job);
  const bool starts = order.kind == Order::Kind::start;
  const EventKind outcome = starts ? EventKind::loaded : EventKind::drained;
  const Duration takes = starts ? yard.load_time(order.job) : job.grace + job.save;
  if (takes.us == 0) return outcome;
  pending_.push(yard.now() + takes, outcome, order.job);
  return {};
}

void SimulatedEngine::runs(const Yard& yard, JobId job) {
  pending_.cancel(job);
  pending_.push(yard.end_of(job, yard.job(job).duration), EventKind::finished, job);
}

std::vector<SimulatedEngine::NewRate> SimulatedEngine::set_speed(const Yard& yard,
                                                                 MachineId machine, double speed) {
  speed_->set(machine, speed);
  std::vector<NewRate> changed;
  for (const JobId job : yard.jobs_on(machine)) {
    const Phase phase = yard.state(job).phase;
    if (phase != Phase::starting && phase != Phase::running) continue;
    const Rate rate = speed_->rate(yard.job(job), yard.placement(job));
    if (rate != yard.rate(job)) changed.push_back({job, rate});
  }
  return changed;
}

}  // namespace trainyard
