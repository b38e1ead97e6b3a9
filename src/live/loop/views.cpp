#include "live/loop/views.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "live/job/output_path.h"
#include "live/loop/job_list.h"
#include "live/service/rights.h"
#include "policy/wait_reasons.h"
#include "workload/write.h"

namespace trainyard {
namespace {

/// Whether all its workers would find room on what is free.
bool has_room(const Snapshot& snapshot, const JobSpec& spec) {
  const Cluster& cluster = *snapshot.cluster;
  Workload workload;
  Job job;
  set_demand(job, spec, workload);
  set_kinds(job, spec, cluster, workload);
  const KindId kind = cluster_kind(workload, job.kind, cluster);
  const MachineTerms terms = terms_of(spec);
  std::int32_t left = job.workers;
  for (std::size_t m = 0; m < snapshot.machines->size() && left > 0; ++m) {
    const MachineView& machine = *(*snapshot.machines)[m];
    if (machine.state != "up") continue;
    if (kind != kAnyKind && cluster.machines[m].kind != kind) continue;
    left -= workers_that_fit(demand_on(terms, job.per_worker, cluster, cluster.machines[m]),
                             machine.free, left);
  }
  return left == 0;
}

/// Whether a job, or a task of an array, has not ended.
bool is_open(const JobTable& jobs, JobNumber job_or_array) {
  if (jobs.find(job_or_array) != nullptr) return true;
  const JobRecord* next = jobs.first_above(job_or_array);  // an array's tasks follow it
  return next != nullptr && next->task.array == job_or_array;
}

/// Adds the tasks of that name which the journal may have no rows of yet.
void add_open_tasks(const JobTable& jobs, const JobName& name, std::vector<JobNumber>& found) {
  const JobRecord* task = jobs.first_above(name.number);
  for (; task != nullptr && task->task.array == name.number; task = jobs.first_above(task->number))
    if (name.tasks.empty() || std::ranges::binary_search(name.tasks, task->task.task))
      found.push_back(task->number);
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
}

/// Only what makes a difference under the policy that runs.
std::string advice_for(const WaitReason& reason, const JobSpec& spec, const Regards& regards) {
  if (reason.token == "placement") return "wait: a closer placement makes it faster";
  if (reason.token == "room-being-made") return "nothing: it starts when they have left";
  std::string advice;
  const auto add = [&](const char* next) {
    advice += (advice.empty() ? "" : "; ") + std::string(next);
  };
  if (reason.token == "resources" && spec.workers > 1) add("ask for fewer workers, or wait");
  if (reason.token == "resources" && spec.workers == 1) add("wait, or ask for less");
  if (reason.token == "reservation")
    add("declare a shorter --time if it is shorter: then it may go before");
  if (reason.token != "reservation" && regards.estimates && spec.time.us == 0)
    add("declare how long it takes with --time: those that take less go first");
  if (regards.classes && spec.job_class == JobClass::batch)
    add("a short trial may go as --class trial");
  add(reason.token == "resources" ? "trainyard nodes shows what is free"
                                  : "trainyard queue shows which jobs are ahead");
  return advice;
}

/// How long an agent may go by what it was told last.
constexpr Duration kFlowsHoldFor = seconds(30);

/// Of an elastic job that holds GPUs: how many workers it has, and is about to have.
std::string size_of(const JobRecord& job) {
  const Placement &now = job.life.room.placement, &next = job.life.next.placement;
  if (!job.spec.is_elastic() || now.empty()) return {};
  return fmt::format("runs with {} of {} workers{}", workers(now), format(job.spec.sizes()),
                     next.empty() ? "" : fmt::format(", and goes on with {}", workers(next)));
}

/// Of a job that waits; nothing if the forecast was made before it came, or it has started since.
TimeBand expected_start(const LiveOutlook& outlook, const JobRecord& job) {
  const bool waits = job.phase() == Phase::queued || job.phase() == Phase::reserved;
  const JobOutlook* found = waits ? outlook.find(job.number) : nullptr;
  return found != nullptr && found->waits ? found->start : TimeBand{};
}

}  // namespace

/// Half of the processors, so that the scheduler always finds one.
Views::Views(LiveState& state, const Retention& retention, Loop& loop, Forecaster& forecaster)
    : state_(state),
      retention_(retention),
      loop_(loop),
      forecaster_(forecaster),
      long_reads_(std::max(1U, std::thread::hardware_concurrency() / 2)) {}

WaitsBy waits_by(const Snapshot& snapshot, const JobRecord& job) {
  if (job.is_held()) {
    const bool waits =
        job.old_run == OldRun::none && std::ranges::any_of(job.spec.after, [&](JobNumber other) {
          return is_open(snapshot.jobs, other);
        });
    return waits ? WaitsBy::dependency : WaitsBy::held;
  }
  if (job.phase() == Phase::reserved) return WaitsBy::resources;
  if (job.phase() != Phase::queued) return WaitsBy::nothing;
  const bool is_closed = std::ranges::all_of(
      *snapshot.machines, [](const auto& machine) { return machine->state != "up"; });
  if (is_closed) return WaitsBy::held;
  return has_room(snapshot, job.spec) ? WaitsBy::priority : WaitsBy::resources;
}

// --- Jobs ----------------------------------------------------------------------------------------

Answer<JobRecord> Views::visible(const Identity& who, JobNumber number) const {
  const auto snapshot = loop_.snapshot();
  std::optional<JobRecord> job;
  if (const JobRecord* open = snapshot->jobs.find(number)) {
    job = *open;
    job->waits_by = waits_by(*snapshot, *open);
    job->expected_start = expected_start(*forecaster_.last(), *open);
  } else {
    auto ended = state_.journal.find(number);
    if (!ended) return unavailable(ended.error());
    job = *std::move(ended);
  }
  if (job && sees_all(who, *job)) return *std::move(job);
  if (job && !is_private()) return public_part(*job);
  // Where jobs are private, nothing tells a job of another from one that never was.
  return refuse(Refusal::Kind::not_found, "there is no job {}{}", number,
                is_private() ? " of yours" : "");
}

Answer<std::vector<JobNumber>> Views::find(const Identity& who, const JobName& name) const {
  const auto snapshot = loop_.snapshot();  // before the journal, so that no task is in neither
  const bool is_open = name.tasks.empty() && snapshot->jobs.find(name.number) != nullptr;
  auto found = is_open ? std::vector{name.number} : state_.journal.numbers(name);
  if (!found) return unavailable(found.error());
  if (!is_open) add_open_tasks(snapshot->jobs, name, *found);
  // Where jobs are private, it must not show that there is an array of another.
  if (!found->empty() && visible(who, found->front())) return *std::move(found);
  const std::string tasks = name.tasks.empty() ? "" : "_" + format_tasks(name.tasks);
  return refuse(Refusal::Kind::not_found, "there is no job {}{}{}", name.number, tasks,
                is_private() ? " of yours" : "");
}

Answer<JobRecord> Views::job(const Identity& who, JobNumber number) const {
  auto job = visible(who, number);
  if (!job || job->in_part) return job;
  auto payload = state_.journal.payload(job->submission());
  if (!payload) return unavailable(payload.error());
  if (!payload->script.empty()) job->spec.script = std::move(payload->script);
  if (!payload->command.empty()) job->spec.command = std::move(payload->command);
  return job;
}

Answer<std::vector<LiveEvent>> Views::events_of(const Identity& who, JobNumber number) const {
  constexpr std::size_t kMost = 1000;
  const auto job = visible(who, number);
  if (!job) return tl::make_unexpected(job.error());
  auto events = state_.journal.events_of(number, kMost);
  if (!events) return unavailable(events.error());
  if (job->in_part)
    for (LiveEvent& event : *events) event = public_part(event);
  return *std::move(events);
}

Answer<JobPage> Views::jobs(const Identity& who, const JobFilter& asked) const {
  JobFilter filter = asked;
  if (is_private() && who.role != Role::operator_) {
    if (filter.user && *filter.user != who.user) return JobPage{};
    filter.user = who.user;
    filter.uid = who.uid;
  }
  const auto snapshot = loop_.snapshot();
  const auto turn = long_reads_.enter(who.uid);
  auto page = list_jobs(*snapshot, state_.journal, filter);
  if (!page) return unavailable(page.error());
  const auto outlook = forecaster_.last();
  for (JobRecord& job : page->jobs) {
    job.waits_by = waits_by(*snapshot, job);
    job.expected_start = expected_start(*outlook, job);
    if (!sees_all(who, job)) job = public_part(job);
  }
  return *std::move(page);
}

std::string Views::output_file(const JobRecord& job, const std::string& pattern,
                               std::int32_t worker) const {
  const std::string path =
      output_path(pattern, {job.number, job.task, job.spec.name, job.owner.user,
                            loop_.snapshot()->cluster->machines.front().name, worker});
  return (std::filesystem::path(job.spec.directory) / path).lexically_normal();
}

Answer<Service::LogPage> Views::logs(const Identity& who, JobNumber number, std::int32_t worker,
                                     std::uint32_t run, std::uint64_t offset) const {
  constexpr std::size_t kAtOnce = 64 * 1024;
  const auto job = visible(who, number);
  if (!job) return tl::make_unexpected(job.error());
  if (job->in_part)
    return refuse(Refusal::Kind::forbidden,
                  "job {} is {}'s; only they and operators may read its output", name_of(*job),
                  job->owner.user);
  const std::int32_t processes = job->spec.processes();
  if (worker < 0 || worker >= processes)
    return processes == 1
               ? refuse(Refusal::Kind::invalid, "there is no worker {}: job {} has one, worker 0",
                        worker, name_of(*job))
               : refuse(Refusal::Kind::invalid,
                        "there is no worker {}: job {} has the workers 0 to {}", worker,
                        name_of(*job), processes - 1);
  if (!job->spec.output.empty())
    return refuse(Refusal::Kind::conflict,
                  "job {} writes to {} (its --output), and nothing of it is kept here",
                  name_of(*job), output_file(*job, job->spec.output, worker));
  Service::LogPage page;
  page.run = run == 0 ? job->runs : run;
  if (page.run > job->runs)
    return job->runs == 0
               ? refuse(Refusal::Kind::not_found,
                        "there is no run {}: job {} has not been started yet", run, number)
               : refuse(Refusal::Kind::not_found,
                        "there is no run {}: the last one of job {} is run {}", run, number,
                        job->runs);
  page.output.offset = offset;
  page.at_end = job->has_ended() || page.run < job->runs;
  if (page.run == 0) return page;
  auto output = state_.engine.output({number, page.run}, worker, offset, kAtOnce);
  if (!output) return refuse(Refusal::Kind::not_found, "{}", output.error().message);
  page.output = std::move(*output);
  page.at_end = page.at_end && page.output.text.size() < kAtOnce;
  return page;
}

namespace {

/// As it ran, for whoever replays it. `workload` keeps its names.
void add_ended(const JobRecord& record, const Cluster& cluster, Time begin, Workload& workload) {
  Job job;
  job.submit = Time{} + std::max(record.submitted - begin, Duration{});
  job.duration = record.life.state.done;
  job.estimate = record.spec.time.us > 0 ? record.spec.time : job.duration;
  job.grace = record.spec.grace;
  if (record.pause_took) job.grace = *record.pause_took;
  if (record.progress && record.progress->load_s)
    job.load = duration_from_seconds(*record.progress->load_s).value_or(Duration{});
  job.per_worker = record.spec.per_worker;
  job.workers = job.min_workers = record.spec.workers;
  job.max_workers = record.spec.sizes().max;
  job.user = UserId{workload.users.add(record.owner.user)};
  job.job_class = record.spec.job_class;
  if (!record.spec.model.empty())
    job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(record.spec.model))};
  set_kinds(job, record.spec, cluster, workload);
  workload.jobs.push_back(job);
  workload.names.push_back(std::to_string(record.number));
}

}  // namespace

Answer<Service::HistoryPart> Views::history(const Identity& who,
                                            const Service::HistoryPart& before) const {
  JobFilter of;
  if (who.role != Role::operator_) of.user = who.user, of.uid = who.uid;
  const auto turn = long_reads_.enter(who.uid);
  const auto records = state_.journal.ended_after(of, before.last);
  if (!records) return unavailable(records.error());
  Service::HistoryPart part{{}, before.last, before.begin, records->empty()};
  Workload workload;
  workload.pause_costs = PauseCosts::given;  // as they were measured, where there was a pause
  const auto cluster = loop_.snapshot()->cluster;
  for (const JobRecord& record : *records) {
    part.last = record.number;
    if (record.life.state.done.us <= 0) continue;  // it never ran, or nothing came of it
    if (part.begin == Time{}) part.begin = record.submitted;
    add_ended(record, *cluster, part.begin, workload);
  }
  part.csv = native_part(workload, before.last == 0);
  return part;
}

// --- Why a job waits -----------------------------------------------------------------------------

Answer<LiveOutlook> Views::forecast(const Identity& who, std::optional<JobNumber> number) const {
  const auto last = forecaster_.last();
  if (last->made_at == Time::never())
    return refuse(Refusal::Kind::unavailable, "no forecast has been made yet; try again soon");
  if (!number) return shown_to(who, *last);
  if (const auto job = visible(who, *number); !job) return tl::make_unexpected(job.error());
  LiveOutlook of = *last;
  std::erase_if(of.jobs, [&](const JobOutlook& job) { return job.job != *number; });
  std::erase_if(of.segments, [&](const OutlookSegment& segment) { return segment.job != *number; });
  return of;
}

Answer<LiveOutlook> Views::what_if(const Identity& who, OutlookQuestion question) {
  const auto cluster = loop_.snapshot()->cluster;
  for (const std::string& machine : question.without)
    if (!find_machine(*cluster, machine))
      return refuse(Refusal::Kind::not_found, "there is no machine {}", machine);
  if (question.job) {
    question.job->per_worker.gpus = fewest_gpus(*question.job, *cluster);
    if (const std::string why = misfit(*question.job, *cluster); !why.empty())
      return refuse(Refusal::Kind::invalid, "this job could never run here: it {}", why);
  }
  question.owner = who;
  auto made = forecaster_.what_if(std::move(question));
  if (!made) return made;
  return shown_to(who, *std::move(made));
}

/// Where jobs are private, their own; the one that does not exist is theirs.
LiveOutlook Views::shown_to(const Identity& who, LiveOutlook outlook) const {
  if (!is_private()) return outlook;
  const auto snapshot = loop_.snapshot();
  const auto is_hidden = [&](const auto& each) {
    const JobRecord* job = snapshot->jobs.find(each.job);
    return each.job != 0 && (job == nullptr || !sees_all(who, *job));
  };
  std::erase_if(outlook.jobs, is_hidden);
  std::erase_if(outlook.segments, is_hidden);
  return outlook;
}

Answer<WhyAnswer> Views::why(const Identity& who, JobNumber number) {
  const auto shown = visible(who, number);
  if (!shown) return tl::make_unexpected(shown.error());
  WhyAnswer answer{std::string(state_name(shown->shown_phase())), WaitsBy::nothing, {}, ""};
  if (shown->has_ended()) return answer;
  const auto asked = loop_.look_up([&] {
    const JobRecord* job = state_.book.find(number);
    if (job != nullptr && !job->has_ended()) answer = why_waits(*job);
  });
  if (!asked) return tl::make_unexpected(asked.error());
  answer.expected = shown->expected_start;
  if (shown->in_part)
    answer.advice.clear(), answer.pause = {},
                           answer.pause_cost.reset();  // it is not theirs to follow
  if (is_private() && who.role != Role::operator_) {   // both count others
    answer.reason.place = 0;
    answer.flow.clear();
  }
  return answer;
}

WhyAnswer Views::why_waits(const JobRecord& job) const {
  if (job.is_held()) return why_held(job);
  const Phase phase = job.phase();
  WhyAnswer answer{std::string(state_name(job.shown_phase())), WaitsBy::nothing, {}, ""};
  if (job.is_paused() || job.is_leaving())
    answer.pause = job.last_pause, answer.pause_took = job.last_pause_took(),
    answer.pause_cost = job.pause_cost();
  if (phase != Phase::queued && phase != Phase::reserved) {
    answer.reason.sentence = size_of(job);
    if (const WaitReason more = state_.yard.explain(job.number); more.token == kNextRound)
      answer.reason.sentence += "; " + more.sentence;
    answer.flow = state_.yard.explain_flow(job.number);
    return answer;
  }
  answer.reason = state_.yard.explain(job.number);
  if (std::optional<WhyAnswer> none = why_no_machine(answer)) return *none;
  if (job.failed_starts > 0) answer.reason.sentence += "; its last start failed: " + job.reason;
  const std::string& token = answer.reason.token;
  const bool lacks = token == "resources" || token == "placement" || token == "room-being-made";
  answer.category = lacks ? WaitsBy::resources : WaitsBy::priority;
  answer.advice = advice_for(answer.reason, job.spec, state_.yard.regards());
  return answer;
}

/// Where none takes jobs.
std::optional<WhyAnswer> Views::why_no_machine(const WhyAnswer& otherwise) const {
  const Machine* closed = nullptr;
  bool is_down = false;
  for (std::uint32_t m = 0; m < state_.cluster->machines.size(); ++m) {
    if (state_.takes_jobs(MachineId{m})) return {};
    const bool by_operator = state_.status(MachineId{m}).closed;
    if (by_operator && closed == nullptr) closed = &state_.cluster->machine(MachineId{m});
    is_down = is_down || !by_operator;
  }
  WhyAnswer answer{otherwise.state, WaitsBy::held, {}, ""};
  answer.pause = otherwise.pause, answer.pause_took = otherwise.pause_took,
  answer.pause_cost = otherwise.pause_cost;
  answer.reason = {"closed",
                   is_down ? "every machine is closed or down: nothing new starts"
                           : "every machine is closed: nothing new starts",
                   otherwise.reason.place,
                   {}};
  answer.advice = closed != nullptr ? "ask an operator for: trainyard open " + closed->name
                                    : "trainyard nodes shows which machines come back";
  return answer;
}

WhyAnswer Views::why_held(const JobRecord& job) const {
  const JobBook& book = state_.book;
  const auto held = [](WaitsBy category, const char* token, std::string sentence,
                       const char* advice) {
    return WhyAnswer{"held", category, {token, std::move(sentence), 0, {}}, advice};
  };
  if (job.runs_outside)
    return held(WaitsBy::held, "outside",
                "runs outside of this daemon's control, on GPUs that another job still holds",
                "nothing: it is shown as running when that job has left");
  if (const auto rest = state_.resting.find(job.number); rest != state_.resting.end())
    return held(WaitsBy::held, "start-failed",
                fmt::format("{}; it is tried again in {}", job.reason,
                            format(std::max(rest->second - state_.now(), Duration{}))),
                "nothing: it is queued again by itself; trainyard nodes shows the machines");
  if (job.old_run != OldRun::none)
    return held(WaitsBy::held, "old-run",
                "its last run, on GPUs that this daemon had before its restart, has to end first",
                "nothing: it is queued again when that run has ended");
  if (book.arrays().waits(job))
    return held(
        WaitsBy::held, "array-limit",
        fmt::format("at most {} tasks of array {} run at once", job.task.at_once, job.task.array),
        "nothing: it starts when one of them has ended; the number after % in --array is the "
        "bound");
  std::vector<std::string> others;
  for (const JobNumber other : job.spec.after) {
    const JobRecord* open = book.find(other);
    if (book.arrays().contains(other) || (open != nullptr && !open->has_ended()))
      others.push_back(
          fmt::format("{} {}", book.arrays().contains(other) ? "array" : "job", other));
  }
  const std::string misfit = state_.yard.misfit(job.spec);
  if (others.empty() && misfit.empty())
    return held(WaitsBy::held, "entering", "is about to be queued, one of many tasks of its array",
                "nothing: it is queued within seconds");
  if (others.empty())
    return held(WaitsBy::held, "misfit", "cannot run here as things are: " + misfit,
                "cancel it, or wait until there are machines for it");
  return held(WaitsBy::dependency, "dependency",
              fmt::format("starts after {} is done", fmt::join(others, ", ")),
              "trainyard queue shows how far the others are; to start now, cancel this one and "
              "submit it without --after");
}

// --- Machines ------------------------------------------------------------------------------------

namespace {

/// Where jobs are private, how many others have is not told either.
void count_own(const Snapshot& snapshot, const Identity& who, ClusterView& view) {
  view.running = view.queued = 0;
  snapshot.jobs.each_newest_first(0, [&](const JobRecord& job) {
    if (is_owner(who, job.owner)) ++(job.life.room.placement.empty() ? view.queued : view.running);
    return true;
  });
}

}  // namespace

ClusterView Views::cluster(const Identity& who) const {
  const auto snapshot = loop_.snapshot();
  ClusterView all;
  for (const auto& machine : *snapshot->machines) {
    MachineView& view = all.machines.emplace_back(*machine);
    view.has_flow_agent = state_.flow_agents.has(view.name, state_.system.steady_clock());
    if (!view.has_flow_agent) view.flows.clear();
    if (!is_private()) continue;
    for (JobNumber& number : view.by_gpu) {
      const JobRecord* job = number == 0 ? nullptr : snapshot->jobs.find(number);
      if (number != 0 && (job == nullptr || !sees_all(who, *job))) number = kHidden;
    }
    std::erase_if(view.flows, [&](const JobFlow& flow) {
      const JobRecord* job = snapshot->jobs.find(flow.run.job);
      return job == nullptr || !sees_all(who, *job);
    });
  }
  all.running = snapshot->running;
  all.queued = snapshot->jobs.size() - snapshot->running;
  if (is_private() && who.role != Role::operator_) count_own(*snapshot, who, all);
  if (snapshot->counters.erasing_suspended && who.role == Role::operator_)
    all.notices.emplace_back(
        "erasing is suspended since the clock jumped: trainyard retention says why");
  return all;
}

/// The first agent of all changes what the policy decides: its answer is of after that.
Answer<MachineFlows> Views::flows(const Identity& who, const std::string& machine, bool vouched) {
  const bool is_agent = who.role == Role::agent;
  if (is_agent ? who.machine != machine : who.role != Role::operator_)
    return refuse(Refusal::Kind::forbidden,
                  "only the agent of machine {}, by its token, and operators may see this",
                  machine);
  if (!find_machine(*loop_.snapshot()->cluster, machine))
    return refuse(Refusal::Kind::not_found, "there is no machine {}", machine);
  if (vouched) {
    state_.flow_agents.note(machine, state_.system.steady_clock());
    if (auto ok = loop_.look_up([] {}); !ok) return tl::make_unexpected(ok.error());
  }
  const auto snapshot = loop_.snapshot();
  if (!snapshot->counters.accepting)
    return refuse(Refusal::Kind::unavailable, "classes cannot be recorded now, so none hold");
  MachineFlows flows{machine, *snapshot->flow_terms, kFlowsHoldFor};
  const auto id = find_machine(*snapshot->cluster, machine);
  if (!id || index(*id) >= snapshot->machines->size()) return flows;
  for (const JobFlow& flow : (*snapshot->machines)[index(*id)]->flows)
    flows.jobs.push_back({flow, state_.engine.cgroups_of(flow.run, machine, flow.born_as)});
  return flows;
}

Answer<RetentionView> Views::retention(const Identity& who) {
  if (who.role != Role::operator_)
    return refuse(Refusal::Kind::forbidden, "only an operator may see what is kept");
  Answer<RetentionView> view;
  if (auto ok = loop_.look_up([&] { view = retention_.view(); }); !ok)
    return tl::make_unexpected(ok.error());
  return view;
}

}  // namespace trainyard
