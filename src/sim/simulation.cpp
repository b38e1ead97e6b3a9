#include "sim/simulation.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/cycle_clock.h"
#include "perf/checkpoint.h"
#include "perf/network_speed.h"

namespace trainyard {
namespace {

/// None where no job's model is known: then every placement is as good as another.
std::unique_ptr<PlacementSpeed> speed_of(const Cluster& cluster, const Workload& workload,
                                         const Catalogue* models) {
  if (models == nullptr || workload.models.size() == 0) return nullptr;
  return std::make_unique<NetworkSpeed>(cluster, workload, *models);
}

}  // namespace

Simulation::Simulation(const Cluster& cluster, const Workload& workload, const PolicySpec& policy,
                       SimOptions options)
    : workload_(workload),
      options_(std::move(options)),
      policy_name_(policy.name()),
      speed_(speed_of(cluster, workload, options_.models)),
      yard_(cluster, workload, policy.rules(), speed_.get()),
      policy_(policy.build(yard_, options_.seed)),
      pending_(workload.jobs.size()),
      pauses_(yard_),
      gains_(yard_, *policy_),
      tiers_(yard_) {
  yard_.listen(pauses_);
  yard_.listen(gains_);
  yard_.listen(tiers_);
}

Time Simulation::next() const {
  // With every job over, faults and timers no longer matter.
  if (next_job_ == workload_.jobs.size() && yard_.unfinished() == 0) return Time::never();
  Time at = std::min(pending_.next(), wake_);
  if (next_job_ < workload_.jobs.size()) at = std::min(at, workload_.jobs[next_job_].submit);
  if (next_fault_ < options_.faults.size()) at = std::min(at, options_.faults[next_fault_].at);
  return at;
}

void Simulation::run(const std::function<void(std::size_t)>& progress) {
  constexpr std::uint64_t kStepsBetween = 1 << 16;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t steps = 1; step(); ++steps)
    if (steps % kStepsBetween == 0 && progress) progress(next_job_);
  wall_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The time up to the next instant, counted from the first submission.
void Simulation::account(Time next) {
  if (workload_.jobs.empty()) return;
  const Time begin = workload_.jobs.front().submit;
  if (next <= begin) return;
  utilization_.add(Time{} + (std::max(now_, begin) - begin), Time{} + (next - begin),
                   yard_.held_gpus());
}

void Simulation::run_until(Time time) {
  while (next() <= time) step();
  account(time);
  now_ = std::max(now_, time);
  (void)yard_.apply({now_, EventKind::clock});
}

bool Simulation::step() {
  const Time at = next();
  if (at == Time::never()) return false;
  account(at);
  now_ = at;
  happen(at);
  do {
    decide();
  } while (carry_out());
  return true;
}

/// Submissions were known before the run began and come first, then machines, then what jobs do.
void Simulation::happen(Time at) {
  (void)yard_.apply({at, EventKind::clock});  // perhaps all that happens: a policy's timer
  while (next_job_ < workload_.jobs.size() && workload_.jobs[next_job_].submit == at)
    tell(EventKind::submitted, JobId{static_cast<std::uint32_t>(next_job_++)});
  for (; next_fault_ < options_.faults.size() && options_.faults[next_fault_].at == at;
       ++next_fault_) {
    const Fault& fault = options_.faults[next_fault_];
    // A machine that is told to fail twice stays down: what the yard refuses has no effect.
    (void)yard_.apply(
        Event::of(at, fault.up ? EventKind::machine_up : EventKind::machine_down, fault.machine));
    ++events_;
    carry_out();
  }
  while (pending_.next() == at) {
    const PendingEvents::Entry event = pending_.top();
    pending_.pop();
    tell(event.kind, event.job);
    if (event.kind == EventKind::loaded) begin_running(event.job);
    if (event.kind == EventKind::drained) carry_out();
  }
}

void Simulation::tell(EventKind kind, JobId job) {
  ++events_;
  const Verdict verdict = yard_.apply(Event::of(now_, kind, job));
  if (verdict != Verdict::ok)
    throw std::logic_error(fmt::format("the simulated engine and the yard disagree on job {}: {}",
                                       index(job), describe(verdict)));
}

void Simulation::decide() {
  const std::uint64_t begin = CycleClock::now();
  Plan plan(yard_);
  policy_->decide(plan);
  decision_ticks_.add(CycleClock::now() - begin);
  refused_ += plan.refused();
  wake_ = std::max(plan.wake(), Time{now_.us + 1});
}

/// True when something to decide on happened in no time: a job left its GPUs, or began to run and
/// could be paused some day.
bool Simulation::carry_out() {
  bool again = false;
  while (!yard_.orders().empty()) {
    carrying_.assign(yard_.orders().begin(), yard_.orders().end());
    yard_.clear_orders();
    for (const Order& order : carrying_) {
      const Job& job = yard_.job(order.job);
      pending_.cancel(order.job);
      const Duration load = yard_.load_time(order.job);
      if (order.kind == Order::Kind::start && load.us == 0) {
        tell(EventKind::loaded, order.job);
        begin_running(order.job);
        again = again || policy_->preempts();
      } else if (order.kind == Order::Kind::start) {
        pending_.push(now_ + load, EventKind::loaded, order.job);
      } else if (order.kind == Order::Kind::pause && (job.grace + job.save).us == 0) {
        tell(EventKind::drained, order.job);
        again = true;
      } else if (order.kind == Order::Kind::pause) {
        pending_.push(now_ + job.grace + job.save, EventKind::drained, order.job);
      }
    }
  }
  return again;
}

void Simulation::begin_running(JobId id) {
  const Job& job = yard_.job(id);
  const Duration left = job.duration - yard_.state(id).done;
  pending_.push(now_ + run_time(job, left, yard_.slowdown(id)), EventKind::finished, id);
}

}  // namespace trainyard
