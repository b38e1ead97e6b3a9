#include "live/engine/slurm/scripted_slurm.h"

#include <algorithm>
#include <csignal>

#include "live/engine/slurm/mark.h"
#include "live/slurm_setup/hold_script.h"

namespace trainyard {
namespace {

constexpr Duration kStartTakes = microseconds(300'000);
constexpr Duration kSaveEvery = seconds(5), kKillWait = seconds(5);
/// After a restart: then nodes are known, orphans on them are ended, and jobs may start.
constexpr Duration kRegistration = seconds(2);
constexpr Duration kGhostIsSeen = seconds(120);
constexpr Duration kAfterRequeue = seconds(121);
constexpr Duration kMinJobAge = seconds(300);

Time whole_second(Time time) {
  return Time{time.us / seconds(1).us * seconds(1).us};
}

const SlurmFailure kAway{true, "Unable to contact slurm controller"};

}  // namespace

/// Nothing is known here that slurmctld would not tell.
class ScriptedConnection final : public SlurmController {
 public:
  explicit ScriptedConnection(ScriptedSlurm& slurm) : slurm_(slurm) {}

  SlurmAnswer<std::optional<std::vector<SlurmJob>>> jobs() override {
    if (slurm_.is_away_) return tl::make_unexpected(kAway);
    slurm_.catch_up();
    if (std::exchange(jobs_read_, slurm_.version_) == slurm_.version_) return std::nullopt;
    std::vector<SlurmJob> jobs;
    for (const auto& [id, job] : slurm_.jobs_) jobs.push_back(job.job);
    return jobs;
  }
  SlurmAnswer<std::optional<SlurmJob>> job(const std::string& id) override {
    if (slurm_.is_away_) return tl::make_unexpected(kAway);
    return slurm_.job(id);
  }
  SlurmAnswer<std::optional<std::vector<SlurmNode>>> nodes() override {
    if (slurm_.is_away_) return tl::make_unexpected(kAway);
    return slurm_.nodes_;
  }
  SlurmAnswer<void> update(const SlurmUpdate& update) override {
    return act(update.id, [&slurm = slurm_, update](ScriptedSlurm::Job& job) -> std::string {
      if (update.mark) job.job.mark = *update.mark;
      if (update.hold == SlurmUpdate::Hold::as_it_is && !update.nodes) return "";
      if (job.job.state != SlurmState::pending) return "Job is no longer pending execution";
      if (update.hold != SlurmUpdate::Hold::as_it_is)
        job.job.is_held = update.hold == SlurmUpdate::Hold::hold;
      if (update.nodes) {
        job.pinned = {update.nodes->begin(), update.nodes->end()};
        job.job.request.nodes_wanted = fmt::format("{}", fmt::join(*update.nodes, ","));
        if (!job.job.is_completing) job.job.eligible = slurm.clock_.wall_clock();
      }
      job.ready = slurm.clock_.wall_clock() + kStartTakes;
      return "";
    });
  }
  SlurmAnswer<void> requeue_held(const std::string& id) override {
    return act(id, [&slurm = slurm_](ScriptedSlurm::Job& job) -> std::string {
      if (job.job.state == SlurmState::pending) return "Job is pending execution";
      if (!job.job.may_requeue) return "Requested operation is presently disabled";
      return slurm.requeue(job, true), "";
    });
  }
  SlurmAnswer<void> signal(const std::string& id, int number, SlurmTarget) override {
    return act(id, [&slurm = slurm_, number](ScriptedSlurm::Job& job) -> std::string {
      if (job.job.state != SlurmState::running) return "Job/step already completing or completed";
      if (number == SIGCONT || !job.script.leaves_after) return "";
      job.leaves = std::min(job.leaves, slurm.clock_.wall_clock() + *job.script.leaves_after);
      return "";
    });
  }
  SlurmAnswer<void> cancel(const std::string& id) override {
    return act(id, [&slurm = slurm_](ScriptedSlurm::Job& job) -> std::string {
      if (has_ended(job.job.state)) return "Job/step already completing or completed";
      return slurm.end(job, SlurmState::cancelled, slurm.clock_.wall_clock(), 0), "";
    });
  }
  SlurmAnswer<std::string> submit(const SlurmSubmission& wanted) override {
    if (slurm_.is_away_) return tl::make_unexpected(kAway);
    const auto mark = parse_mark(wanted.comment);
    const MemoryScript script = mark ? slurm_.scripts_[mark->job] : MemoryScript{};
    if (!script.refused.empty()) return tl::make_unexpected(SlurmFailure{false, script.refused});
    ++slurm_.acts_;
    const std::string id =
        slurm_.sbatch(wanted.nodes, wanted.gpus_per_node, script, wanted.comment);
    slurm_.at(id).job.owner = wanted.owner;
    if (std::exchange(slurm_.loses_answer_, false)) return tl::make_unexpected(kAway);
    return id;
  }

 private:
  template <class How>
  SlurmAnswer<void> act(const std::string& id, How how) {
    if (slurm_.is_away_) return tl::make_unexpected(kAway);
    if (const auto delayed = std::exchange(slurm_.delayed_, nullptr)) delayed();
    if (std::exchange(slurm_.delays_act_, false)) {
      slurm_.delayed_ = [&slurm = slurm_, id, how] { (void)take_effect(slurm, id, how); };
      return tl::make_unexpected(kAway);
    }
    const std::string problem = take_effect(slurm_, id, how);
    if (std::exchange(slurm_.loses_answer_, false)) return tl::make_unexpected(kAway);
    if (!problem.empty()) return tl::make_unexpected(SlurmFailure{false, problem});
    return {};
  }

  /// What Slurm has against it; empty: nothing.
  template <class How>
  static std::string take_effect(ScriptedSlurm& slurm, const std::string& id, How how) {
    slurm.catch_up();
    const auto found = slurm.jobs_.find(id);
    if (found == slurm.jobs_.end()) return "Invalid job id specified";
    ++slurm.acts_;
    const std::string problem = how(found->second);
    slurm.touch();
    return problem;
  }

  ScriptedSlurm& slurm_;
  std::uint64_t jobs_read_ = 0;
};

ScriptedSlurm::ScriptedSlurm(const System& clock, std::int32_t nodes, std::int32_t gpus)
    : clock_(clock), last_save_(clock.wall_clock()) {
  for (std::int32_t node = 0; node < nodes; ++node)
    nodes_.push_back({fmt::format("n{}", node),
                      fmt::format("rack{}", node / 4),
                      MachineReport::State::up,
                      "",
                      "V100",
                      {gpus, 16'000 * gpus, 64'000 * gpus}});
}

std::unique_ptr<SlurmController> ScriptedSlurm::connect() {
  return std::make_unique<ScriptedConnection>(*this);
}

// --- What users and operators do -----------------------------------------------------------------

std::string ScriptedSlurm::sbatch(std::int32_t nodes, std::int32_t gpus_per_node,
                                  MemoryScript script, const std::string& comment) {
  catch_up();
  Job made;
  made.job.id = std::to_string(next_id_++);
  made.job.name = "job" + made.job.id;
  made.job.partition = "train";
  made.job.comment = comment;
  made.job.is_held = true;
  made.job.submitted = whole_second(clock_.wall_clock());
  made.job.request.nodes = nodes;
  made.job.request.per_node.count = gpus_per_node;
  made.job.request.memory_mib = 100;
  made.job.mark = kHeldMark;
  made.job.output = "/home/ada/slurm-" + made.job.id + ".out";
  made.script = std::move(script);
  made.serial = next_serial_++;
  touch();
  return jobs_.insert_or_assign(made.job.id, std::move(made)).first->first;
}

void ScriptedSlurm::scancel(const std::string& id) {
  catch_up();
  if (!has_ended(at(id).job.state)) end(at(id), SlurmState::cancelled, clock_.wall_clock(), 0);
  touch();
}

void ScriptedSlurm::scontrol_requeue(const std::string& id) {
  catch_up();
  requeue(at(id), false);
  touch();
}

void ScriptedSlurm::scontrol_release(const std::string& id) {
  catch_up();
  at(id).job.is_held = false;
  at(id).ready = clock_.wall_clock() + kStartTakes;
  touch();
}

void ScriptedSlurm::change(const std::string& id, const std::function<void(SlurmJob&)>& how) {
  catch_up();
  how(at(id).job);
  touch();
}

void ScriptedSlurm::set_node(const std::string& name, MachineReport::State state) {
  catch_up();
  const auto node = std::ranges::find(nodes_, name, &SlurmNode::name);
  node->state = state;
  node->why = state == MachineReport::State::up ? "" : "set by an operator";
  if (state != MachineReport::State::down) return;
  for (auto& [id, job] : jobs_)
    if (job.job.state == SlurmState::running &&
        std::ranges::find(job.job.places, name, &SlurmPlace::node) != job.job.places.end())
      end(job, SlurmState::node_fail, clock_.wall_clock(), 0);
  touch();
}

// --- What goes wrong -----------------------------------------------------------------------------

void ScriptedSlurm::kill() {
  catch_up();
  is_away_ = true;
  for (auto& [id, job] : saved_) {
    const auto now = jobs_.find(id);
    const bool was_over = now != jobs_.end() && now->second.serial == job.serial &&
                          (now->second.job.state != SlurmState::running ||
                           now->second.job.restarts > job.job.restarts);
    if (job.job.state == SlurmState::running && was_over) job.is_ghost = true;
  }
  delayed_ = nullptr;
  jobs_ = saved_;
  next_id_ = saved_id_;
  touch();
}

void ScriptedSlurm::restart() {
  is_away_ = false;
  back_since_ = clock_.wall_clock();
  touch();
  catch_up();
}

void ScriptedSlurm::save() {
  last_save_ = clock_.wall_clock();
  saved_ = jobs_;
  saved_id_ = next_id_;
}

// --- What happens --------------------------------------------------------------------------------

std::optional<SlurmJob> ScriptedSlurm::job(const std::string& id) {
  catch_up();
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? std::nullopt : std::optional(found->second.job);
}

std::uint64_t ScriptedSlurm::serial(const std::string& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? 0 : found->second.serial;
}

ScriptedSlurm::Begun ScriptedSlurm::begun_by(std::uint64_t serial) const {
  const auto known = begun_.find(serial);
  return known == begun_.end() ? Begun{} : known->second;
}

void ScriptedSlurm::catch_up() {
  const Time now = clock_.wall_clock();
  std::erase_if(processes_, [&](const auto& entry) {
    return entry.second.ends <= now || entry.second.told_to_end <= now;
  });
  if (is_away_) return;
  if (now - last_save_ >= kSaveEvery) save();
  for (auto& [number, process] : processes_) {
    const bool is_known = std::ranges::any_of(jobs_, [&, serial = number](const auto& entry) {
      return entry.second.serial == serial &&
             (entry.second.job.state == SlurmState::running || entry.second.job.is_completing);
    });
    if (!is_known && now - back_since_ >= kRegistration) process.told_to_end = now;
  }
  std::erase_if(processes_, [&](const auto& entry) { return entry.second.told_to_end <= now; });
  for (auto& [id, job] : jobs_)
    while (step(job, now)) touch();
  const auto is_old = [&](const auto& entry) {
    return has_ended(entry.second.job.state) && now - entry.second.job.ended > kMinJobAge;
  };
  if (std::erase_if(jobs_, is_old) > 0) touch();
}

bool ScriptedSlurm::step(Job& job, Time now) {
  SlurmJob& seen = job.job;
  const auto process = processes_.find(job.serial);
  if (seen.is_completing) {
    if (process != processes_.end()) return false;
    seen.is_completing = false;
    if (!job.is_requeued) return true;
    job.is_requeued = false;
    seen.places.clear();
    seen.submitted = whole_second(now);
    seen.eligible = whole_second(now) + kAfterRequeue;
    seen.is_held = job.holds_then;
    return true;
  }
  job.is_ghost = job.is_ghost && seen.state == SlurmState::running;
  if (seen.state == SlurmState::running && job.leaves <= now && process != processes_.end()) {
    processes_.erase(process);
    begun_[job.serial].left_when_told = true;
    end(job, job.script.exit_when_told == 0 ? SlurmState::completed : SlurmState::failed,
        job.leaves, job.script.exit_when_told);
    return true;
  }
  if (job.is_ghost && seen.state == SlurmState::running) {
    if (now - back_since_ < kGhostIsSeen) return false;
    requeue(job, false);
    return true;
  }
  if (seen.state == SlurmState::running && process == processes_.end()) {
    const bool asks = job.script.asks_requeue && seen.restarts == 0;
    if (asks)
      requeue(job, false);
    else
      end(job, job.script.exit_status == 0 ? SlurmState::completed : SlurmState::failed, now,
          job.script.exit_status);
    return true;
  }
  if (seen.state != SlurmState::pending || seen.is_held || job.ready > now || seen.eligible > now)
    return false;
  if (now - back_since_ < kRegistration) return false;
  try_to_start(job, now);
  return seen.state == SlurmState::running;
}

std::optional<std::vector<SlurmPlace>> ScriptedSlurm::room_for(const Job& job) const {
  std::map<std::string, std::set<std::int32_t>> used;
  for (const auto& [id, other] : jobs_)
    if (other.job.state == SlurmState::running || other.job.is_completing)
      for (const SlurmPlace& place : other.job.places)
        used[place.node].insert(place.gpus.begin(), place.gpus.end());
  std::vector<SlurmPlace> places;
  for (const SlurmNode& node : nodes_) {
    if (std::ssize(places) == job.job.request.nodes) break;
    if (!job.pinned.empty() && !job.pinned.contains(node.name)) continue;
    if (node.state != MachineReport::State::up) continue;
    SlurmPlace place{node.name, {}};
    for (std::int32_t gpu = node.capacity.gpus - 1; gpu >= 0; --gpu)
      if (std::ssize(place.gpus) < job.job.request.per_node.count && !used[node.name].contains(gpu))
        place.gpus.insert(place.gpus.begin(), gpu);
    if (std::ssize(place.gpus) == job.job.request.per_node.count) places.push_back(place);
  }
  if (std::ssize(places) != job.job.request.nodes) return std::nullopt;
  return places;
}

void ScriptedSlurm::try_to_start(Job& job, Time now) {
  const auto places = room_for(job);
  if (!places) return;
  SlurmJob& seen = job.job;
  if (seen.restarts > 0 && whole_second(now) <= seen.submitted)
    faults_.push_back(
        fmt::format("job {} starts in the second in which it left: slurmd refuses that", seen.id));
  seen.state = SlurmState::running;
  seen.started = whole_second(now);
  seen.places = *places;
  job.leaves = Time::never();
  Begun& begun = begun_[job.serial];
  if (begun.times > static_cast<int>(seen.restarts)) ++begun.repeats;
  ++begun.times;
  begun.left_when_told = false;
  for (const auto& [serial, process] : processes_) {
    if (serial == job.serial) continue;  // Slurm itself repeats what it has forgotten
    for (const SlurmPlace& theirs : process.places)
      for (const SlurmPlace& ours : seen.places)
        for (const std::int32_t gpu : ours.gpus)
          if (theirs.node == ours.node && std::ranges::find(theirs.gpus, gpu) != theirs.gpus.end())
            faults_.push_back(fmt::format("job {} began on GPU {} of {}, where a process lives",
                                          seen.id, gpu, ours.node));
  }
  processes_[job.serial] = {
      .ends = job.script.runs_for ? now + *job.script.runs_for : Time::never(),
      .places = seen.places};
}

void ScriptedSlurm::end(Job& job, SlurmState state, Time at, int status) {
  job.job.state = state;
  job.job.ended = at;
  job.job.exit_status = status;
  job.leaves = Time::never();
  const auto process = processes_.find(job.serial);
  if (process == processes_.end() || job.is_ghost) return;
  job.job.is_completing = true;
  const bool is_gone = state == SlurmState::node_fail;
  process->second.told_to_end =
      is_gone ? at : at + std::min(job.script.leaves_after.value_or(kKillWait), kKillWait);
}

void ScriptedSlurm::requeue(Job& job, bool held) {
  const Time now = clock_.wall_clock();
  const auto process = processes_.find(job.serial);
  if (process != processes_.end())
    process->second.told_to_end =
        now + std::min(job.script.leaves_after.value_or(kKillWait), kKillWait);
  job.job.state = SlurmState::pending;
  job.job.is_completing = job.is_requeued = true;
  job.holds_then = held;
  job.leaves = Time::never();
  ++job.job.restarts;
}

Time ScriptedSlurm::next() {
  const Time now = clock_.wall_clock();
  Time next = Time::never();
  const auto consider = [&](Time at) {
    if (at > now) next = std::min(next, at);
  };
  for (const auto& [serial, process] : processes_)
    consider(process.ends), consider(process.told_to_end);
  for (const auto& [id, job] : jobs_) {
    if (job.job.state == SlurmState::running) consider(job.leaves);
    if (job.job.state == SlurmState::pending && !job.job.is_held)
      consider(job.ready), consider(job.job.eligible);
  }
  return next;
}

}  // namespace trainyard
