#include "reference_state.h"

#include <algorithm>
#include <cmath>

#include "kind_speeds.h"
#include "perf/skew.h"

namespace trainyard::reference {
namespace {

/// Work and checkpoints of a run.
struct Progress {
  Duration work, saved;
  Duration writing;  // time that the checkpoint which is being written has taken so far
};

/// For ever at a pace at which nothing is done; but no work takes no time at any pace.
Duration rounded_up(Duration work, double pace) {
  if (work.us == 0) return {};
  const double time = std::ceil(static_cast<double>(work.us) * pace);
  return time < 9e18 ? Duration{static_cast<std::int64_t>(time)} : Duration::max();
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

State::State(const World& the_world, const Settings& settings)
    : world(the_world),
      set(settings),
      cluster(the_world.cluster),
      trains(the_world.workload.jobs.size()),
      up(the_world.cluster.machines.size(), true),
      speeds(the_world.cluster.machines.size(), 1),
      workload_(the_world.workload) {
  for (Train& train : trains) train.held.resize(up.size());
  for (std::size_t j = 0; j < trains.size(); ++j) trains[j].estimate = job(j).estimate;
}

bool State::holds(std::size_t j) const {
  const Stage stage = trains[j].stage;
  return stage == Stage::starting || stage == Stage::running || stage == Stage::draining;
}

bool State::is_skewed(std::size_t j) const {
  const ModelId model = job(j).model;
  return model != kNoModel && trainyard::is_skewed(workload_.models[index(model)]);
}

Jobs State::in(Stage stage) const {
  Jobs found;
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (trains[j].stage == stage) found.push_back(j);
  return found;
}

void State::go_on_to(Time next) {
  std::int64_t held_gpus = 0;
  bool any = false;
  for (std::size_t j = 0; j < trains.size(); ++j) {
    any = any || trains[j].stage != Stage::absent;
    if (holds(j)) held_gpus += job(j).gpus();
  }
  if (any) passed_.push_back({now, next, held_gpus});
  spend_allowances(next - now);
  now = next;
}

double State::recent_load() const {
  const std::int64_t week_us = days(7).us, from_us = (now.us / week_us - 1) * week_us;
  std::int64_t span_us = 0, held_us = 0;
  for (const Passed& part : passed_) {
    const std::int64_t us = part.to.us - std::max(part.from.us, from_us);
    if (us <= 0) continue;
    span_us += us;
    held_us += us * part.held_gpus;
  }
  if (span_us == 0) return 0;
  return static_cast<double>(held_us) /
         (static_cast<double>(span_us) * std::max(static_cast<double>(cluster.total_gpus), 1.0));
}

Resources State::free_on(std::size_t machine) const {
  Resources free = cluster.machines[machine].capacity;
  for (const Train& train : trains) {
    free -= train.held[machine];
    if (!train.next_spots.empty()) free -= train.next_held[machine];
  }
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

Duration State::work_done(std::size_t j) const {
  const Train& train = trains[j];
  if (train.stage != Stage::running) return train.done;
  return train.done + progress_of(train, job(j), now).work;
}

Duration State::expected_remaining(std::size_t j) const {
  return std::max(trains[j].estimate - work_done(j), microseconds(1));
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

/// Null: nothing is known of its model.
const ModelProfile* State::model_of(std::size_t j) const {
  if (world.models == nullptr || job(j).model == kNoModel) return nullptr;
  return world.models->find(workload_.models[index(job(j).model)]);
}

/// Over its duration, computing takes so many times as long: by its size and by the slowest kind of
/// GPU that it has (an elastic job: by the mean of them). Where it has none yet: with its usual
/// size, on the slowest kind that it may get.
double State::kind_pace(std::size_t j, const Spots& spots) const {
  const ModelProfile* model = model_of(j);
  const auto speed = [&](const std::string& kind) {
    return model == nullptr ? kKindSpeeds.at(kind)
                            : world.models->samples_per_s(*model, kind).value;
  };
  const bool nowhere = std::all_of(spots.begin(), spots.end(), [](auto n) { return n == 0; });
  double workers = nowhere ? job(j).workers : 0, slowest = 1e9, fastest = 0, power = 0;
  for (std::size_t m = 0; m < spots.size(); ++m) {
    const std::string& kind = cluster.kinds[index(cluster.machines[m].kind)];
    if (nowhere ? !takes(j, kind) : spots[m] == 0) continue;
    slowest = std::min(slowest, speed(kind));
    if (nowhere) continue;
    fastest = std::max(fastest, speed(kind));
    power += spots[m] * speed(kind);
    workers += spots[m];
  }
  const KindId measured = job(j).measured_on;
  const double each = job(j).is_elastic() && slowest < fastest ? power / workers : slowest;
  return job(j).workers / workers *
         (measured == kAnyKind ? 1 : speed(workload_.kinds[index(measured)]) / each);
}

Iteration State::iteration(std::size_t j, const Spots& spots) const {
  const double work_s = job(j).duration.seconds() / static_cast<double>(job(j).iterations);
  return iteration_of(cluster, *model_of(j), {spots, job(j).per_worker.gpus},
                      work_s * kind_pace(j, spots), work_s);
}

double State::pace_on(std::size_t j, const Spots& spots) const {
  double pace = kind_pace(j, spots), slowest_machine = 1e9;
  for (std::size_t m = 0; m < spots.size(); ++m)
    if (spots[m] > 0) slowest_machine = std::min(slowest_machine, speeds[m]);
  if (slowest_machine == 1e9) return pace;  // it is nowhere
  if (model_of(j) != nullptr) {
    const Iteration alone = iteration(j, spots);
    pace = alone.total_s(alone.most) / alone.work_s;
  }
  return pace / slowest_machine;
}

/// Found from nothing, whatever has changed.
void State::find_slowed() {
  std::vector<Sender> senders;
  Jobs jobs;
  for (std::size_t j = 0; j < trains.size(); ++j) {
    trains[j].slowed = 1;
    if (trains[j].stage != Stage::running || model_of(j) == nullptr) continue;
    const Iteration work = iteration(j, trains[j].spots);
    if (work.links.empty()) continue;
    senders.push_back({work, trains[j].flow_class});
    jobs.push_back(j);
  }
  find_rates(link_capacities(cluster), flow_floor, world.loss, senders);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Iteration& work = senders[i].work;
    trains[jobs[i]].slowed = work.total_s(senders[i].rate) / work.total_s(work.most);
  }
}

void State::refresh_paces() {
  constexpr double kRounding = 1e-12;
  if (world.models != nullptr) find_slowed();
  for (std::size_t j = 0; j < trains.size(); ++j) {
    Train& train = trains[j];
    if (train.stage != Stage::starting && train.stage != Stage::running) continue;
    const double pace = pace_on(j, train.spots) * train.slowed;
    if (pace == train.pace || std::abs(pace - train.pace) <= kRounding * std::min(pace, train.pace))
      continue;
    train.pace = pace;
    if (train.stage == Stage::running) train.stretches.emplace_back(now, pace);
  }
}

void State::set_speed(std::size_t machine, double speed) {
  speeds[machine] = speed;
  refresh_paces();
}

Duration State::attained(std::size_t j) const {
  const Train& train = trains[j];
  return train.stage == Stage::running ? train.done + (now - train.since) : train.done;
}

Duration State::ran(std::size_t j) const {
  return trains[j].ran + (trains[j].stage == Stage::running ? now - trains[j].since : Duration{});
}

std::int64_t State::service(std::size_t j) const {
  return attained(j).us * job(j).gpus();
}

Time State::next_of(std::size_t j) const {
  const Train& train = trains[j];
  if (train.stage == Stage::starting) return train.since + job(j).load;
  if (train.stage == Stage::draining) return train.since + job(j).grace + job(j).save;
  if (train.stage != Stage::running) return Time::never();
  return end_of(j, job(j).duration);
}

namespace {

constexpr std::int64_t kParts = 100;

Duration part_of(const Job& job) {
  return {(job.duration.us + kParts - 1) / kParts};
}

}  // namespace

Time State::next_report(std::size_t j) const {
  const Train& train = trains[j];
  const bool learns = workload_.curve(JobId{static_cast<std::uint32_t>(j)}) != nullptr;
  const Duration next = part_of(job(j)) * (train.reports + 1);
  if (train.stage != Stage::running || !learns || next >= job(j).duration) return Time::never();
  return end_of(j, next);
}

LearningPoint State::take_point(std::size_t j) {
  const Duration done = work_done(j);
  trains[j].reports = (done + microseconds(2)) / part_of(job(j));  // but for what rounding leaves
  const double share = done.seconds() / job(j).duration.seconds();
  return {share * steps_of(job(j)),
          workload_.curve(JobId{static_cast<std::uint32_t>(j)})->at(share)};
}

void State::enter(std::size_t j, Stage stage) {
  trains[j].ran = ran(j);
  const Stage from = trains[j].stage;
  if (from == Stage::queued || from == Stage::reserved) trains[j].waited += now - trains[j].since;
  if (from == Stage::queued && (stage == Stage::starting || stage == Stage::reserved))
    waits.push_back({j, now - trains[j].since, tier_of_spots(cluster, trains[j].spots)});
  note_turn(j, from, stage);
  if (stage == Stage::done && are_rights_limited() && job(j).job_class == JobClass::trial)
    cap_allowance(job(j).user);
  trains[j].stage = stage;
  trains[j].since = now;
  note_right(j, from, stage);
  note_left(j);
}

void State::submit(std::size_t j) {
  queue(j);
  trains[j].left_at_first = left(j);
}

void State::queue(std::size_t j) {
  enter(j, Stage::queued);
  believe(j);
  note_left(j);
  has_come = true;
  queued_now.push_back(j);
  trains[j].critical_since = {};
}

void State::begin_start(std::size_t j) {
  if (trains[j].first_start == Time::never()) {
    trains[j].first_wait = trains[j].waited + (now - trains[j].since);
    trains[j].started_as_trial = acts_as_trial(j);
  }
  trains[j].first_start = std::min(trains[j].first_start, now);
  trains[j].pace = trains[j].pace_at_start = pace_on(j, trains[j].spots);
  trains[j].started = now;
  starts.push_back({j, trains[j].spots});
  trains[j].room_in_group.reset();
  enter(j, Stage::starting);
}

void State::start(std::size_t j, const Spots& spots) {
  trains[j].spots = spots;
  note_filled(j, true);
  for (std::size_t m = 0; m < spots.size(); ++m) trains[j].held[m] = taken(j, m, spots[m]);
  begin_start(j);
}

void State::reserve(std::size_t j, const Spots& spots, const Jobs& victims) {
  if (victims.empty()) return start(j, spots);
  trains[j].spots = spots;
  note_filled(j, false);
  trains[j].held = free_of(j, spots);
  enter(j, Stage::reserved);
  for (const std::size_t victim : victims) {
    trains[victim].leaves_for = j;
    trains[victim].gave_way_to.insert(j);
    pause(victim);
  }
}

/// What is free of the room now.
std::vector<Resources> State::free_of(std::size_t j, const Spots& spots) const {
  std::vector<Resources> free;
  for (std::size_t m = 0; m < spots.size(); ++m)
    free.push_back(at_most(taken(j, m, spots[m]), free_on(m)));
  return free;
}

/// Those that wait have what is free first: those that leave to go elsewhere cannot use it yet.
void State::change(const std::vector<Change>& changes) {
  const std::size_t group = groups_++;
  for (const auto& [j, to] : changes) {
    if (trains[j].stage != Stage::queued) continue;
    trains[j].held = free_of(j, *to);
    trains[j].spots = *to;
    trains[j].room_in_group = group;
    enter(j, Stage::reserved);
  }
  for (const auto& [j, to] : changes) {
    if (trains[j].stage != Stage::running) continue;
    trains[j].leaves_for_group = group;
    if (!to) continue;
    trains[j].next_held = free_of(j, *to);
    trains[j].next_spots = *to;
    trains[j].room_in_group = group;
  }
  for (const auto& [j, to] : changes)
    if (trains[j].stage == Stage::running) pause(j);
  start_complete(group);
}

/// To those whose rooms are made, by number, of what each still lacks there.
void State::hand_over(std::size_t group, std::size_t machine, Resources freed) {
  for (std::size_t j = 0; j < trains.size(); ++j) {
    Train& train = trains[j];
    if (train.room_in_group != group) continue;
    const bool is_yet_to_leave = !train.next_spots.empty();
    const Spots& spots = is_yet_to_leave ? train.next_spots : train.spots;
    Resources& held = is_yet_to_leave ? train.next_held[machine] : train.held[machine];
    const Resources more = at_most(taken(j, machine, spots[machine]) - held, freed);
    held += more;
    freed -= more;
  }
}

void State::start_complete(std::size_t group) {
  for (std::size_t j = 0; j < trains.size(); ++j) {
    const Train& train = trains[j];
    if (train.room_in_group != group || train.stage != Stage::reserved) continue;
    bool is_complete = true;
    for (std::size_t m = 0; m < up.size(); ++m)
      is_complete = is_complete && train.held[m] == taken(j, m, train.spots[m]);
    if (is_complete) begin_start(j);
  }
}

/// It has left.
void State::queue_or_move(std::size_t j) {
  queue(j);
  Train& train = trains[j];
  if (train.next_spots.empty()) return;
  train.spots = std::exchange(train.next_spots, {});
  train.held = train.next_held;
  enter(j, Stage::reserved);
  start_complete(*train.room_in_group);
}

void State::pause(std::size_t j) {
  Train& train = trains[j];
  const Progress progress = progress_of(train, job(j), now);
  train.done += progress.work;
  train.unsaved = progress.work - progress.saved;
  ++train.pauses;
  enter(j, Stage::draining);
}

void State::progress(std::size_t j) {
  switch (trains[j].stage) {
    case Stage::starting:
      trains[j].stretches = {{now, trains[j].pace}};
      trains[j].reports = (trains[j].done + microseconds(2)) / part_of(job(j));
      return enter(j, Stage::running);
    case Stage::running:
      work_notes.push_back({now, work_of({j}), WorkNote::One{j, job(j).submit}});
      trains[j].done = job(j).duration;
      vacate(j);
      just_finished.push_back(j);
      return enter(j, Stage::done);
    case Stage::draining:
      vacate(j);
      return queue_or_move(j);
    default:
      return;
  }
}

/// Gives all back; the job that it leaves for takes what it still lacks on the same machines, and
/// starts when nobody else has to leave.
void State::vacate(std::size_t j) {
  const std::optional<std::size_t> heir = std::exchange(trains[j].leaves_for, {});
  const std::optional<std::size_t> group = std::exchange(trains[j].leaves_for_group, {});
  for (std::size_t m = 0; m < up.size(); ++m) {
    const Resources freed = std::exchange(trains[j].held[m], {});
    if (group) hand_over(*group, m, freed);
    if (!heir) continue;
    const Resources wanted = taken(*heir, m, trains[*heir].spots[m]);
    trains[*heir].held[m] += at_most(wanted - trains[*heir].held[m], freed);
  }
  if (group) start_complete(*group);
  if (!heir) return;
  for (const Train& other : trains)
    if (other.leaves_for == heir) return;
  begin_start(*heir);
}

void State::void_reservation(std::size_t j) {
  for (Train& other : trains)
    if (other.leaves_for == j) other.leaves_for.reset();
  trains[j].room_in_group.reset();
  vacate(j);
  queue(j);
}

void State::fall_back(std::size_t j) {
  Train& train = trains[j];
  if (train.stage == Stage::running) train.done += progress_of(train, job(j), now).saved;
  if (train.stage == Stage::draining) train.done -= train.unsaved;
  vacate(j);
  queue_or_move(j);
}

void State::fail_machine(std::size_t machine) {
  if (!up[machine]) return;
  up[machine] = false;
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (trains[j].stage == Stage::reserved && trains[j].spots[machine] > 0) void_reservation(j);
  for (Train& train : trains)  // those that would move there leave all the same
    if (!train.next_spots.empty() && train.next_spots[machine] > 0) {
      train.next_spots.clear();
      train.room_in_group.reset();
    }
  for (std::size_t j = 0; j < trains.size(); ++j)
    if (holds(j) && trains[j].spots[machine] > 0) fall_back(j);
}

}  // namespace trainyard::reference
