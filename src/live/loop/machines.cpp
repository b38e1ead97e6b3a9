#include "live/loop/machines.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>

#include "live/engine/check_cluster.h"

namespace trainyard {
namespace {

using nlohmann::json;

std::vector<std::string> names_of(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const Machine& machine : cluster.machines) names.push_back(machine.name);
  return names;
}

std::unordered_map<std::string, MachineId> by_name(const Cluster& cluster) {
  std::unordered_map<std::string, MachineId> ids;
  for (std::uint32_t m = 0; m < cluster.machines.size(); ++m)
    ids.emplace(cluster.machines[m].name, MachineId{m});
  return ids;
}

constexpr MachineId kNowhere{std::numeric_limits<std::uint32_t>::max()};

/// Where the machines of these names are in a cluster. One that has another
/// name now, which none had before, is the same: a host that was renamed.
std::vector<MachineId> find_again(const std::vector<std::string>& before, const Cluster& now) {
  const auto ids = by_name(now);
  const std::set<std::string> known(before.begin(), before.end());
  std::vector<MachineId> found;
  for (std::uint32_t m = 0; m < before.size(); ++m) {
    const auto same = ids.find(before[m]);
    const bool is_renamed =
        same == ids.end() && m < now.machines.size() && !known.contains(now.machines[m].name);
    found.push_back(same != ids.end() ? same->second : is_renamed ? MachineId{m} : kNowhere);
  }
  return found;
}

const std::string& kind_of(const Machine& machine, const Cluster& cluster) {
  return cluster.kinds[index(machine.kind)];
}

void append_machine(const Machine& was, const std::string& kind, Cluster& cluster) {
  cluster.add_rack(0);
  if (cluster.add_machines(1, was, kind)) cluster.machines.back().name = was.name;
}

/// True if nothing but its GPUs is less or other than it was.
bool holds_as_much(const Machine& then, const Machine& was) {
  return was.capacity.milli_cpus <= then.capacity.milli_cpus &&
         was.capacity.memory_mib <= then.capacity.memory_mib;
}

void restore_machine(const Machine& was, const std::string& kind, Machine& then, Cluster& cluster) {
  then.capacity.milli_cpus = std::max(was.capacity.milli_cpus, then.capacity.milli_cpus);
  then.capacity.memory_mib = std::max(was.capacity.memory_mib, then.capacity.memory_mib);
  then.kind = KindId{static_cast<std::uint16_t>(cluster.kinds.add(kind))};
}

std::vector<std::string> gpu_names(const Machine& machine) {
  std::vector<std::string> names;
  for (std::int32_t gpu = 0; gpu < machine.capacity.gpus; ++gpu)
    names.push_back(gpu_name(machine, gpu));
  return names;
}

/// Calls `visit(machine, name)` for each GPU of a room, on machines that the cluster has.
template <class Visit>
void each_gpu(const KeptRoom& room, const Cluster& cluster, Visit visit) {
  for (std::size_t i = 0; i < room.gpus.size(); ++i) {
    const MachineId machine = room.placement[i].machine;
    if (index(machine) >= cluster.machines.size()) continue;
    for (const std::string& name : room.gpus[i]) visit(machine, name);
  }
}

Happening happening(MachineReport::State state) {
  switch (state) {
    case MachineReport::State::up:
      return Happening::machine_up;
    case MachineReport::State::closed:
      return Happening::machine_closed;
    default:
      return Happening::machine_down;
  }
}

}  // namespace

// --- Whether they take jobs ----------------------------------------------------------------------

void Machines::hear(const MachineReport& report) {
  const auto machine = find_machine(*state_.cluster, report.machine);
  if (!machine && !find_machine(state_.engine.cluster(), report.machine))
    state_.system.log().write(
        LogLevel::warning,
        fmt::format("the engine reports of a machine {} that its cluster does not have",
                    quoted(report.machine)));
  MachineStatus& status = state_.machines[report.machine];  // it may be one that is to come
  if (status.reported == report.state && status.why == report.why) return;
  const bool is_news = status.reported != report.state;
  status.reported = report.state;
  status.why = report.why;
  if (machine) state_.update_machine(*machine);
  if (!is_news) return;
  json details{{"machine", report.machine}};
  if (!report.why.empty()) details["why"] = report.why;
  state_.happened.push_back(state_.event_of(happening(report.state), details));
  if (report.state != MachineReport::State::down || !machine) return;
  const std::span<const JobId> there = state_.yard.yard().jobs_on(*machine);
  for (const JobId job : std::vector<JobId>(there.begin(), there.end()))
    runs_.break_up(state_.yard.number(job), fmt::format("machine {} is down", report.machine));
}

void Machines::open_or_close(const std::string& name, bool open) {
  const auto machine = find_machine(*state_.cluster, name);
  if (!machine || state_.machines[name].closed == !open) return;
  state_.machines[name].closed = !open;
  state_.update_machine(*machine);
}

void Machines::recall_closed(const std::set<std::string>& known) {
  for (const Machine& machine : state_.cluster->machines) {
    if (known.contains(machine.name)) continue;
    const auto said = state_.journal.setting("machine/" + machine.name);
    if (said == "closed" || said == "drained")  // as format 2 of the journal called it
      state_.machines[machine.name].closed = true;
  }
}

/// Why it takes no jobs, where that is not what an operator said.
std::string Machines::reason(const MachineStatus& status) {
  if (status.is_kept) return "it changes when what runs there has left";
  if (status.has_old_run) return "a run there has to end, or to have its place, first";
  return status.why;
}

MachineView Machines::view(MachineId id) const {
  const Machine& machine = state_.cluster->machine(id);
  const MachineStatus& status = state_.status(id);
  const Yard& yard = state_.yard.yard();
  const bool is_down = status.reported == MachineReport::State::down;
  MachineView view{machine.name,
                   kind_of(machine, *state_.cluster),
                   is_down                 ? "down"
                   : state_.takes_jobs(id) ? "up"
                                           : "closed",
                   machine.capacity,
                   yard.free().on(id),
                   std::vector<JobNumber>(static_cast<std::size_t>(machine.capacity.gpus)),
                   reason(status),
                   machine.gpu_names};
  std::map<uid_t, int> jobs_by_user;
  for (const JobId job : yard.jobs_on(id)) {
    ++jobs_by_user[state_.book.at(state_.yard.number(job)).owner.uid];
    const Placement& placement = yard.placement(job);
    for (std::size_t i = 0; i < placement.size(); ++i)
      if (placement[i].machine == id)
        for (const std::int32_t gpu : yard.gpus(job, i))
          view.by_gpu[static_cast<std::size_t>(gpu)] = state_.yard.number(job);
  }
  for (const JobNumber number : state_.yard.senders_on(id)) {
    const JobRecord& job = state_.book.at(number);
    const uid_t user = job.owner.uid;
    view.flows.push_back({job.run(), state_.yard.flow(number), job.born_as,
                          jobs_by_user[user] == 1 ? std::optional(user) : std::nullopt});
  }
  return view;
}

// --- Other machines ------------------------------------------------------------------------------

void Machines::hear(const ClusterReport& /*report*/) {
  if (auto ok = check_cluster(state_.engine.cluster()); !ok)
    return state_.system.log().write(
        LogLevel::error, fmt::format("the engine has another cluster, which cannot be used: {}",
                                     ok.error().message));
  next_ = state_.engine.cluster();
  take_over_cluster();
  if (next_)
    state_.system.log().write(
        LogLevel::warning,
        "the engine has another cluster: machines that have less memory or CPUs, are of another "
        "kind or are gone stay as they were until their jobs have left, and GPUs that are gone "
        "until their runs have ended");
}

void Machines::settle() {
  if (next_ && has_left()) take_over_cluster();
  break_up_where_gpus_are_gone();
}

/// True when something that is kept for its jobs has none any more.
bool Machines::has_left() const {
  const bool has_left_machine = std::ranges::any_of(state_.machines, [&](const auto& machine) {
    if (!machine.second.is_kept) return false;
    const auto id = find_machine(*state_.cluster, machine.first);
    return id && !is_in_use(*id);
  });
  auto left = gone_;
  for (const JobNumber number : state_.book.holding())
    each_gpu(state_.book.at(number).life.room, *state_.cluster,
             [&](MachineId machine, const std::string& gpu) {
               const auto found = left.find(state_.cluster->machine(machine).name);
               if (found != left.end()) found->second.erase(gpu);
             });
  return has_left_machine ||
         std::ranges::any_of(left, [](const auto& machine) { return !machine.second.empty(); });
}

/// After all that was reported at once: a run that had ended by then was not broken.
void Machines::break_up_where_gpus_are_gone() {
  if (gone_.empty()) return;
  for (const JobNumber number : std::set<JobNumber>(state_.book.holding())) {
    std::string why;
    each_gpu(state_.book.at(number).life.room, *state_.cluster,
             [&](MachineId id, const std::string& gpu) {
               const std::string& machine = state_.cluster->machine(id).name;
               const auto gone = gone_.find(machine);
               if (gone != gone_.end() && gone->second.contains(gpu))
                 why = fmt::format("GPU {} of machine {} is gone", gpu, machine);
             });
    if (!why.empty()) runs_.break_up(number, why);
  }
}

bool Machines::is_in_use(MachineId machine) const {
  return !state_.yard.yard().jobs_on(machine).empty() || state_.status(machine).has_old_run;
}

void Machines::take_over_cluster() {
  runs_.take_orders();  // of the yard that ends now
  state_.update_book();
  give_up_rooms();
  auto next = std::make_shared<Cluster>(*next_);
  const bool keeps = keep_what_is_in_use(*next);
  const std::vector<std::string> before = names_of(*state_.cluster);
  move_jobs(before, *next);
  keep_gone_gpus(*next);
  if (gone_.empty() && !keeps) next_.reset();
  state_.cluster = std::move(next);
  if (names_of(*state_.cluster) != before)
    state_.settings.emplace_back("machines", json(names_of(*state_.cluster)).dump());
  recall_closed({before.begin(), before.end()});
  state_.happened.push_back(
      state_.event_of(Happening::cluster_changed, {{"cluster", describe(*state_.cluster)}}));
  if (auto ok = begin_yard(); !ok) throw std::logic_error(ok.error().message);
  for (const JobNumber number : state_.book.numbers()) {
    const JobRecord& job = state_.book.at(number);
    if (job.old_run != OldRun::none && !job.runs_outside) runs_.stop_later(number);
  }
  admit_what_fits();
}

/// A machine that has less memory or CPUs than before, or is of another kind, has what it had until
/// its jobs have left, and takes no others meanwhile. One that is gone stands behind all others: so
/// machines have the same ids here as the engine gives them.
bool Machines::keep_what_is_in_use(Cluster& next) {
  const Cluster& now = *state_.cluster;
  const auto ids = by_name(next);
  bool keeps = false;
  for (auto& [name, status] : state_.machines) status.is_kept = false;
  for (std::uint32_t m = 0; m < now.machines.size(); ++m) {
    if (!is_in_use(MachineId{m})) continue;
    const Machine& was = now.machines[m];
    const std::string& kind = kind_of(was, now);
    const auto found = ids.find(was.name);
    if (found == ids.end()) {
      append_machine(was, kind, next);
    } else {
      Machine& then = next.machines[index(found->second)];
      if (holds_as_much(then, was) && kind_of(then, next) == kind) continue;
      restore_machine(was, kind, then, next);
    }
    state_.machines[was.name].is_kept = keeps = true;
  }
  return keeps;
}

/// Adds the GPUs that runs hold and that the cluster does not have. They stand behind all others of
/// their machine: so GPUs have the same numbers here as the engine gives them.
void Machines::keep_gone_gpus(Cluster& next) {
  gone_.clear();
  for (const JobNumber number : state_.book.holding())
    each_gpu(state_.book.at(number).life.room, next, [&](MachineId id, const std::string& gpu) {
      const Machine& machine = next.machine(id);
      if (!find_gpu(machine, gpu)) gone_[machine.name].insert(gpu);
    });
  for (const auto& [machine, gpus] : gone_) {
    const MachineId id = find_machine(next, machine).value();
    std::vector<std::string> names = gpu_names(next.machine(id));
    names.insert(names.end(), gpus.begin(), gpus.end());
    next.set_gpus(id, std::move(names));
  }
}

void Machines::move_jobs(const std::vector<std::string>& before, const Cluster& next) {
  const std::vector<MachineId> now = find_again(before, next);
  const auto moved = [&](MachineId machine) {
    return index(machine) < now.size() ? now[index(machine)] : machine;
  };
  for (const JobNumber number : state_.book.numbers()) {
    for (const auto room : {&JobLife::room, &JobLife::next}) {
      const bool moves = std::ranges::any_of(
          (state_.book.at(number).life.*room).placement,
          [&](const Share& share) { return moved(share.machine) != share.machine; });
      if (!moves) continue;
      for (Share& share : (state_.book.edit(number).life.*room).placement)
        share.machine = moved(share.machine);
    }
  }
}

Expected<void> Machines::recall() {
  const std::vector<std::string> names = names_of(*state_.cluster);
  const std::string now = json(names).dump();
  const auto before = state_.journal.setting("machines");
  const json told = json::parse(before.value_or("[]"), nullptr, false);
  if (before != now && told.is_array() &&
      std::ranges::all_of(told, [](const json& n) { return n.is_string(); }))
    move_jobs(told.get<std::vector<std::string>>(), *state_.cluster);
  auto cluster = std::make_shared<Cluster>(*state_.cluster);
  keep_gone_gpus(*cluster);
  if (!gone_.empty()) next_ = state_.engine.cluster();
  state_.cluster = std::move(cluster);
  if (before == now) return {};
  JournalChange change;
  change.settings.emplace_back("machines", now);
  for (const JobNumber number : state_.book.changed())
    change.changed.push_back(&state_.book.at(number));
  return state_.journal.commit(change);
}

// --- The yard, begun anew ------------------------------------------------------------------------

Expected<void> Machines::begin_yard() {
  const auto spec = parse(state_.policy);
  if (!spec) return tl::make_unexpected(spec.error());
  hold_what_does_not_fit();
  if (state_.begin_yard(*spec)) return {};
  give_up_rooms();
  leave_overfull_machines();
  hold_what_does_not_fit();
  if (state_.begin_yard(*spec)) return {};
  leave_all();
  hold_what_does_not_fit();
  return state_.begin_yard(*spec);
}

Resources Machines::held_by_worker(const JobRecord& job, std::size_t share) const {
  const KeptRoom& room = job.life.room;
  if (!room.each.empty()) return room.each[share];
  if (job.granted != Resources{}) return job.granted;
  return share_on(job.spec, state_.cluster->machine(room.placement[share].machine));
}

/// Where a machine is gone, or has less than its runs hold, runs have to end: those for which there
/// is no room beside the jobs before them.
void Machines::leave_overfull_machines() {
  std::map<MachineId, Resources> held;
  for (const JobNumber number : std::set<JobNumber>(state_.book.holding())) {
    const JobRecord& job = state_.book.at(number);
    auto with_it = held;
    bool fits = true;
    const Placement& placement = job.life.room.placement;
    for (std::size_t i = 0; i < placement.size() && fits; ++i) {
      const auto& [machine, workers] = placement[i];
      fits = index(machine) < state_.cluster->machines.size();
      if (!fits) break;
      with_it[machine] += held_by_worker(job, i) * workers;
      fits = with_it[machine].fits_in(state_.cluster->machine(machine).capacity);
    }
    if (fits)
      held = std::move(with_it);
    else
      leave(number);
  }
}

void Machines::leave_all() {
  for (const JobNumber number : state_.book.numbers()) leave(number);
}

void Machines::leave(JobNumber number) {
  const JobLife was = state_.book.at(number).life;
  const bool runs = holds_gpus(was.state.phase);
  if (!runs && was.state.phase != Phase::reserved) return;
  JobLife life;
  life.state = was.state;
  life.state.phase = runs ? Phase::absent : Phase::queued;
  if (runs) {
    life.room = {was.room.placement, was.room.gpus, {}, {}};
    state_.book.edit(number).old_run =
        was.state.phase == Phase::draining ? OldRun::leaving : OldRun::running;
  }
  state_.book.set_life(number, std::move(life));
}

/// Jobs whose room is being made queue again; those that make it leave for nobody.
void Machines::give_up_rooms() {
  for (const JobNumber number : state_.book.numbers()) {
    const JobRecord& job = state_.book.at(number);
    JobLife life = job.life;
    if (job.phase() == Phase::reserved) {
      life = {};
      life.state = job.life.state;
      life.state.phase = Phase::queued;
      life.estimate = job.life.estimate;
      life.yielded_to = job.life.yielded_to;
    } else if (life.room_for != 0 || life.lead != 0) {
      life.room_for = life.lead = 0;
      life.next = {};
    } else {
      continue;
    }
    (void)state_.book.edit(number);
    state_.book.set_life(number, std::move(life));
  }
}

/// On smaller machines they would keep others from starting. Larger ones take them up again.
void Machines::hold_what_does_not_fit() {
  for (const JobNumber number : state_.book.numbers()) {
    const JobRecord& job = state_.book.at(number);
    if (job.phase() != Phase::queued || misfit(job.spec, *state_.cluster).empty()) continue;
    state_.book.edit(number).life.state.phase = Phase::absent;
  }
}

void Machines::admit_what_fits() {
  for (const JobNumber number : state_.book.numbers()) {
    const JobRecord& job = state_.book.at(number);
    const bool waits = job.old_run != OldRun::none || state_.resting.contains(number) ||
                       state_.book.dependencies().waits(number);
    if (job.is_held() && !waits) (void)gate_.admit(number);  // unreadable now: it stays held
  }
}

}  // namespace trainyard
