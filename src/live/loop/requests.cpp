// What callers ask to be changed: each is checked, written down, and then takes effect.
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "live/loop/yardmaster.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::size_t kMostUnfinished = 100'000;  // of one user

template <class... Args>
tl::unexpected<Refusal> refuse(Refusal::Kind kind, fmt::format_string<Args...> format,
                               Args&&... args) {
  return tl::make_unexpected(Refusal{kind, fmt::format(format, std::forward<Args>(args)...)});
}

bool may_handle(const Identity& who, const Identity& owner) {
  return who.role == Role::operator_ ||
         (who.role == Role::user && who.uid == owner.uid && who.user == owner.user);
}

/// For good: a job that has used up its time may still ask to be run again.
bool is_ending(const JobRecord& job) {
  return job.has_ended() || (job.stopping && !job.out_of_time);
}

Answer<void> only_operators(const Identity& who, const char* what) {
  if (who.role == Role::operator_) return {};
  return refuse(Refusal::Kind::forbidden, "only an operator may {}", what);
}

}  // namespace

Answer<void> Yardmaster::check(const Identity& who, const JobSpec& spec, std::size_t count) const {
  if (who.role == Role::viewer)
    return refuse(Refusal::Kind::forbidden, "a viewer may not submit jobs");
  if (options_.only_uid && who.uid != *options_.only_uid)
    return refuse(Refusal::Kind::forbidden,
                  "this daemon does not run as root, so it runs only its own user's jobs");
  const auto open = unfinished_of_.find(who.uid);
  const std::size_t unfinished = open == unfinished_of_.end() ? 0 : open->second;
  if (unfinished + count > kMostUnfinished)
    return refuse(Refusal::Kind::conflict,
                  "you have {} jobs that have not ended; a user may have {}", unfinished,
                  kMostUnfinished);
  if (const std::string why = yard_.misfit(spec); !why.empty())
    return refuse(Refusal::Kind::invalid, "this job could never run here: it {}", why);
  return check_dependencies(who, spec);
}

Answer<void> Yardmaster::check_dependencies(const Identity& who, const JobSpec& spec) const {
  for (const JobNumber number : spec.after) {
    const auto job = journal_.find(number);
    if (!job) return refuse(Refusal::Kind::unavailable, "{}", job.error().message);
    const auto array = journal_.tally(number);
    if (!array) return refuse(Refusal::Kind::unavailable, "{}", array.error().message);
    const Identity* owner = *job ? &(*job)->owner : *array ? &(*array)->owner : nullptr;
    if (owner == nullptr || !may_handle(who, *owner))
      return refuse(Refusal::Kind::invalid, "there is no job {} of yours to wait for", number);
    const auto end = end_of(number);
    if (!end) return refuse(Refusal::Kind::unavailable, "{}", end.error().message);
    if (trainyard::has_ended(*end) && *end != Phase::done)
      return refuse(Refusal::Kind::conflict, "job {} has {}, so this one would never start", number,
                    *end == Phase::failed ? "failed" : "been cancelled");
  }
  return {};
}

namespace {

/// The jobs of one submission, still without numbers. Only the first has the payload.
std::vector<JobRecord> records_of(const Identity& who, JobSpec spec) {
  const std::string text = std::exchange(spec.array, {});
  JobRecord first;
  first.owner = who;
  first.spec = std::move(spec);
  if (text.empty()) return {std::move(first)};
  std::vector<JobRecord> all{std::move(first)};
  JobRecord other = all.front();
  (void)take_payload(other.spec);
  const auto tasks = tasks_of(0, *parse_job_array(text));
  all.resize(tasks.size(), other);
  for (std::size_t i = 0; i < tasks.size(); ++i) all[i].task = tasks[i];
  return all;
}

}  // namespace

Answer<Submitted> Yardmaster::submit(const Identity& who, JobSpec spec) {
  const bool is_array = !spec.array.empty();
  auto jobs = std::make_shared<std::vector<JobRecord>>(records_of(who, std::move(spec)));
  auto submitted = std::make_shared<Submitted>();
  submitted->warnings = warnings(jobs->front().spec);
  submitted->tasks = is_array ? jobs->size() : 0;
  Command command;
  command.stage = [this, jobs, submitted](JournalChange& change) -> Answer<void> {
    const JobRecord& first = jobs->front();
    if (auto ok = check(first.owner, first.spec, jobs->size()); !ok) return ok;
    const std::int32_t gpus =
        first.spec.exclusive ? yard_.demand(first.spec).gpus : first.spec.per_worker.gpus;
    submitted->number = ++last_number_;
    for (JobRecord& job : *jobs) {
      job.number = submitted->tasks == 0 ? submitted->number : ++last_number_;
      if (submitted->tasks > 0) job.task.array = submitted->number;
      if (job.spec.name.empty()) job.spec.name = fmt::format("job-{}", submitted->number);
      job.spec.per_worker.gpus = gpus;
      job.submitted = job.life.state.since = now();
      change.submitted.push_back(&job);
      change.events.push_back(event_of(job, "submitted", json{{"name", job.spec.name}}.dump()));
    }
    return {};
  };
  command.take_effect = [this, jobs] {
    counters_.submitted += jobs->size();
    (void)take_payload(jobs->front().spec);
    unfinished_of_[jobs->front().owner.uid] += jobs->size();
    std::vector<JobRecord*> taken;
    for (JobRecord& job : *jobs)
      taken.push_back(&jobs_.emplace(job.number, std::move(job)).first->second);
    for (const JobRecord* job : taken) arrays_.add(*job);
    // Unreadable now: it is held until the next start.
    for (JobRecord* job : taken) (void)find_dependencies(*job);
  };
  if (auto done = ask(std::move(command)); !done) return tl::make_unexpected(done.error());
  return *submitted;
}

Answer<std::vector<JobNumber>> Yardmaster::find(const Identity& who, const JobName& name) {
  auto found = journal_.numbers(name);
  if (!found) return refuse(Refusal::Kind::unavailable, "{}", found.error().message);
  // Where jobs are private, it must not show that there is an array of another.
  if (!found->empty() && visible(who, found->front())) return *std::move(found);
  const std::string tasks = name.tasks.empty() ? "" : "_" + format_tasks(name.tasks);
  return refuse(Refusal::Kind::not_found, "there is no job {}{}{}", name.number, tasks,
                options_.private_jobs ? " of yours" : "");
}

Answer<void> Yardmaster::cancel(const Identity& who, const std::vector<JobNumber>& numbers) {
  auto jobs = std::make_shared<std::vector<JobRecord>>();  // as they will be
  Command command;
  command.stage = [this, who, numbers, jobs](JournalChange& change) -> Answer<void> {
    bool is_known = false;
    for (const JobNumber number : numbers) {
      const auto found = jobs_.find(number);
      if (found == jobs_.end()) continue;
      if (!may_handle(who, found->second.owner)) return refuse_to_cancel(who, number);
      if (found->second.has_ended()) continue;
      is_known = true;
      if (is_ending(found->second)) continue;
      JobRecord& job = jobs->emplace_back(found->second);
      job.stopping = true;
      job.out_of_time = false;
      job.reason = fmt::format("cancelled by {}", who.user);
      job.forced = who.uid != job.owner.uid;
    }
    for (const JobRecord& job : *jobs) {
      change.changed.push_back(&job);
      change.events.push_back(event_of(job, "cancelling", json{{"by", who.user}}.dump()));
    }
    if (is_known || numbers.empty()) return {};
    return refuse_to_cancel(who, numbers.back());
  };
  command.take_effect = [this, jobs] {
    std::vector<JobRecord*> told;
    for (const JobRecord& job : *jobs) {
      JobRecord* now = known(job.number);
      if (now == nullptr || is_ending(*now)) continue;
      now->stopping = true;
      now->out_of_time = false;
      now->reason = job.reason;
      now->forced = job.forced;
      told.push_back(now);
    }
    for (JobRecord* job : told) stop_for_good(*job);
  };
  return ask(std::move(command));
}

/// A job that is not known, another's, or over.
Answer<void> Yardmaster::refuse_to_cancel(const Identity& who, JobNumber number) const {
  const auto job = visible(who, number);
  if (!job) return tl::make_unexpected(job.error());
  if (!may_handle(who, job->owner))
    return refuse(Refusal::Kind::forbidden, "job {} is {}'s; only they and operators may cancel it",
                  name_of(*job), job->owner.user);
  return refuse(Refusal::Kind::conflict, "job {} has ended already ({}), so it cannot be cancelled",
                name_of(*job), state_name(job->phase()));
}

Answer<void> Yardmaster::drain(const Identity& who, const std::string& machine) {
  return open_or_close(who, machine, false);
}

Answer<void> Yardmaster::resume(const Identity& who, const std::string& machine) {
  return open_or_close(who, machine, true);
}

Answer<void> Yardmaster::open_or_close(const Identity& who, const std::string& name, bool open) {
  if (auto ok = only_operators(who, "drain or resume machines"); !ok) return ok;
  const Cluster& cluster = engine_.cluster();
  std::uint32_t m = 0;
  while (m < cluster.machines.size() && cluster.machines[m].name != name) ++m;
  if (m == cluster.machines.size())
    return refuse(Refusal::Kind::not_found, "there is no machine {}", trainyard::quoted(name));
  Command command;
  command.stage = [this, name, open](JournalChange& change) -> Answer<void> {
    change.settings.emplace_back("machine/" + name, open ? "open" : "drained");
    JobRecord nobody;
    change.events.push_back(event_of(nobody, open ? "machine resumed" : "machine drained",
                                     json{{"machine", name}}.dump()));
    return {};
  };
  command.take_effect = [this, machine = MachineId{m}, open] {
    if (open == !closed_.contains(machine)) return;
    open ? void(closed_.erase(machine)) : void(closed_.insert(machine));
    (void)yard_.apply(open ? EventKind::machine_up : EventKind::machine_closed, machine, now());
    update_records();
    decide_ = true;
  };
  return ask(std::move(command));
}

Answer<void> Yardmaster::set_policy(const Identity& who, const PolicyView& policy) {
  if (auto ok = only_operators(who, "change the policy"); !ok) return ok;
  const PolicyView in_force = with_given_settings(policy);
  const auto spec = parse(in_force);
  if (!spec) return refuse(Refusal::Kind::invalid, "{}", spec.error().message);
  Command command;
  command.stage = [this, policy](JournalChange& change) -> Answer<void> {
    const std::string text = json{{"policy", policy.policy}, {"settings", policy.settings}}.dump();
    change.settings.emplace_back("policy", text);
    JobRecord nobody;
    change.events.push_back(event_of(nobody, "policy changed", text));
    return {};
  };
  command.take_effect = [this, in_force, spec = *spec] {
    policy_ = in_force;
    take_orders();  // of the yard that ends now
    if (auto ok = yard_.begin(spec, records(), closed_, now()); !ok)
      throw std::logic_error(ok.error().message);
    update_records();
    decide_ = true;
  };
  return ask(std::move(command));
}

}  // namespace trainyard
