#include "reference_worth.h"

#include <algorithm>

#include "reference_backlog.h"

namespace trainyard::reference {

double worth_unless_overdue(const State& state, std::size_t j) {
  if (state.acts_as_trial(j) && state.set.trial_worth > 1) return state.set.trial_worth;
  return state.was_critical(j) ? 10'000 : 1;
}

double worth(const State& state, std::size_t j) {
  return state.goes_first(j) || state.has_turn(j) ? 1'000'000 : worth_unless_overdue(state, j);
}

double width(const State& state, std::size_t j) {
  double gpus = 0, cpus = 0, memory = 0;
  for (const Machine& machine : state.cluster.machines) {
    gpus += machine.capacity.gpus;
    cpus += machine.capacity.milli_cpus;
    memory += machine.capacity.memory_mib;
  }
  const Gang gang = state.gang(j);
  double part = 0;
  if (gang.each.gpus > 0) part = gang.each.gpus / gpus;
  if (gang.each.milli_cpus > 0) part = std::max(part, gang.each.milli_cpus / cpus);
  if (gang.each.memory_mib > 0) part = std::max(part, gang.each.memory_mib / memory);
  return std::max(1.0, std::min(part * gang.workers * gpus, gpus / 32));
}

double gpu_second(const State& state) {
  const double others = std::max(static_cast<double>(state.in(Stage::queued).size()) - 1, 0.0);
  const double gpus = std::max(static_cast<double>(state.cluster.total_gpus), 1.0);
  return others / (1 - std::min(state.recent_load(), 0.875)) / gpus;
}

// --- Overdue jobs --------------------------------------------------------------------------------

Duration State::wait_limit() const {
  return longest_wait(set, work_notes);
}

bool State::is_overdue(std::size_t j) const {
  return trains[j].stage == Stage::queued && now - trains[j].since > wait_limit();
}

/// The next turn is due when this one is paid for: after as long as the job waited, on all GPUs of
/// the cluster together. What it may take is its share of that time.
void State::note_turn(std::size_t j, Stage from, Stage to) {
  std::optional<Turn>& turn = trains[j].turn;
  const auto times = [](Duration time, double factor) {
    return microseconds(static_cast<std::int64_t>(static_cast<double>(time.us) * factor));
  };
  const bool is_charged = set.overdue_share < 1;
  if (to == Stage::queued || to == Stage::done) turn.reset();
  if (from == Stage::queued && named == j) {
    named.reset();
    turn = Turn{now - trains[j].since};
    const double part = 1.0 * job(j).gpus() / std::max(cluster.total_gpus, 1);
    if (is_charged) next_turn = now + times(turn->waited, part);
  }
  if (to == Stage::running && turn && is_charged)
    turn->until = now + times(turn->waited, set.overdue_share / (1 - set.overdue_share));
}

}  // namespace trainyard::reference
