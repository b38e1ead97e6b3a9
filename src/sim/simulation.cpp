#include "sim/simulation.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/cycle_clock.h"

namespace trainyard {
namespace {

bool machines_change(const std::vector<Fault>& faults) {
  return std::ranges::any_of(faults, [](const Fault& fault) { return fault.speed.has_value(); });
}

}  // namespace

Simulation::Simulation(const Cluster& cluster, const Workload& workload, const PolicySpec& policy,
                       SimOptions options)
    : workload_(workload),
      options_(std::move(options)),
      policy_name_(policy.name()),
      engine_(cluster, workload, options_.models, machines_change(options_.faults)),
      yard_(cluster, workload, policy.rules(), engine_.speed()),
      gains_(yard_),
      policy_(policy.build(yard_, options_.seed, &gains_)),
      pauses_(yard_),
      tiers_(yard_) {
  yard_.listen(pauses_);
  yard_.listen(gains_);
  yard_.listen(tiers_);
  if (std::ranges::any_of(workload.jobs, &Job::is_elastic)) {
    elastic_ = std::make_unique<ElasticTime>(yard_);
    yard_.listen(*elastic_);
  }
}

Time Simulation::next() const {
  // With every job over, faults and timers no longer matter.
  if (next_job_ == workload_.jobs.size() && yard_.unfinished() == 0) return Time::never();
  Time at = std::min(engine_.next(), wake_);
  if (next_job_ < workload_.jobs.size()) at = std::min(at, workload_.jobs[next_job_].submit);
  if (next_fault_ < options_.faults.size()) at = std::min(at, options_.faults[next_fault_].at);
  if (next_revision_ < options_.revisions.size())
    at = std::min(at, options_.revisions[next_revision_].at);
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

/// Submissions were known before the run began and come first; what jobs do comes last.
void Simulation::happen(Time at) {
  (void)yard_.apply({at, EventKind::clock});  // perhaps all that happens: a policy's timer
  while (next_job_ < workload_.jobs.size() && workload_.jobs[next_job_].submit == at)
    tell(Event::of(at, EventKind::submitted, JobId{static_cast<std::uint32_t>(next_job_++)}));
  for (; next_fault_ < options_.faults.size() && options_.faults[next_fault_].at == at;
       ++next_fault_) {
    happen_to_machine(options_.faults[next_fault_]);
    carry_out();
  }
  // What is said of a job that is over, or not there yet, has no effect either.
  for (; next_revision_ < options_.revisions.size() && options_.revisions[next_revision_].at == at;
       ++next_revision_, ++events_)
    (void)yard_.apply(options_.revisions[next_revision_]);
  while (engine_.next() == at) {
    const PendingEvents::Entry event = engine_.take();
    tell(Event::of(at, event.kind, event.job));
    if (event.kind == EventKind::loaded) engine_.runs(yard_, event.job);
    if (event.kind == EventKind::drained) carry_out();
  }
}

void Simulation::happen_to_machine(const Fault& fault) {
  if (!fault.speed) {
    // A machine that is told to fail twice stays down: what the yard refuses has no effect.
    (void)yard_.apply(
        Event::of(now_, fault.up ? EventKind::machine_up : EventKind::machine_down, fault.machine));
    ++events_;
    return;
  }
  for (const auto& [job, rate] : engine_.set_speed(yard_, fault.machine, *fault.speed)) {
    tell(Event::rate_of(now_, job, rate));
    if (yard_.state(job).phase == Phase::running) engine_.runs(yard_, job);
  }
}

void Simulation::tell(const Event& event) {
  ++events_;
  const Verdict verdict = yard_.apply(event);
  if (verdict != Verdict::ok)
    throw std::logic_error(fmt::format("the simulated engine and the yard disagree on job {}: {}",
                                       event.subject, describe(verdict)));
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
      const std::optional<EventKind> at_once = engine_.carry_out(yard_, order);
      if (!at_once) continue;
      tell(Event::of(now_, *at_once, order.job));
      if (order.kind == Order::Kind::start) engine_.runs(yard_, order.job);
      again = again || order.kind == Order::Kind::pause || policy_->preempts();
    }
  }
  return again;
}

}  // namespace trainyard
