#include "sim/simulation.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "base/cycle_clock.h"

namespace trainyard {
namespace {

bool machines_change(const std::vector<Fault>& faults) {
  return std::ranges::any_of(faults, [](const Fault& fault) { return fault.speed.has_value(); });
}

}  // namespace

Expected<void> check_flow_rules(const FlowRules& rules, const NetworkOptions& network) {
  if (rules.at_most == 0 || network.model != NetworkOptions::Model::fluid) return {};
  return fail(
      "the policy decides which exchanges of data wait for others, and the fluid network knows no "
      "single ones: give --network shared,model=iteration");
}

Simulation::Simulation(const Cluster& cluster, const Workload& workload, const PolicySpec& policy,
                       SimOptions options)
    : workload_(workload),
      options_(std::move(options)),
      policy_name_(policy.name()),
      engine_(cluster, workload,
              {options_.models, machines_change(options_.faults), options_.seed, options_.delays}),
      yard_(cluster, workload, policy.rules(), engine_.speed()),
      gains_(yard_),
      policy_(policy.build(yard_, options_.seed, engine_.flow_classes(options_.network), &gains_)),
      pauses_(yard_),
      tiers_(yard_) {
  engine_.share_network(options_.network, policy_->flow_rules());
  yard_.listen(pauses_);
  yard_.listen(gains_);
  yard_.listen(tiers_);
  if (!options_.faults.empty()) {
    failures_ = std::make_unique<Failures>(yard_);
    yard_.listen(*failures_);
  }
  if (std::ranges::any_of(workload.jobs, &Job::is_elastic)) {
    elastic_ = std::make_unique<ElasticTime>(yard_);
    yard_.listen(*elastic_);
  }
  if (!workload.curves.empty()) {
    learning_ = std::make_unique<LearningTimes>(yard_);
    yard_.listen(*learning_);
  }
}

// --- From a state that was saved
// ------------------------------------------------------------------

Expected<void> Simulation::begin(const Beginning& beginning) {
  const std::size_t known = beginning.jobs.size();
  if (known > workload_.jobs.size())
    return fail("{} jobs were saved; the workload has {}", known, workload_.jobs.size());
  if (known < workload_.jobs.size() && workload_.jobs[known].submit <= beginning.now)
    return fail("job {} was submitted before the simulation begins, and was not saved", known);
  for (const auto& [machine, speed] : beginning.speeds) engine_.set_speed(yard_, machine, speed);
  policy_->recall(beginning.learnt, beginning.now);
  if (const Verdict verdict = yard_.restore(beginning.jobs); verdict != Verdict::ok)
    return fail("the saved jobs cannot be restored: {}", describe(verdict));
  now_ = std::max(beginning.now, yard_.now());
  (void)yard_.apply({now_, EventKind::clock});
  for (const MachineId machine : beginning.closed)
    (void)yard_.apply(Event::of(now_, EventKind::machine_closed, machine));
  policy_->recall_jobs(beginning.learnt);
  take_up_jobs(beginning.order);
  next_job_ = known;
  const auto is_past = [&](const auto& each) { return each.at <= now_; };
  next_fault_ = static_cast<std::size_t>(std::ranges::count_if(options_.faults, is_past));
  next_revision_ = static_cast<std::size_t>(std::ranges::count_if(options_.revisions, is_past));
  wake_ = std::max(beginning.wake.value_or(now_), now_);
  return {};
}

/// Of those whose order is not known the one goes first that came into its phase first.
void Simulation::take_up_jobs(std::span<const JobId> order) {
  std::vector<std::size_t> places(yard_.jobs(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    if (index(order[i]) < places.size()) places[index(order[i])] = i;
  std::vector<JobId> jobs;
  for (std::uint32_t j = 0; j < yard_.jobs(); ++j)
    if (holds_gpus(yard_.state(JobId{j}).phase)) jobs.push_back(JobId{j});
  std::ranges::stable_sort(
      jobs, {}, [&](JobId job) { return std::pair(places[index(job)], yard_.state(job).since); });
  for (const JobId job : jobs) engine_.take_up(yard_, job);
}

Beginning Simulation::save() const {
  Beginning saved{.now = now_, .jobs = {}, .order = engine_.order(), .wake = wake_};
  for (std::uint32_t j = 0; j < yard_.jobs(); ++j) saved.jobs.push_back(yard_.save(JobId{j}));
  policy_->save_learnt(saved.learnt);
  for (std::uint32_t m = 0; m < yard_.cluster().machines.size(); ++m) {
    const MachineId machine{m};
    if (!yard_.free().is_up(machine)) saved.closed.push_back(machine);
    if (const double speed = engine_.speed_of(machine); speed != 1)
      saved.speeds.emplace_back(machine, speed);
  }
  return saved;
}

Time Simulation::next() {
  // With every job over, faults and timers no longer matter.
  if (next_job_ == workload_.jobs.size() && yard_.unfinished() == 0) return Time::never();
  Time at = wake_;
  if (next_job_ < workload_.jobs.size()) at = std::min(at, workload_.jobs[next_job_].submit);
  if (next_fault_ < options_.faults.size()) at = std::min(at, options_.faults[next_fault_].at);
  if (next_revision_ < options_.revisions.size())
    at = std::min(at, options_.revisions[next_revision_].at);
  return engine_.next(at);
}

void Simulation::run(const std::function<void(std::size_t)>& progress,
                     const std::function<void()>& after_instant) {
  constexpr std::uint64_t kStepsBetween = 1 << 16;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t steps = 1; step(); ++steps) {
    if (steps % kStepsBetween == 0 && progress) progress(next_job_);
    if (after_instant) after_instant();
  }
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
  has_news_ = at == wake_;
  happen(at);
  while (has_news_) {
    decide();
    has_news_ = carry_out();
  }
  tell_reports();
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
       ++next_revision_, ++events_, has_news_ = true)
    (void)yard_.apply(options_.revisions[next_revision_]);
  while (const auto event = engine_.take(at)) {
    tell_of(*event);
    if (event->kind == EventKind::learnt) engine_.go_on(yard_, event->job);
    if (event->kind == EventKind::loaded) engine_.begin(yard_, event->job);
    if (event->kind == EventKind::drained) carry_out();
  }
  tell_reports();
}

void Simulation::happen_to_machine(const Fault& fault) {
  has_news_ = true;
  if (!fault.speed) {
    // A machine that is told to fail twice stays down: what the yard refuses has no effect.
    (void)yard_.apply(
        Event::of(now_, fault.up ? EventKind::machine_up : EventKind::machine_down, fault.machine));
    ++events_;
    return;
  }
  for (const auto& [job, rate] : engine_.set_speed(yard_, fault.machine, *fault.speed)) {
    tell(Event::rate_of(now_, job, rate));
    if (yard_.state(job).phase == Phase::running) engine_.go_on(yard_, job);
  }
}

/// What those that send over the same links make of each other.
void Simulation::tell_reports() {
  if (engine_.network() == nullptr) return;
  for (const Event& event : engine_.take_reports(yard_)) {
    tell(event);
    if (event.kind == EventKind::rate_changed) engine_.go_on(yard_, JobId{event.subject});
  }
}

void Simulation::tell_of(const PendingEvents::Entry& entry) {
  if (entry.kind == EventKind::learnt)
    return tell(Event::learnt_by(now_, entry.job, engine_.point(yard_, entry.job)));
  tell(Event::of(now_, entry.kind, entry.job));
}

void Simulation::tell(const Event& event) {
  ++events_;
  has_news_ = has_news_ || event.kind != EventKind::learnt;
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
      if (order.kind == Order::Kind::start) engine_.begin(yard_, order.job);
      again = again || order.kind == Order::Kind::pause || policy_->preempts();
    }
  }
  return again;
}

}  // namespace trainyard
