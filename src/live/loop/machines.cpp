#include "live/loop/machines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>

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

/// Where the machines of these names are in a cluster; past its end: nowhere. One that has another
/// name now, which none had before, is the same: a host that was renamed.
std::vector<MachineId> find_again(const std::vector<std::string>& before, const Cluster& now) {
  const auto ids = by_name(now);
  const std::set<std::string> known(before.begin(), before.end());
  std::vector<MachineId> found;
  for (std::uint32_t m = 0; m < before.size(); ++m) {
    const auto same = ids.find(before[m]);
    const bool is_renamed =
        same == ids.end() && m < now.machines.size() && !known.contains(now.machines[m].name);
    const auto nowhere = static_cast<std::uint32_t>(now.machines.size());
    found.push_back(same != ids.end() ? same->second : MachineId{is_renamed ? m : nowhere});
  }
  return found;
}

const std::string& kind_of(const Machine& machine, const Cluster& cluster) {
  return cluster.kinds[index(machine.kind)];
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
  if (!machine)
    return state_.system.log().write(
        LogLevel::warning,
        fmt::format("the engine reports of a machine {} that its cluster does not have",
                    quoted(report.machine)));
  MachineStatus& status = state_.machines[report.machine];
  if (status.reported == report.state && status.why == report.why) return;
  const bool is_news = status.reported != report.state;
  status.reported = report.state;
  status.why = report.why;
  show_change(*machine);
  if (!is_news) return;
  json details{{"machine", report.machine}};
  if (!report.why.empty()) details["why"] = report.why;
  state_.happened.push_back(state_.event_of(happening(report.state), details));
  if (report.state != MachineReport::State::down) return;
  const std::span<const JobId> there = state_.yard.yard().jobs_on(*machine);
  for (const JobId job : std::vector<JobId>(there.begin(), there.end()))
    runs_.break_up(state_.yard.number(job), fmt::format("machine {} is down", report.machine));
}

void Machines::open_or_close(const std::string& name, bool open) {
  const auto machine = find_machine(*state_.cluster, name);
  if (!machine || state_.machines[name].closed == !open) return;
  state_.machines[name].closed = !open;
  show_change(*machine);
}

void Machines::show_change(MachineId machine) {
  const EventKind kind =
      state_.takes_jobs(machine) ? EventKind::machine_up : EventKind::machine_closed;
  (void)state_.yard.apply(kind, machine, state_.now());  // it may be so already
  state_.touched.insert(machine);
  state_.update_book();
  state_.decisions.is_due = true;
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
                   status.shrinks ? "it gets smaller when what runs there has left" : status.why};
  for (const JobId job : yard.jobs_on(id)) {
    const Placement& placement = yard.placement(job);
    for (std::size_t i = 0; i < placement.size(); ++i)
      if (placement[i].machine == id)
        for (const std::int32_t gpu : yard.gpus(job, i))
          view.by_gpu[static_cast<std::size_t>(gpu)] = state_.yard.number(job);
  }
  return view;
}

// --- Other machines ------------------------------------------------------------------------------

void Machines::hear(const ClusterReport& /*report*/) {
  has_new_cluster_ = true;
  settle();
  if (!has_new_cluster_) return;
  const char* until = may_take_over(state_.engine.cluster())
                          ? "machines that get smaller keep their size until their jobs have left"
                          : "it lacks machines on which jobs run, and is taken over when they left";
  state_.system.log().write(LogLevel::warning,
                            fmt::format("the engine has another cluster: {}", until));
}

void Machines::settle() {
  if (!has_new_cluster_) return;
  const bool has_left = std::ranges::any_of(state_.machines, [&](const auto& machine) {
    if (!machine.second.shrinks) return false;
    const auto id = find_machine(*state_.cluster, machine.first);
    return id && state_.yard.yard().jobs_on(*id).empty();
  });
  const bool is_waiting = std::ranges::any_of(
      state_.machines, [](const auto& machine) { return machine.second.shrinks; });
  if (is_waiting && !has_left) return;
  if (may_take_over(state_.engine.cluster())) take_over_cluster();
}

/// A machine with jobs on it is there in the new cluster, and of the same kind: an engine that has
/// it otherwise gets its way when they have left.
bool Machines::may_take_over(const Cluster& next) const {
  const Cluster& now = *state_.cluster;
  const auto ids = by_name(next);
  for (std::uint32_t m = 0; m < now.machines.size(); ++m) {
    if (state_.yard.yard().jobs_on(MachineId{m}).empty()) continue;
    const auto found = ids.find(now.machines[m].name);
    if (found == ids.end() ||
        kind_of(next.machine(found->second), next) != kind_of(now.machines[m], now))
      return false;
  }
  return true;
}

void Machines::take_over_cluster() {
  runs_.take_orders();  // of the yard that ends now
  give_up_rooms();
  auto next = std::make_shared<Cluster>(state_.engine.cluster());
  has_new_cluster_ = false;
  keep_sizes_in_use(*next);
  const std::vector<std::string> before = names_of(*state_.cluster);
  move_jobs(before, *next);
  state_.cluster = std::move(next);
  if (names_of(*state_.cluster) != before)
    state_.settings.emplace_back("machines", json(names_of(*state_.cluster)).dump());
  state_.happened.push_back(
      state_.event_of(Happening::cluster_changed, {{"cluster", describe(*state_.cluster)}}));
  if (auto ok = begin_yard(); !ok) throw std::logic_error(ok.error().message);
  for (const JobNumber number : state_.book.numbers())
    if (state_.book.at(number).old_run != OldRun::none) runs_.stop_later(number);
  admit_what_fits();
}

/// A machine that gets smaller under its jobs keeps its size until they have left, and takes no
/// others meanwhile.
void Machines::keep_sizes_in_use(Cluster& next) {
  const Cluster& now = *state_.cluster;
  const auto ids = by_name(next);
  for (auto& [name, status] : state_.machines) status.shrinks = false;
  for (std::uint32_t m = 0; m < now.machines.size(); ++m) {
    if (state_.yard.yard().jobs_on(MachineId{m}).empty()) continue;
    Machine& then = next.machines[index(ids.at(now.machines[m].name))];
    const Resources& held = now.machines[m].capacity;
    if (held.fits_in(then.capacity)) continue;
    next.total_gpus += held.gpus - then.capacity.gpus;
    next.largest_machine_gpus = std::max(next.largest_machine_gpus, held.gpus);
    then.capacity = held;
    state_.machines[then.name].shrinks = true;
    has_new_cluster_ = true;
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
  if (before == now) return {};
  const json told = json::parse(before.value_or("[]"), nullptr, false);
  if (told.is_array() && std::ranges::all_of(told, [](const json& n) { return n.is_string(); }))
    move_jobs(told.get<std::vector<std::string>>(), *state_.cluster);
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
  leave_all();
  hold_what_does_not_fit();
  return state_.begin_yard(*spec);
}

void Machines::leave_all() {
  for (const JobNumber number : state_.book.numbers()) {
    const JobState was = state_.book.at(number).life.state;
    const bool runs = holds_gpus(was.phase);
    if (!runs && was.phase != Phase::reserved) continue;
    if (runs)
      state_.book.edit(number).old_run =
          was.phase == Phase::draining ? OldRun::leaving : OldRun::running;
    JobLife life;
    life.state = was;
    life.state.phase = runs ? Phase::absent : Phase::queued;
    state_.book.set_life(number, std::move(life));
  }
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
    if (job.is_held() && !waits) gate_.release(number);
  }
}

}  // namespace trainyard
