#include "simulation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "live/loop/live_demand.h"
#include "policy/registry.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kSteps = 120;
constexpr int kMostStarts = 20;  // until a daemon is up, of which some die again

std::string some_policy(Random& lots) {
  return presets()[lots.below(presets().size())].name;
}

}  // namespace

DaemonSimulation::DaemonSimulation(std::uint64_t seed, bool tell)
    : seed_(seed), tell_(tell), lots_(seed, 1) {
  const bool is_local = seed_ % 3 == 0;
  const std::string cluster =
      std::array{"2x4xV100", "1x8xA100", "3x2xV100", "4x4xA100"}[lots_.below(4)];
  cluster_ = *parse_cluster_shorthand(is_local ? "1x8xA100" : cluster);
  if (!is_local && lots_.below(2) == 0) mix_machines();
  original_ = cluster_;
  // A quarter of the clusters has GPUs without names, as Slurm's; so has the local engine here.
  if (lots_.below(4) != 0 && !is_local)
    for (std::uint32_t m = 0; m < cluster_.machines.size(); ++m)
      cluster_.set_gpus(MachineId{m}, new_gpus(cluster_.machines[m].capacity.gpus));
  options_.policy = {some_policy(lots_), {}};
  options_.memory = std::array{std::size_t{64} << 10, std::size_t{512} << 20}[lots_.below(2)];
  options_.disk = 4 << 20;
  options_.load_time = std::array{Duration{}, seconds(15), minutes(1)}[lots_.below(3)];
  options_.private_jobs = lots_.below(3) == 0;
  choose_keeping();
  const bool compacts = options_.keep_output != SchedulingOptions{}.keep_output;
  using Jobs = SimulatedMachine::Jobs;
  machine_ = std::make_unique<SimulatedMachine>(
      seed, is_local ? Jobs::in_processes : Jobs::in_memory, cluster_, options_);
  machine_->processes().set_runs([this](RunId id) { return process_of(id); });
  machine_->world().set_scripts([this](const Launch& launch) { return script_of(launch); });
  const bool chooses_gpus = lots_.below(4) == 0 && !is_local;
  if (chooses_gpus) machine_->world().choose_gpus();
  clients_ = std::make_unique<Clients>(*machine_, seed, options_);
  audit_ = std::make_unique<Audit>(*machine_, *clients_, options_, chooses_gpus, compacts);
  if (lots_.below(3) == 0 && !is_local)
    journal_ = std::make_unique<JournalTroubles>(*machine_, *clients_, *audit_, seed);
  // An older journal knows less of what was erased; the local engine's files have rule 13.
  if (!journal_ && !is_local)
    written_ = std::make_unique<WrittenAudit>(*machine_, *clients_, options_);
}

DaemonSimulation::~DaemonSimulation() = default;

/// Machines that differ in features, shares and GPUs.
void DaemonSimulation::mix_machines() {
  Machine other = cluster_.machines[0];
  other.capacity = {2, 64'000, 64 << 10};
  (void)cluster_.add_machines(2, other, lots_.below(2) == 0 ? "V100" : "T4");
  for (Machine& machine : cluster_.machines) {
    if (lots_.below(2) == 0) machine.features.emplace_back("ib");
    machine.capacity.milli_cpus *= static_cast<std::int32_t>(1 + lots_.below(3));
  }
}

/// A machine gains or loses a feature, or has more CPUs, whatever runs there.
void DaemonSimulation::change_machine() {
  Machine& machine = cluster_.machines[lots_.below(cluster_.machines.size())];
  if (lots_.below(3) == 0) {
    machine.capacity.milli_cpus = std::min(machine.capacity.milli_cpus * 2, 1'024'000);
    say(machine.name + " has more CPUs");
  } else if (machine.features.empty()) {
    machine.features = {"ib"};
    say(machine.name + " has ib");
  } else {
    machine.features.clear();
    say(machine.name + " has no features");
  }
  machine_->world().set_cluster(cluster_);
}

/// Half of them keep what is usual.
void DaemonSimulation::choose_keeping() {
  if (lots_.below(2) == 0) return;
  options_.keep_output = std::array{minutes(1), hours(1), days(3), days(20)}[lots_.below(4)];
  options_.admitted_at_once = std::array{1, 3, 100}[lots_.below(3)];
  options_.least_erased_a_day = std::array{1, 3, 1000}[lots_.below(3)];
  if (lots_.below(2) == 0)
    options_.keep_checkpoints = std::array{minutes(10), days(4), days(40)}[lots_.below(3)];
}

/// By the job's number alone: whatever else happens, a job does the same.
MemoryScript DaemonSimulation::script_of(const Launch& launch) const {
  Random lots(seed_, 1000 + static_cast<std::uint64_t>(launch.id.job));
  MemoryScript script;
  const auto some_seconds = [&](std::uint64_t most) {
    return seconds(static_cast<std::int64_t>(lots.below(most)));
  };
  script.output = fmt::format("output of {}.{}", launch.id.job, launch.id.run);
  if (launch.id.job % 3 != 0) script.saves = fmt::format("saved by run {};", launch.id.run);
  script.start_takes = some_seconds(lots.below(3) == 0 ? 120 : 2);
  const std::uint64_t most = lots.below(3) == 0 ? 7200 : 120;
  script.runs_for = Duration{some_seconds(most).us / launch.id.run};
  if (lots.below(10) == 0) script.exit_status = 3;
  if (lots.below(12) == 0 && launch.id.run < 3) script.asks_requeue = true;
  if (lots.below(12) == 0 && launch.id.run < 4) script.start_fails = "the network is down";
  if (lots.below(25) == 0) script.refused = "no such file";
  if (lots.below(12) == 0 && launch.id.run < 3) script.breaks_after = some_seconds(60);
  script.leaves_after = some_seconds(40);
  if (lots.below(5) == 0) script.leaves_after = std::nullopt;
  if (lots.below(4) == 0) script.exit_when_told = 0;
  if (lots.below(3) == 0) script.output.append(lots.below(20'000), 'x');
  // In some seeds a few jobs write more than all that their user may have on disk.
  if (seed_ % 3 == 1 && launch.id.job % 2 == 0) script.output.append(600'000, 'x');
  if (lots.below(4) == 0) script.tells = JobProgress{10, 100, 0.5, 0.5, 1.0, 2.0};
  script.tells_after = some_seconds(lots.below(2) == 0 ? 1 : 90);
  script.tells_every = some_seconds(lots.below(2) == 0 ? 1 : 60);
  return script;
}

/// The same with supervisors and files that may be anything.
SimulatedRun DaemonSimulation::process_of(RunId id) const {
  Launch launch;
  launch.id = id;
  SimulatedRun run{.script = script_of(launch)};
  Random lots(seed_, 5'000'000 + static_cast<std::uint64_t>(id.job) * 50 + id.run);
  if (lots.below(5) == 0 && id.run < 6)
    run.fault = static_cast<SupervisorFault>(lots.below(kSupervisorFaults));
  if (lots.below(3) == 0) run.trap = static_cast<FileTrap>(lots.below(kFileTraps));
  run.script.output = fmt::format("job {} run {}\n", id.job, id.run);
  return run;
}

void DaemonSimulation::say(const std::string& what) {
  if (tell_)
    std::printf("%6llu  %s  %s\n", static_cast<unsigned long long>(step_),
                std::to_string(machine_->now().us / 1000).c_str(), what.c_str());
}

/// For whoever looks for what went wrong.
void DaemonSimulation::tell_state() {
  const Identity root{"root", 0, 0, Role::operator_};
  if (!machine_->is_up()) return;
  const auto cluster = machine_->master().cluster(root);
  for (const MachineView& machine : cluster->machines)
    fmt::print("  {} {} {}: {} free; {}\n", machine.name, machine.state, machine.reason,
               machine.free.gpus, fmt::join(machine.by_gpu, " "));
  if (const auto page = machine_->master().jobs(root, JobFilter{}))
    for (const JobRecord& job : page->jobs)
      if (!job.has_ended())
        fmt::print("  job {} {} run {} broken {} ending {}: {}\n", job.number,
                   state_name(job.shown_phase()), job.runs, job.is_broken, name(job.ending),
                   job.reason);
  for (const MemoryWorld::Seen& run : machine_->runs())
    if (!run.has_ended)
      fmt::print("  run {}.{} has {} lives {} told {}\n", run.id.job, run.id.run, run.has_run,
                 run.lives, run.was_told);
  const auto lines = machine_->kept_log().lines();
  for (std::size_t i = lines.size() - std::min<std::size_t>(lines.size(), 40); i < lines.size();
       ++i)
    fmt::print("  log: {}\n", lines[i].second);
}

void DaemonSimulation::check(bool in_full) {
  if (wrong_.empty()) wrong_ = audit_->look(in_full);
  if (wrong_.empty() && written_) wrong_ = written_->look();
}

SimulationResult DaemonSimulation::run() {
  come_up();
  for (; step_ < kSteps && wrong_.empty(); ++step_) {
    try {
      step();
      check(step_ % 16 == 0);
    } catch (const std::exception& problem) {  // a dead one may do what it likes
      if (!machine_->is_dead()) wrong_ = std::string("the daemon threw: ") + problem.what();
    }
    if (machine_->is_dead()) machine_->put_away();
    if (!machine_->is_up() && wrong_.empty()) come_up();
  }
  if (wrong_.empty()) finish();
  if (tell_) tell_state();
  SimulationResult result;
  result.wrong = wrong_;
  result.steps = step_;
  result.daemons = machine_->daemons(), result.deaths = machine_->deaths();
  result.jobs = clients_->numbers().size();
  result.disk_acts = machine_->files().acts();
  result.digest = machine_->files().digest() ^ audit_->digest();
  return result;
}

/// It always does, once nothing keeps it from it; until then it may die again.
void DaemonSimulation::come_up() {
  if (lots_.below(8) == 0) {
    if (lots_.below(2) == 0 && !machine_->is_local()) machine_->reboot();
    machine_->pass(hours(static_cast<std::int64_t>(lots_.below(24 * 10))));
  }
  if (lots_.below(8) == 0) jump_clock();
  if (clients_->numbers().empty()) clients_->begin_at_this_clock();
  for (int tries = 0; tries < kMostStarts; ++tries) {
    if (lots_.below(6) == 0) trouble_gpus();
    if (lots_.below(3) == 0)
      machine_->die_at(1 + lots_.below(60), lots_.below(2) == 0 ? SimulatedMachine::Death::kill
                                                                : SimulatedMachine::Death::power);
    const std::string why = machine_->begin();
    if (why.empty()) {
      machine_->spare();
      say("the daemon is up");
      return check(true);
    }
    const bool was_dead = machine_->is_dead();
    say("the daemon does not come up: " + why);
    machine_->put_away();
    const bool is_hindered = machine_->is_meddled_with() || machine_->fails_sync();
    if (!was_dead && !is_hindered) {
      wrong_ = "the daemon does not come up: " + why;
      return;
    }
    machine_->pass(seconds(5));
    if (was_dead) continue;
    machine_->make_room();
    machine_->end_meddling();
  }
}

void DaemonSimulation::step() {
  const std::uint64_t lot = lots_.below(100);
  if (lot < 45) {
    clients_->ask_something();
    return say(clients_->last());
  }
  if (lot < 75) {
    const Duration time = {static_cast<std::int64_t>(
        lots_.exponential(std::array{1e5, 1e7, 6e7, 6e8}[lots_.below(4)]))};
    machine_->pass(time);
    return say(fmt::format("{} ms pass", time.us / 1000));
  }
  if (lot < 85) {
    const auto death =
        lots_.below(2) == 0 ? SimulatedMachine::Death::kill : SimulatedMachine::Death::power;
    const std::uint64_t point = 1 + lots_.below(std::array{5, 40, 300}[lots_.below(3)]);
    machine_->die_at(point, death);
    return say(fmt::format("it will {} at point {}",
                           death == SimulatedMachine::Death::kill ? "be killed" : "lose power",
                           point));
  }
  if (lot < 90 && machine_->is_local()) return trouble_supervisors();
  if (lot < 88) return trouble_machines();
  if (lot < 90) return trouble_gpus();
  if (lot < 91) return jump_clock();
  if (lot < 93) {
    const Duration shift = seconds(static_cast<std::int64_t>(lots_.below(7200)) - 3600);
    machine_->set_clock_by(shift);
    return say(fmt::format("the clock is set by {} s", shift.us / 1'000'000));
  }
  if (lot < (journal_ ? 94U : 98U)) return trouble_the_disk();
  if (lot < 99 && journal_) return trouble_the_journal();
  if (lot < 99 && !machine_->is_local()) return bear_job();
  machine_->end();
  if (machine_->is_local() && lots_.below(3) == 0) {
    machine_->copy_state();
    return say("the daemon is ended, and goes on with a copy of its directory");
  }
  say("the daemon is ended");
}

/// The clock is right again, or off by up to 800 days; never by little more than a day.
void DaemonSimulation::jump_clock() {
  const Duration to = lots_.below(3) == 0
                          ? Duration{}
                          : hours(static_cast<std::int64_t>(lots_.below(2 * 800 * 24)) - 800 * 24);
  const Duration shift = to - machine_->set_by();
  if (std::abs(shift.us) < days(3).us) return;
  machine_->set_clock_by(shift);
  say(fmt::format("the clock jumps by {}", format(shift)));
}

/// Somebody submits a job past us, or takes the last such back.
void DaemonSimulation::bear_job() {
  if (born_ > 0 && lots_.below(3) == 0) {
    machine_->world().withdraw(fmt::format("born-{}", born_));
    return say("the last job that was born elsewhere is withdrawn");
  }
  BirthReport birth;
  birth.name = fmt::format("born-{}", ++born_);
  birth.owner = {"ada", 1001, 1000, Role::user};
  birth.spec.name = birth.name;
  birth.spec.command = {"train"};
  Launch as;
  as.id = {static_cast<JobNumber>(1'000'000 + born_), 9};  // its first run is as its last
  MemoryScript script = script_of(as);
  machine_->world().bear(birth, std::move(script));
  say(birth.name + " is submitted elsewhere");
}

void DaemonSimulation::trouble_supervisors() {
  say(machine_->processes().kill_one(lots_) ? "a supervisor is killed" : "no supervisor lives");
}

void DaemonSimulation::trouble_machines() {
  if (lots_.below(8) == 0 && cluster_.machines.size() < 6) {
    Machine more = original_.machines[0];
    (void)cluster_.add_machines(1, more, cluster_.kinds[0]);
    (void)original_.add_machines(1, more, original_.kinds[0]);
    if (!cluster_.machines[0].gpu_names.empty())
      cluster_.set_gpus(MachineId{static_cast<std::uint32_t>(cluster_.machines.size() - 1)},
                        new_gpus(more.capacity.gpus));
    machine_->world().set_cluster(cluster_);
    return say("the cluster has one more machine");
  }
  if (lots_.below(4) == 0) return change_machine();
  const Machine& machine = cluster_.machines[lots_.below(cluster_.machines.size())];
  const auto state =
      std::array{MachineReport::State::up, MachineReport::State::up, MachineReport::State::closed,
                 MachineReport::State::down}[lots_.below(4)];
  machine_->world().set_machine({machine.name, state, "by lot"});
  say(fmt::format("{} is in state {}", machine.name, static_cast<int>(state)));
}

/// Names that no GPU has had.
std::vector<std::string> DaemonSimulation::new_gpus(std::int32_t count) {
  std::vector<std::string> names;
  for (std::int32_t i = 0; i < count; ++i) names.push_back(fmt::format("GPU-{}", ++made_gpus_));
  return names;
}

/// GPUs of a machine go, come, change places, or are exchanged for others. Those without names come
/// and go at the end of the list.
void DaemonSimulation::trouble_gpus() {
  has_changed_gpus_ = true;
  const MachineId id{static_cast<std::uint32_t>(lots_.below(cluster_.machines.size()))};
  const Machine& machine = cluster_.machine(id);
  std::vector<std::string> gpus = machine.gpu_names;
  const auto original = static_cast<std::uint64_t>(original_.machine(id).capacity.gpus);
  if (gpus.empty()) {
    Cluster other = cluster_;
    const auto count = static_cast<std::int32_t>(1 + lots_.below(original));
    other.total_gpus += count - machine.capacity.gpus;
    other.machines[index(id)].capacity.gpus = count;
    cluster_ = other;
  } else {
    const std::uint64_t how = lots_.below(4);
    if (how == 0 && gpus.size() > 1)
      gpus.erase(gpus.begin() + static_cast<std::ptrdiff_t>(lots_.below(gpus.size())));
    if (how == 1 && gpus.size() < 2 * original)
      gpus.insert(gpus.begin() + static_cast<std::ptrdiff_t>(lots_.below(gpus.size())),
                  new_gpus(1).front());
    if (how == 2) gpus[lots_.below(gpus.size())] = new_gpus(1).front();
    for (std::size_t i = gpus.size(); how != 2 && i > 1; --i)
      std::swap(gpus[i - 1], gpus[lots_.below(i)]);
    cluster_.set_gpus(id, gpus);
  }
  most_gpus_[machine.name] = std::max(most_gpus_[machine.name], machine.capacity.gpus);
  machine_->world().set_cluster(cluster_);
  say(fmt::format("{} has {} GPUs now: {}", machine.name, machine.capacity.gpus,
                  fmt::join(gpus, " ")));
}

/// Gives every machine the most that it has had, so that all jobs that were accepted find room.
void DaemonSimulation::restore_gpus() {
  for (std::uint32_t m = 0; m < cluster_.machines.size(); ++m) {
    const std::int32_t count =
        std::max(original_.machines[m].capacity.gpus, most_gpus_[cluster_.machines[m].name]);
    std::vector<std::string> gpus = cluster_.machines[m].gpu_names;
    if (gpus.empty()) {
      cluster_.total_gpus += count - cluster_.machines[m].capacity.gpus;
      cluster_.machines[m].capacity.gpus = count;
      continue;
    }
    for (std::string& gpu : new_gpus(count - static_cast<std::int32_t>(gpus.size())))
      gpus.push_back(std::move(gpu));
    cluster_.set_gpus(MachineId{m}, std::move(gpus));
  }
  machine_->world().set_cluster(cluster_);
}

void DaemonSimulation::trouble_the_disk() {
  const auto stays = seconds(static_cast<std::int64_t>(lots_.below(10)));
  switch (lots_.below(7)) {
    case 0:
      machine_->is_full() ? machine_->make_room() : machine_->fill_disk(lots_.below(20'000));
      return say(machine_->is_full() ? "the disk is full" : "the disk has room");
    case 1:
      machine_->fail_sync();
      audit_->allow_refused();
      return say("the next sync fails");
    case 2:
      machine_->meddle("PRAGMA wal_checkpoint(TRUNCATE)", stays);
      return say("a foreign checkpoint");
    case 3:
      machine_->meddle("BEGIN IMMEDIATE", stays);
      return say("a foreign writer");
    case 4:
      machine_->meddle("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE", stays);
      return say("a foreign program that wants all for itself");
    default:
      machine_->meddle("BEGIN; SELECT count(*) FROM job", stays * 20);
      return say("a foreign reader");
  }
}

void DaemonSimulation::trouble_the_journal() {
  const std::uint64_t lot = lots_.below(10);
  say(lot < 5 ? journal_->damage() : lot < 8 ? journal_->back_up() : journal_->restore());
  if (wrong_.empty()) wrong_ = journal_->wrong();
}

/// Runs of jobs that the journal has lost, of which a part may be gone: an operator ends those.
void DaemonSimulation::cancel_strays() {
  const Identity root{"root", 0, 0, Role::operator_};
  const auto page = machine_->master().jobs(root, JobFilter{});
  if (!page) return;
  for (const JobRecord& job : page->jobs)
    if (job.runs_outside && !job.has_ended()) (void)machine_->master().cancel(root, {job.number});
}

/// Jobs that were accepted when a machine had another number of GPUs than it has at the end: no
/// machine can hold them any more, whatever the daemon says, and an operator ends those.
void DaemonSimulation::cancel_misfits() {
  const Identity root{"root", 0, 0, Role::operator_};
  const auto page = machine_->master().jobs(root, JobFilter{});
  if (!page || !has_changed_gpus_ || machine_->is_local()) return;
  for (const JobRecord& job : page->jobs) {
    const bool waits = job.is_held() || job.phase() == Phase::queued;
    if (waits && !misfit(job.spec, cluster_).empty())
      (void)machine_->master().cancel(root, {job.number});
  }
}

/// Nothing goes wrong any more: everything comes to its end.
void DaemonSimulation::finish() {
  machine_->spare();
  machine_->meanwhile = nullptr;
  machine_->make_room();
  machine_->files().fail_sync(false);
  machine_->end_meddling();
  for (const Machine& machine : cluster_.machines)
    if (!machine_->is_local())
      machine_->world().set_machine({machine.name, MachineReport::State::up, ""});
  for (Machine& machine : cluster_.machines) machine.features = {"ib", "nvlink"};
  if (!machine_->is_local()) restore_gpus();
  const Identity root{"root", 0, 0, Role::operator_};
  machine_->pass(seconds(30));
  for (const Machine& machine : cluster_.machines)
    if (const auto done = machine_->master().open_machine(root, machine.name); !done) {
      wrong_ = "nothing is wrong any more, but a machine cannot be opened: " + done.error().message;
      return;
    }
  JobFilter filter;
  for (const Phase state : kJobStates)
    if (!has_ended(state)) filter.states.push_back(state);
  cancel_strays();
  const Time until = machine_->now() + days(60);
  for (;;) {
    check(false);
    if (!wrong_.empty()) return;
    const auto page = machine_->master().jobs(root, filter);
    if (page && page->jobs.empty()) break;
    if (machine_->now() > until) {
      const JobRecord& job = page->jobs.back();
      wrong_ = fmt::format("{} jobs never end, of which {} is {}: {}", page->jobs.size(),
                           job.number, state_name(job.shown_phase()),
                           machine_->master().why(root, job.number)->reason.sentence);
      return;
    }
    cancel_misfits();
    machine_->pass(hours(1));
  }
  wrong_ = audit_->look_at_end();
  if (wrong_.empty() && options_.keep_output <= days(20)) see_erased();
}

/// With the clock as it is accepted, two days of its own erase some of what is due.
void DaemonSimulation::see_erased() {
  const Identity root{"root", 0, 0, Role::operator_};
  machine_->pass(options_.keep_output + days(1));
  clients_->resume_as_operator();
  auto before = machine_->master().retention(root);
  for (int round = 0; round < 2 && before && wrong_.empty(); ++round) {
    machine_->pass(days(2));
    check(false);
    const auto after = machine_->master().retention(root);
    // A job whose row is damaged keeps its output.
    if (after && before->output.due > audit_->damaged().size() &&
        after->output.kept >= before->output.kept)
      wrong_ = fmt::format("the output of {} jobs is due, and none is erased in two days",
                           before->output.due);
    before = after;
  }
}

}  // namespace trainyard
