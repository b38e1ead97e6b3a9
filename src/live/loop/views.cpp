// What callers ask to see. Jobs come from the journal, so that nobody is shown what is not on disk.
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "live/job/output_path.h"
#include "live/loop/yardmaster.h"
#include "workload/write.h"

namespace trainyard {
namespace {

bool sees_all(const Identity& who, const JobRecord& job) {
  return who.role == Role::operator_ || (who.user == job.owner.user && who.uid == job.owner.uid);
}

tl::unexpected<Refusal> unreadable(const Error& error) {
  return tl::make_unexpected(Refusal{Refusal::Kind::unavailable, error.message});
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

}  // namespace

LiveEvent public_part(const LiveEvent& event) {
  LiveEvent part = event;
  nlohmann::json shown = nlohmann::json::object();
  if (event.kind == "submitted")
    if (const auto all = nlohmann::json::parse(event.details, nullptr, false); all.contains("name"))
      shown["name"] = all["name"];
  part.details = shown.dump();
  return part;
}

Answer<JobRecord> Yardmaster::visible(const Identity& who, JobNumber number) const {
  auto found = journal_.find(number);
  if (!found) return unreadable(found.error());
  if (*found && sees_all(who, **found)) return std::move(**found);
  if (*found && !options_.private_jobs) return public_part(**found);
  // Where jobs are private, nothing tells a job of another from one that never was.
  return tl::make_unexpected(Refusal{
      Refusal::Kind::not_found,
      fmt::format("there is no job {}{}", number, options_.private_jobs ? " of yours" : "")});
}

Answer<JobRecord> Yardmaster::job(const Identity& who, JobNumber number) {
  auto job = visible(who, number);
  if (!job) return job;
  job->waits_by = waits_by(*job);
  if (job->in_part) return job;
  auto payload = journal_.payload(job->submission());
  if (!payload) return unreadable(payload.error());
  job->spec.script = std::move(payload->script);
  return job;
}

Answer<JobPage> Yardmaster::jobs(const Identity& who, const JobFilter& asked) {
  JobFilter filter = asked;
  if (options_.private_jobs && who.role != Role::operator_) {
    if (filter.user && *filter.user != who.user) return JobPage{};
    filter.user = who.user;
    filter.uid = who.uid;
  }
  auto page = journal_.find(filter);
  if (!page) return unreadable(page.error());
  for (JobRecord& job : page->jobs) {
    if (!sees_all(who, job)) job = public_part(job);
    job.waits_by = waits_by(job);
  }
  return std::move(*page);
}

/// As `why` has it, without asking the policy: a list may have a thousand of them.
std::string Yardmaster::waits_by(const JobRecord& shown) const {
  if (shown.has_ended()) return "";
  const std::lock_guard lock(state_mutex_);
  const auto known = jobs_.find(shown.number);
  if (known == jobs_.end()) return "";
  const JobRecord& job = known->second;
  if (job.is_held()) return job.waits_for > 0 && !job.left_behind ? "dependency" : "held";
  if (job.phase() == Phase::reserved) return "resources";
  if (job.phase() != Phase::queued) return "";
  if (closed_.size() == engine_.cluster().machines.size()) return "held";
  return yard_.has_room(job.number) ? "priority" : "resources";
}

WhyAnswer Yardmaster::why_held(const JobRecord& job) const {
  if (job.left_behind)
    return {"held",
            "held",
            {"old-run",
             "its last run, on GPUs that this daemon had before its restart, has to end first",
             0,
             {}},
            "nothing: it is queued again when that run has ended"};
  if (arrays_.waits(job))
    return {
        "held",
        "held",
        {"array-limit",
         fmt::format("at most {} tasks of array {} run at once", job.task.at_once, job.task.array),
         0,
         {}},
        "nothing: it starts when one of them has ended; the number after % in --array is the "
        "bound"};
  std::vector<std::string> others;
  for (const JobNumber other : job.spec.after)
    if (const auto known = jobs_.find(other);
        arrays_.contains(other) || (known != jobs_.end() && !known->second.has_ended()))
      others.push_back(fmt::format("{} {}", arrays_.contains(other) ? "array" : "job", other));
  if (others.empty())
    return {"held",
            "held",
            {"misfit", "cannot run on this machine now: " + yard_.misfit(job.spec), 0, {}},
            "cancel it, or wait until the daemon is started with more GPUs"};
  return {
      "held",
      "dependency",
      {"dependency", fmt::format("starts after {} is done", fmt::join(others, ", ")), 0, {}},
      "trainyard queue shows how far the others are; to start now, cancel this one and submit it "
      "without --after"};
}

Answer<WhyAnswer> Yardmaster::why(const Identity& who, JobNumber number) {
  const auto record = visible(who, number);
  if (!record) return tl::make_unexpected(record.error());
  const std::lock_guard lock(state_mutex_);
  const auto known = jobs_.find(number);
  if (known == jobs_.end() || known->second.has_ended())
    return WhyAnswer{std::string(state_name(record->phase())), "", {}, ""};
  WhyAnswer answer = why_waits(known->second);
  if (record->in_part) answer.advice.clear();  // it is not theirs to follow
  return answer;
}

WhyAnswer Yardmaster::why_waits(const JobRecord& job) const {
  if (job.is_held()) return why_held(job);
  const Phase phase = job.phase();
  WhyAnswer answer{std::string(state_name(phase)), "", {}, ""};
  if (phase != Phase::queued && phase != Phase::reserved) return answer;
  answer.reason = yard_.explain(job.number);
  if (closed_.size() == engine_.cluster().machines.size()) {
    answer.category = "held";
    answer.reason = {
        "drained", "every machine is drained: nothing new starts", answer.reason.place, {}};
    answer.advice = "ask an operator for: trainyard resume " + engine_.cluster().machines[0].name;
    return answer;
  }
  const std::string& token = answer.reason.token;
  const bool lacks = token == "resources" || token == "placement" || token == "room-being-made";
  answer.category = lacks ? "resources" : "priority";
  answer.advice = advice_for(answer.reason, job.spec, yard_.regards());
  return answer;
}

std::string Yardmaster::output_file(const JobRecord& job, const std::string& pattern,
                                    std::int32_t worker) const {
  const std::string path =
      output_path(pattern, {job.number, job.task, job.spec.name, job.owner.user,
                            engine_.cluster().machines.front().name, worker});
  return (std::filesystem::path(job.spec.directory) / path).lexically_normal();
}

Answer<Service::LogPage> Yardmaster::logs(const Identity& who, JobNumber number,
                                          std::int32_t worker, std::uint32_t run,
                                          std::uint64_t offset) {
  constexpr std::size_t kAtOnce = 256 * 1024;
  const auto job = visible(who, number);
  if (!job) return tl::make_unexpected(job.error());
  if (job->in_part)
    return tl::make_unexpected(
        Refusal{Refusal::Kind::forbidden,
                fmt::format("job {} is {}'s; only they and operators may read its output",
                            name_of(*job), job->owner.user)});
  if (worker < 0 || worker >= job->spec.processes())
    return tl::make_unexpected(Refusal{
        Refusal::Kind::invalid,
        job->spec.processes() == 1
            ? fmt::format("there is no worker {}: job {} has one, worker 0", worker, name_of(*job))
            : fmt::format("there is no worker {}: job {} has the workers 0 to {}", worker,
                          name_of(*job), job->spec.processes() - 1)});
  if (!job->spec.output.empty())
    return tl::make_unexpected(
        Refusal{Refusal::Kind::conflict,
                fmt::format("job {} writes to {} (its --output), and nothing of it is kept here",
                            name_of(*job), output_file(*job, job->spec.output, worker))});
  LogPage page;
  page.run = run == 0 ? job->runs : run;
  if (page.run > job->runs)
    return tl::make_unexpected(Refusal{
        Refusal::Kind::not_found,
        job->runs == 0
            ? fmt::format("there is no run {}: job {} has not been started yet", run, number)
            : fmt::format("there is no run {}: the last one of job {} is run {}", run, number,
                          job->runs)});
  page.output.offset = offset;
  page.at_end = job->has_ended() || page.run < job->runs;
  if (page.run == 0) return page;
  auto output = engine_.output({number, page.run}, worker, offset, kAtOnce);
  if (!output)
    return tl::make_unexpected(Refusal{Refusal::Kind::not_found, output.error().message});
  page.output = std::move(*output);
  page.at_end = page.at_end && page.output.text.size() < kAtOnce;
  return page;
}

MachineView Yardmaster::view(const Identity& who, MachineId id) const {
  const Machine& machine = engine_.cluster().machine(id);
  const Yard& yard = yard_.yard();
  MachineView view{machine.name,
                   engine_.cluster().kinds[index(machine.kind)],
                   closed_.contains(id)    ? "drained"
                   : yard.free().is_up(id) ? "up"
                                           : "down",
                   machine.capacity,
                   yard.free().on(id),
                   std::vector<JobNumber>(static_cast<std::size_t>(machine.capacity.gpus))};
  for (const JobId job : yard.jobs_on(id)) {
    const Placement& placement = yard.placement(job);
    const JobNumber number = yard_.number(job);
    const bool is_hidden = options_.private_jobs && !sees_all(who, jobs_.at(number));
    for (std::size_t i = 0; i < placement.size(); ++i)
      if (placement[i].machine == id)
        for (const std::int32_t gpu : yard.gpus(job, i))
          view.by_gpu[static_cast<std::size_t>(gpu)] = is_hidden ? kHidden : number;
  }
  return view;
}

Answer<ClusterView> Yardmaster::cluster(const Identity& who) {
  const std::lock_guard lock(state_mutex_);
  ClusterView all;
  for (std::uint32_t m = 0; m < engine_.cluster().machines.size(); ++m)
    all.machines.push_back(view(who, MachineId{m}));
  all.running = holding_.size();
  all.queued = jobs_.size() - holding_.size();
  return all;
}

Answer<PolicyView> Yardmaster::policy(const Identity& /*who*/) {
  const std::lock_guard lock(state_mutex_);
  return policy_;
}

Answer<std::string> Yardmaster::history(const Identity& who) {
  Workload workload;
  workload.pause_costs = PauseCosts::given;  // as they were measured, where there was a pause
  JobFilter of;
  if (who.role != Role::operator_) of.user = who.user, of.uid = who.uid;
  const auto add = [&](const JobRecord& record) {
    if (record.phase() != Phase::done || record.life.state.done.us <= 0) return;
    Job job;
    job.submit = record.submitted;
    job.duration = record.life.state.done;
    job.estimate = record.spec.time.us > 0 ? record.spec.time : job.duration;
    job.grace = record.spec.grace;
    if (record.pause_took) job.grace = *record.pause_took;
    if (record.progress && record.progress->load_s)
      job.load = duration_from_seconds(*record.progress->load_s).value_or(Duration{});
    job.per_worker = record.spec.per_worker;
    job.workers = job.min_workers = job.max_workers = record.spec.workers;
    job.user = UserId{workload.users.add(record.owner.user)};
    job.job_class = record.spec.job_class;
    if (!record.spec.model.empty())
      job.model = ModelId{static_cast<std::uint16_t>(workload.models.add(record.spec.model))};
    workload.jobs.push_back(job);
    workload.names.push_back(std::to_string(record.number));
  };
  if (auto read = journal_.each_ended(of, add); !read) return unreadable(read.error());
  const Time first = workload.jobs.empty() ? Time{} : workload.jobs.front().submit;
  for (Job& job : workload.jobs) job.submit = Time{} + (job.submit - first);
  std::ostringstream out;
  write_native(workload, out);
  return out.str();
}

Counters Yardmaster::counters() const {
  const std::lock_guard lock(state_mutex_);
  return counters_;
}

}  // namespace trainyard
