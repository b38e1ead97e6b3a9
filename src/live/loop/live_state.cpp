#include "live/loop/live_state.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace trainyard {
namespace {

using nlohmann::json;

/// A yard that remembers fewer is not worth the trouble.
constexpr std::size_t kFewJobs = 4'096;
constexpr const char* kLearnt = "learnt";  // the settings
constexpr const char* kPauseCosts = "pause_costs";

std::string text_of(const json& details) {
  return details.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

LiveEvent LiveState::event_of(const JobRecord& job, Happening kind, const json& details) {
  return {++last_sequence, now(),          std::string(name(kind)),
          job.number,      job.owner.user, text_of(details)};
}

LiveEvent LiveState::event_of(Happening kind, const json& details) {
  return event_of(JobRecord{}, kind, details);
}

void LiveState::note(const JobRecord& job, Happening kind, const json& details) {
  unfold(job.number);
  happened.push_back(event_of(job, kind, details));
  (void)book.edit(job.number);
}

LiveEvent LiveState::submission_of(const JobRecord& job) {
  return event_of(job, Happening::submitted, {{"name", job.spec.name}, {"via", job.owner.via}});
}

void LiveState::unfold(JobNumber task) {
  if (!folded.unfold(task)) return;
  unfolding.insert(task);
  happened.push_back(submission_of(book.edit(task)));
}

void LiveState::unfold_changed() {
  std::vector<JobNumber> tasks;
  for (const JobNumber job : book.changed())
    if (folded.contains(job)) tasks.push_back(job);
  for (const JobNumber task : tasks) unfold(task);
}

void LiveState::stage_unfolding(JobNumber task, JournalChange& change) {
  const JobRecord* record = book.find(task);
  const bool is_staged = std::ranges::find(change.unfolded, record) != change.unfolded.end();
  if (!folded.contains(task) || is_staged) return;
  change.unfolded.push_back(record);
  change.events.push_back(submission_of(*record));
}

Verdict LiveState::tell(EventKind kind, JobNumber job) {
  const Verdict verdict = yard.apply(kind, job, now());
  update_book();
  return verdict;
}

void LiveState::update_book() {
  // Also where its next room was or is being made: what is kept of that is not free.
  const auto touch = [&](const JobLife& life) {
    for (const KeptRoom* room : {&life.room, &life.next})
      for (const Share& share : room->placement) touched.insert(share.machine);
  };
  yard.take_changed([&](JobNumber number, JobLife life) {
    touch(book.at(number).life);
    touch(life);
    book.set_life(number, std::move(life));
  });
}

void LiveState::tell_loaded(JobNumber job, Duration work) {
  if (yard.loaded(job, work, now()) != Verdict::ok) (void)yard.apply(EventKind::loaded, job, now());
  update_book();
  decisions.is_due = true;
}

std::optional<MachineId> find_machine(const Cluster& cluster, std::string_view name) {
  const auto found = std::ranges::find(cluster.machines, name, &Machine::name);
  if (found == cluster.machines.end()) return {};
  return MachineId{static_cast<std::uint32_t>(found - cluster.machines.begin())};
}

const MachineStatus& LiveState::status(MachineId machine) const {
  static const MachineStatus up;
  const auto found = machines.find(cluster->machine(machine).name);
  return found == machines.end() ? up : found->second;
}

bool LiveState::takes_jobs(MachineId machine) const {
  const MachineStatus& is = status(machine);
  const bool is_held = is.closed || is.is_kept || is.has_old_run;
  return !is_held && is.reported == MachineReport::State::up;
}

void LiveState::update_machine(MachineId machine) {
  const EventKind kind = takes_jobs(machine) ? EventKind::machine_up : EventKind::machine_closed;
  (void)yard.apply(kind, machine, now());  // it may be so already
  touched.insert(machine);
  update_book();
  decisions.is_due = true;
}

Expected<void> LiveState::begin_yard(const PolicySpec& spec) {
  std::vector<const JobRecord*> records;
  for (const JobNumber number : book.numbers()) {
    records.push_back(book.find(number));
    const bool runs = records.back()->old_run != OldRun::none;
    if (runs && !records.back()->life.room.placement.empty()) old_runs.insert(number);
  }
  std::set<MachineId> closed;
  touched.clear();  // ids of the cluster as it was
  for (std::uint32_t m = 0; m < cluster->machines.size(); ++m) {
    if (!takes_jobs(MachineId{m})) closed.insert(MachineId{m});
    touched.insert(MachineId{m});
  }
  if (auto ok = yard.begin(cluster, spec, records, closed, now()); !ok) return ok;
  update_book();
  decisions.is_due = true;
  return {};
}

void LiveState::log_idle_stages(const PolicySpec& spec) {
  if (!spec.orders_flows() || yard.flow_terms().carried_out) return;
  system.log().write(
      LogLevel::info,
      fmt::format("flow={} of the policy is idle: no agent carries flow classes out (see trainyard "
                  "flow-agent)",
                  spec.member("flow")));
}

void LiveState::follow_flow_agents() {
  const bool is_carried_out =
      engine.flow_classes() == FlowClasses::carried_out || flow_agents.any(system.steady_clock());
  if (is_carried_out == has_flow_classes || !yard.yard().orders().empty()) return;
  const auto spec = parse(policy);
  if (!spec) return;
  has_flow_classes = is_carried_out;
  yard.set_flow_classes(is_carried_out ? FlowClasses::carried_out : FlowClasses::ignored);
  if (const auto ok = begin_yard(*spec); !ok) throw std::logic_error(ok.error().message);
  if (spec->orders_flows())
    system.log().write(LogLevel::info,
                       is_carried_out
                           ? fmt::format("agents carry flow classes out: flow={} orders the bytes "
                                         "of jobs",
                                         spec->member("flow"))
                           : fmt::format("no agent has asked for flow classes of late: flow={} is "
                                         "idle",
                                         spec->member("flow")));
}

namespace {

/// A clock that is set right by the network is off by less; smaller corrections are slewed.
constexpr Duration kClockIsOff = seconds(10);
/// No clock that is right shows less: 2020.
constexpr Time kPlausible{1'577'836'800'000'000};

void shift_times(JobRecord& job, Duration by) {
  for (Time* time :
       {&job.submitted, &job.eligible, &job.life.state.since, &job.life.state.first_start,
        &job.life.progress.at, &job.load.began, &job.last_pause.at, &job.promise.made,
        &job.promise.drawn.p10, &job.promise.drawn.p50, &job.promise.drawn.p90,
        &job.promise.told.p10, &job.promise.told.p50, &job.promise.told.p90})
    if (*time != Time::never()) *time = *time + by;
}

}  // namespace

Duration LiveState::follow_wall_clock() {
  const bool is_plausible = system.wall_clock() >= kPlausible;
  if (!is_plausible && std::exchange(has_plausible_clock, false))
    system.log().write(LogLevel::error,
                       "the machine's clock shows a year before 2020, which cannot be: times go on "
                       "from the last that is known, and are mended when the clock is set");
  has_plausible_clock = has_plausible_clock || is_plausible;
  const Duration off = clock.off_by();
  if (std::abs(off.us) <= kClockIsOff.us || !yard.yard().orders().empty()) return {};
  if (!is_plausible && now() >= kPlausible) return {};
  const auto spec = parse(policy);
  if (!spec) return {};
  system.log().write(
      LogLevel::warning,
      fmt::format("the machine's clock was set {} by {}: the times of jobs that have not ended "
                  "follow it, and what they have run stays as it is",
                  off.us < 0 ? "back" : "forward", format(Duration{std::abs(off.us)})));
  clock.shift(off);
  for (const JobNumber number : book.numbers()) shift_times(book.edit(number), off);
  for (auto& [number, until] : resting) until = until + off;
  decisions.not_before = decisions.not_before + off;
  settings.emplace_back("clock", clock.kept());
  if (const auto ok = begin_yard(*spec); !ok) throw std::logic_error(ok.error().message);
  return off;
}

void LiveState::forget_ended_jobs() {
  const std::size_t remembered = yard.yard().jobs();
  if (remembered < kFewJobs || remembered < 2 * yard.yard().unfinished()) return;
  if (!yard.yard().orders().empty()) return;  // first they are carried out
  const auto spec = parse(policy);
  if (const auto ok = spec ? begin_yard(*spec) : tl::make_unexpected(spec.error()); !ok)
    throw std::logic_error(ok.error().message);
}

/// A promise is no reason to write the row of a folded task.
void LiveState::take_promises() {
  for (const auto& [number, promise] : promises.take()) {
    const JobRecord* job = book.find(number);
    if (job == nullptr || job->promise.made != Time::never() || folded.contains(number)) continue;
    book.edit(number).promise = promise;
  }
}

void LiveState::keep_learnt() {
  KeptLearnt next{text_of(yard.learnt()), yard.pause_costs().to_json()};
  if (next.learnt != kept->learnt) settings.emplace_back(kLearnt, next.learnt);
  if (next.costs != kept->costs) settings.emplace_back(kPauseCosts, next.costs);
  kept = std::make_shared<KeptLearnt>(std::move(next));
}

void LiveState::recall_pause_costs() {
  const auto known = journal.setting(kPauseCosts);
  if (!known) return;
  MeasuredPauses costs;
  if (const auto read = costs.read(*known); !read) {
    system.log().write(LogLevel::warning,
                       fmt::format("what pauses cost cannot be read, so it is measured anew: {}",
                                   read.error().message));
    return;
  }
  yard.recall(std::move(costs));
  kept = std::make_shared<KeptLearnt>(KeptLearnt{kept->learnt, *known});
}

void LiveState::recall_learnt() try {
  const auto known = journal.setting(kLearnt);
  if (!known) return;
  yard.recall(json::parse(*known).get<Learnt>());
  kept = std::make_shared<KeptLearnt>(KeptLearnt{*known, kept->costs});
} catch (const json::exception& problem) {
  system.log().write(LogLevel::warning,
                     fmt::format("what the policy had learnt cannot be read, so it learns anew: {}",
                                 problem.what()));
}

const std::vector<std::string>& live_flow_settings() {
  static const std::vector<std::string> all{"flow.classes=4", "flow.floor=0.2", "flow.margin=0.1"};
  return all;
}

Expected<PolicySpec> parse(const PolicyView& policy) {
  const PolicyView whole = with_given_settings(policy, {"", live_flow_settings()});
  return PolicySpec::parse(whole.policy, whole.settings);
}

PolicyView with_given_settings(PolicyView policy, const PolicyView& given) {
  const auto name_of = [](const std::string& setting) {
    return setting.substr(0, setting.find('='));
  };
  std::vector<std::string> all;
  for (const std::string& setting : given.settings) {
    const std::string name = name_of(setting);
    const bool is_set = std::ranges::any_of(
        policy.settings, [&](const std::string& own) { return name_of(own) == name; });
    if (!is_set && name.find('.') != std::string::npos &&
        PolicySpec::parse(policy.policy, {setting}))
      all.push_back(setting);
  }
  all.insert(all.end(), policy.settings.begin(), policy.settings.end());
  policy.settings = std::move(all);
  return policy;
}

}  // namespace trainyard
