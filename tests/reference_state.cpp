#include "reference_state.h"

#include <algorithm>

namespace trainyard::reference {
namespace {

/// Work and checkpoints of a run, second by second of its cycle: work for I, write for C.
struct Progress {
  Duration work, saved;
};

Progress progress_after(const Job& job, Duration elapsed) {
  if (job.checkpoint_interval.us == 0) return {elapsed, {}};
  Progress so_far;
  while (elapsed > Duration{}) {
    const Duration worked = std::min(elapsed, job.checkpoint_interval);
    so_far.work += worked;
    elapsed -= worked;
    if (worked < job.checkpoint_interval || elapsed < job.checkpoint_cost) break;
    elapsed -= job.checkpoint_cost;
    so_far.saved = so_far.work;
  }
  return so_far;
}

/// How long so much work takes; nothing is written when it is complete.
Duration time_for(const Job& job, Duration work) {
  Duration time = work;
  if (job.checkpoint_interval.us == 0) return time;
  for (Duration left = work; left > job.checkpoint_interval; left -= job.checkpoint_interval)
    time += job.checkpoint_cost;
  return time;
}

Resources at_most(const Resources& wanted, const Resources& available) {
  return {std::min(wanted.gpus, available.gpus), std::min(wanted.milli_cpus, available.milli_cpus),
          std::min(wanted.memory_mib, available.memory_mib)};
}

}  // namespace

State::State(const Cluster& the_cluster, const Workload& workload)
    : trains(workload.jobs.size()),
      up(the_cluster.machines.size(), true),
      cluster(the_cluster),
      workload_(workload) {
  for (Train& train : trains) train.held.resize(up.size());
}

bool State::holds(std::size_t j) const {
  const Stage stage = trains[j].stage;
  return stage == Stage::starting || stage == Stage::running || stage == Stage::draining;
}

std::vector<std::size_t> State::in(Stage stage) const {
  std::vector<std::size_t> found;
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (trains[j].stage == stage) found.push_back(j);
  return found;
}

Resources State::free_on(std::size_t machine) const {
  Resources free = cluster.machines[machine].capacity;
  for (const Train& train : trains) free -= train.held[machine];
  return free;
}

bool State::suits(std::size_t j, std::size_t machine) const {
  if (!up[machine]) return false;
  if (job(j).kind == kAnyKind) return true;
  return workload_.kinds[index(job(j).kind)] ==
         cluster.kinds[index(cluster.machines[machine].kind)];
}

Free State::free_for(std::size_t j) const {
  Free free(up.size());
  for (std::size_t m = 0; m < up.size(); ++m)
    if (suits(j, m)) free[m] = free_on(m);
  return free;
}

Duration State::expected_remaining(std::size_t j) const {
  const Train& train = trains[j];
  Duration done = train.done;
  if (train.stage == Stage::running) done += progress_after(job(j), now - train.since).work;
  return std::max(job(j).estimate - done, microseconds(1));
}

Time State::expected_end(std::size_t j) const {
  const Train& train = trains[j];
  const Duration left = std::max(job(j).estimate - train.done, microseconds(1));
  const Duration load = train.stage == Stage::starting ? job(j).load : Duration{};
  return train.since + load + time_for(job(j), left);
}

std::int64_t State::service(std::size_t j) const {
  const Train& train = trains[j];
  Duration time = train.done;
  if (train.stage == Stage::running) time += now - train.since;
  return time.us * job(j).gpus();
}

Time State::next_of(std::size_t j) const {
  const Train& train = trains[j];
  if (train.stage == Stage::starting) return train.since + job(j).load;
  if (train.stage == Stage::draining) return train.since + job(j).grace + job(j).save;
  if (train.stage != Stage::running) return Time::never();
  return train.since + time_for(job(j), job(j).duration - train.done);
}

void State::enter(std::size_t j, Stage stage) {
  trains[j].stage = stage;
  trains[j].since = now;
}

void State::queue(std::size_t j) {
  enter(j, Stage::queued);
  queued_now.push_back(j);
}

void State::begin_start(std::size_t j) {
  trains[j].first_start = std::min(trains[j].first_start, now);
  enter(j, Stage::starting);
}

void State::start(std::size_t j, const Spots& spots) {
  trains[j].spots = spots;
  for (std::size_t m = 0; m < spots.size(); ++m) trains[j].held[m] = job(j).per_worker * spots[m];
  begin_start(j);
}

void State::reserve(std::size_t j, const Spots& spots, const std::vector<std::size_t>& victims) {
  if (victims.empty()) return start(j, spots);
  trains[j].spots = spots;
  for (std::size_t m = 0; m < spots.size(); ++m)
    trains[j].held[m] = at_most(job(j).per_worker * spots[m], free_on(m));
  enter(j, Stage::reserved);
  for (const std::size_t victim : victims) pause(victim, j);
}

void State::pause(std::size_t j, std::size_t heir) {
  Train& train = trains[j];
  const Progress progress = progress_after(job(j), now - train.since);
  train.done += progress.work;
  train.unsaved = progress.work - progress.saved;
  train.leaves_for = heir;
  train.gave_way_to.insert(heir);
  ++train.pauses;
  enter(j, Stage::draining);
}

void State::progress(std::size_t j) {
  switch (trains[j].stage) {
    case Stage::starting:
      return enter(j, Stage::running);
    case Stage::running:
      trains[j].done = job(j).duration;
      vacate(j);
      return enter(j, Stage::done);
    case Stage::draining:
      vacate(j);
      return queue(j);
    default:
      return;
  }
}

/// Gives all back; the job that it leaves for takes what it still lacks on the same machines, and
/// starts when nobody else has to leave.
void State::vacate(std::size_t j) {
  const std::optional<std::size_t> heir = std::exchange(trains[j].leaves_for, {});
  for (std::size_t m = 0; m < up.size(); ++m) {
    const Resources freed = std::exchange(trains[j].held[m], {});
    if (!heir) continue;
    const Resources wanted = job(*heir).per_worker * trains[*heir].spots[m];
    trains[*heir].held[m] += at_most(wanted - trains[*heir].held[m], freed);
  }
  if (!heir) return;
  for (const Train& other : trains)
    if (other.leaves_for == heir) return;
  begin_start(*heir);
}

void State::void_reservation(std::size_t j) {
  for (Train& other : trains)
    if (other.leaves_for == j) other.leaves_for.reset();
  vacate(j);
  queue(j);
}

void State::fall_back(std::size_t j) {
  Train& train = trains[j];
  if (train.stage == Stage::running) train.done += progress_after(job(j), now - train.since).saved;
  if (train.stage == Stage::draining) train.done -= train.unsaved;
  vacate(j);
  queue(j);
}

void State::fail_machine(std::size_t machine) {
  if (!up[machine]) return;
  up[machine] = false;
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (trains[j].stage == Stage::reserved && trains[j].spots[machine] > 0) void_reservation(j);
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (holds(j) && trains[j].spots[machine] > 0) fall_back(j);
}

}  // namespace trainyard::reference
