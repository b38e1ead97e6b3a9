#include "reference_state.h"

#include <algorithm>
#include <cmath>

#include "kind_speeds.h"

namespace trainyard::reference {
namespace {

/// Work and checkpoints of a run.
struct Progress {
  Duration work, saved;
  Duration writing;  // time that the checkpoint which is being written has taken so far
};

Duration rounded_up(Duration work, double pace) {
  return Duration{static_cast<std::int64_t>(std::ceil(static_cast<double>(work.us) * pace))};
}
Duration rounded_down(Duration time, double pace) {
  return Duration{static_cast<std::int64_t>(std::floor(static_cast<double>(time.us) / pace))};
}

/// Work for I, write for C, work for I, and so on.
void go_on(Progress& p, const Job& job, Duration time, double pace) {
  if (job.checkpoint_interval.us == 0) {
    p.work += rounded_down(time, pace);
    return;
  }
  while (true) {
    const Duration due = job.checkpoint_interval - (p.work - p.saved);
    const Duration working = rounded_up(due, pace);
    if (time < working) {
      p.work += std::min(due, rounded_down(time, pace));
      return;
    }
    p.work += due;
    time -= working;
    const Duration writing = job.checkpoint_cost - p.writing;
    if (time < writing) {
      p.writing += time;
      return;
    }
    time -= writing;
    p.saved = p.work;
    p.writing = {};
  }
}

/// From the beginning of its run on, pace by pace.
Progress progress_of(const Train& train, const Job& job, Time now) {
  Progress p;
  for (std::size_t i = 0; i < train.stretches.size(); ++i) {
    const auto& [from, pace] = train.stretches[i];
    const Time to = i + 1 < train.stretches.size() ? train.stretches[i + 1].first : now;
    go_on(p, job, to - from, pace);
  }
  return p;
}

/// How long so much more work takes; nothing is written when it is complete.
Duration time_for(Progress p, const Job& job, Duration work, double pace) {
  if (job.checkpoint_interval.us == 0) return rounded_up(work, pace);
  Duration time;
  while (true) {
    const Duration due = job.checkpoint_interval - (p.work - p.saved);
    if (work <= due) return time + rounded_up(work, pace);
    time += rounded_up(due, pace) + (job.checkpoint_cost - p.writing);
    work -= due;
    p.work += due;
    p.saved = p.work;
    p.writing = {};
  }
}

Resources at_most(const Resources& wanted, const Resources& available) {
  return {std::min(wanted.gpus, available.gpus), std::min(wanted.milli_cpus, available.milli_cpus),
          std::min(wanted.memory_mib, available.memory_mib)};
}

}  // namespace

State::State(const Cluster& the_cluster, const Workload& workload)
    : trains(workload.jobs.size()),
      up(the_cluster.machines.size(), true),
      speeds(the_cluster.machines.size(), 1),
      cluster(the_cluster),
      workload_(workload) {
  for (Train& train : trains) train.held.resize(up.size());
  for (std::size_t j = 0; j < trains.size(); ++j) trains[j].estimate = job(j).estimate;
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
  return up[machine] && takes(j, cluster.kinds[index(cluster.machines[machine].kind)]);
}

bool State::takes(std::size_t j, const std::string& kind) const {
  return job(j).kind == kAnyKind || workload_.kinds[index(job(j).kind)] == kind;
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
  if (train.stage == Stage::running) done += progress_of(train, job(j), now).work;
  return std::max(train.estimate - done, microseconds(1));
}

Time State::expected_end(std::size_t j) const {
  return end_of(j, trains[j].estimate);
}

/// Reckoned from when its pace last changed.
Time State::end_of(std::size_t j, Duration work) const {
  const Train& train = trains[j];
  const bool runs = train.stage == Stage::running;
  const Time from = runs ? train.stretches.back().first : train.since + job(j).load;
  const Progress so_far = runs ? progress_of(train, job(j), from) : Progress{};
  const Duration left = std::max(work - train.done - so_far.work, microseconds(1));
  return from + time_for(so_far, job(j), left, train.pace);
}

/// By its size, by the slowest kind of GPU that it has and by its slowest machine. Where it has
/// none yet: with its usual size, on the slowest kind that it may get, of machines as usual.
double State::pace_on(std::size_t j, const Spots& spots) const {
  const bool nowhere = std::all_of(spots.begin(), spots.end(), [](auto n) { return n == 0; });
  double workers = nowhere ? job(j).workers : 0, slowest_gpu = 1e9;
  double slowest_machine = nowhere ? 1 : 1e9;
  for (std::size_t m = 0; m < spots.size(); ++m) {
    const std::string& kind = cluster.kinds[index(cluster.machines[m].kind)];
    if (nowhere ? !takes(j, kind) : spots[m] == 0) continue;
    slowest_gpu = std::min(slowest_gpu, kKindSpeeds.at(kind));
    if (nowhere) continue;
    workers += spots[m];
    slowest_machine = std::min(slowest_machine, speeds[m]);
  }
  const double kind_pace =
      job(j).measured_on == kAnyKind
          ? 1
          : kKindSpeeds.at(workload_.kinds[index(job(j).measured_on)]) / slowest_gpu;
  return job(j).workers / workers * kind_pace / slowest_machine;
}

void State::set_speed(std::size_t machine, double speed) {
  speeds[machine] = speed;
  for (std::size_t j = 0; j < trains.size(); ++j) {
    Train& train = trains[j];
    if (train.stage != Stage::starting && train.stage != Stage::running) continue;
    const double pace = pace_on(j, train.spots);
    if (pace == train.pace) continue;
    train.pace = pace;
    if (train.stage == Stage::running) train.stretches.emplace_back(now, pace);
  }
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
  return end_of(j, job(j).duration);
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
  trains[j].pace = pace_on(j, trains[j].spots);
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
  const Progress progress = progress_of(train, job(j), now);
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
      trains[j].stretches = {{now, trains[j].pace}};
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
  if (train.stage == Stage::running) train.done += progress_of(train, job(j), now).saved;
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
