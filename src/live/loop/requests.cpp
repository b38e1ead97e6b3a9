#include "live/loop/requests.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "live/loop/disk_budget.h"
#include "live/loop/job_budget.h"
#include "live/service/rights.h"

namespace trainyard {
namespace {

using nlohmann::json;

/// For good: a job that has used up its time may still ask to be run again.
bool is_ending(const JobRecord& job) {
  return job.has_ended() || job.ending == Ending::by_owner || job.ending == Ending::by_operator;
}

Answer<void> only_operators(const Identity& who, const char* what) {
  if (who.role == Role::operator_) return {};
  return refuse(Refusal::Kind::forbidden, "only an operator may {}", what);
}

/// The jobs of one submission, still without numbers. Only the first has the payload, and the text
/// of the array.
std::vector<JobRecord> records_of(const Identity& who, JobSpec spec) {
  const std::string text = spec.array;
  JobRecord first;
  first.owner = who;
  first.spec = std::move(spec);
  if (text.empty()) return {std::move(first)};
  std::vector<JobRecord> all{std::move(first)};
  JobRecord other = all.front();
  (void)take_payload(other.spec);
  other.spec.array.clear();
  const auto tasks = tasks_of(0, *parse_job_array(text));
  all.resize(tasks.size(), other);
  for (std::size_t i = 0; i < tasks.size(); ++i) all[i].task = tasks[i];
  return all;
}

}  // namespace

// --- Jobs ----------------------------------------------------------------------------------------

Answer<void> Requests::check(const Identity& who, const JobSpec& spec, const Load& more) const {
  if (who.role == Role::viewer)
    return refuse(Refusal::Kind::forbidden, "a viewer may not submit jobs");
  if (state_.options.only_uid && who.uid != *state_.options.only_uid)
    return refuse(Refusal::Kind::forbidden,
                  "this daemon does not run as root, so it runs only its own user's jobs");
  if (auto ok = check_room(who, more); !ok) return ok;
  if (const std::string why = misfit(spec, machines_.coming()); !why.empty())
    return refuse(Refusal::Kind::invalid, "this job could never run here: it {}", why);
  for (const JobNumber other : spec.after)
    if (auto ok = check_dependency(who, other); !ok) return ok;
  return {};
}

Answer<void> Requests::check_room(const Identity& who, const Load& more) const {
  JobBook::Held own = state_.book.held_by(who.uid), all = state_.book.held_by_all();
  auto own_disk = state_.journal.disk_use(who.uid);
  if (!own_disk) return unavailable(own_disk.error());
  auto all_disk = state_.journal.disk_use_of_all();
  if (!all_disk) return unavailable(all_disk.error());
  own_disk->history += state_.folded.bytes_of(who.uid);
  all_disk->use.history += state_.folded.bytes_of_all();
  for (const auto& [user, load] : staged_) {
    all.bytes += load.held.bytes;
    all_disk->use += load.disk;
    if (user != who.uid) continue;
    own.jobs += load.held.jobs, own.bytes += load.held.bytes;
    *own_disk += load.disk;
  }
  if (auto ok = check_budget(own, all, more.held, state_.options.memory); !ok) return ok;
  return check_disk_budget(*own_disk, *all_disk, more.disk, state_.options.disk);
}

Answer<void> Requests::check_dependency(const Identity& who, JobNumber other) const {
  const JobRecord* open = state_.book.find(other);
  const auto job = open != nullptr ? std::optional(*open) : state_.journal.find(other);
  if (!job) return unavailable(job.error());
  const auto array = state_.journal.tally(other);
  if (!array) return unavailable(array.error());
  const Identity* owner = *job ? &(*job)->owner : *array ? &(*array)->owner : nullptr;
  if (owner == nullptr || !may_handle(who, *owner))
    return refuse(Refusal::Kind::invalid, "there is no job {} of yours to wait for", other);
  const auto end = gate_.end_of(other);
  if (!end) return unavailable(end.error());
  if (has_ended(*end) && *end != Phase::done)
    return refuse(Refusal::Kind::conflict, "job {} has {}, so this one would never start", other,
                  *end == Phase::failed ? "failed" : "been cancelled");
  return {};
}

Requests::Load Requests::load_of(const JobSpec& spec, std::size_t count) {
  const std::size_t record = count * memory_of(spec);
  return {{count, record}, disk_use_of(spec, count)};
}

Answer<Submitted> Requests::submit(const Identity& who, JobSpec spec) {
  const bool is_array = !spec.array.empty();
  auto jobs = std::make_shared<std::vector<JobRecord>>(records_of(who, std::move(spec)));
  const Load load = load_of(jobs->front().spec, jobs->size());
  Submitted submitted;
  submitted.warnings = warnings(jobs->front().spec);
  submitted.tasks = is_array ? jobs->size() : 0;
  Command command;
  command.adds = true;
  command.stage = [this, jobs, load, &submitted](JournalChange& change) -> Answer<void> {
    const JobRecord& first = jobs->front();
    if (change.submitted.empty()) staged_.clear();  // the first of its turn
    if (auto ok = check(first.owner, first.spec, load); !ok) return ok;
    staged_[first.owner.uid] += load;
    const std::int32_t gpus = fewest_gpus(first.spec, *state_.cluster);
    submitted.number = ++state_.last_number;
    for (JobRecord& job : *jobs) {
      job.number = submitted.tasks == 0 ? submitted.number : ++state_.last_number;
      if (submitted.tasks > 0) job.task.array = submitted.number;
      if (job.spec.name.empty()) job.spec.name = fmt::format("job-{}", submitted.number);
      job.spec.per_worker.gpus = gpus;
      job.submitted = job.life.state.since = state_.now();
    }
    change.submitted.push_back(&first);
    change.events.push_back(state_.submission_of(first));
    return {};
  };
  auto numbers = std::make_shared<std::vector<JobNumber>>();
  command.enter = [this, jobs, numbers] {
    state_.counters.submitted += jobs->size();
    JobRecord& first = jobs->front();
    (void)take_payload(first.spec);
    first.spec.array.clear();
    for (const JobRecord& job : *jobs) numbers->push_back(job.number);
    if (first.task.array != 0)
      state_.folded.add(first.task.array, first.owner.uid, std::span(*numbers).subspan(1),
                        disk_use_of(first.spec, 1).history);
    for (JobRecord& job : *jobs) state_.book.enter(std::move(job));
  };
  command.take_effect = [this, numbers] { gate_.admit_soon(*numbers); };
  if (auto done = loop_.ask(std::move(command)); !done) return tl::make_unexpected(done.error());
  return submitted;
}

/// Part by part, so that others get their turns in between: first what waits, then what runs, in
/// whose place it would start.
Answer<void> Requests::cancel(const Identity& who, const std::vector<JobNumber>& numbers) {
  constexpr std::size_t kAtOnce = 25;
  std::optional<Refusal> refused;
  bool is_done = numbers.empty();
  for (std::size_t end = numbers.size(); end > 0; end -= std::min(end, kAtOnce)) {
    const auto last = numbers.begin() + static_cast<std::ptrdiff_t>(end);
    const auto part =
        cancel_part(who, {last - static_cast<std::ptrdiff_t>(std::min(end, kAtOnce)), last});
    if (part)
      is_done = true;
    else
      refused = part.error();
    if (refused && refused->kind != Refusal::Kind::conflict) break;
  }
  if (is_done && (!refused || refused->kind == Refusal::Kind::conflict)) return {};
  return tl::make_unexpected(*refused);
}

Answer<void> Requests::cancel_part(const Identity& who, const std::vector<JobNumber>& numbers) {
  auto jobs = std::make_shared<std::vector<JobRecord>>();  // as they will be
  Command command;
  command.stage = [this, who, numbers, jobs](JournalChange& change) -> Answer<void> {
    bool is_known = false;
    for (const JobNumber number : numbers) {
      const JobRecord* found = state_.book.find(number);
      if (found == nullptr) continue;
      if (!may_handle(who, found->owner)) return refuse_to_cancel(who, number);
      if (found->has_ended()) continue;
      is_known = true;
      if (is_ending(*found)) continue;
      JobRecord& job = jobs->emplace_back(*found);
      job.ending = who.uid == job.owner.uid ? Ending::by_owner : Ending::by_operator;
      job.reason = fmt::format("cancelled by {}", who.user);
    }
    for (const JobRecord& job : *jobs) {
      state_.stage_unfolding(job.number, change);
      change.changed.push_back(&job);
      change.events.push_back(
          state_.event_of(job, Happening::cancelling, {{"by", who.user}, {"via", who.via}}));
    }
    if (is_known) return {};
    return refuse_to_cancel(who, numbers.back());
  };
  command.enter = [this, jobs] {
    for (const JobRecord& job : *jobs) {
      state_.folded.unfold(job.number);
      state_.book.enter(job);
    }
  };
  command.take_effect = [this, jobs] {
    for (const JobRecord& job : *jobs) runs_.stop_for_good(job.number);
  };
  return loop_.ask(std::move(command));
}

/// A job that is not known, another's, or over.
Answer<void> Requests::refuse_to_cancel(const Identity& who, JobNumber number) const {
  const auto job = views_.visible(who, number);
  if (!job) return tl::make_unexpected(job.error());
  if (!may_handle(who, job->owner))
    return refuse(Refusal::Kind::forbidden, "job {} is {}'s; only they and operators may cancel it",
                  name_of(*job), job->owner.user);
  return refuse(Refusal::Kind::conflict, "job {} has ended already ({}), so it cannot be cancelled",
                name_of(*job), state_name(job->shown_phase()));
}

// --- Machines and the policy ---------------------------------------------------------------------

Answer<void> Requests::open_or_close(const Identity& who, const std::string& name, bool open) {
  if (auto ok = only_operators(who, "open or close machines"); !ok) return ok;
  if (!find_machine(*loop_.snapshot()->cluster, name))
    return refuse(Refusal::Kind::not_found, "there is no machine {}", trainyard::quoted(name));
  Command command;
  command.stage = [this, who, name, open](JournalChange& change) -> Answer<void> {
    change.settings.emplace_back("machine/" + name, open ? "open" : "closed");
    change.events.push_back(
        state_.event_of(open ? Happening::machine_opened : Happening::machine_closed,
                        {{"machine", name}, {"by", who.user}, {"via", who.via}}));
    return {};
  };
  command.enter = [] {};
  command.take_effect = [this, name, open] { machines_.open_or_close(name, open); };
  return loop_.ask(std::move(command));
}

Answer<void> Requests::set_policy(const Identity& who, const PolicyView& policy) {
  if (auto ok = only_operators(who, "change the policy"); !ok) return ok;
  const PolicyView in_force = with_given_settings(policy, state_.options.policy);
  const auto spec = parse(in_force);
  if (!spec) return refuse(Refusal::Kind::invalid, "{}", spec.error().message);
  Command command;
  command.stage = [this, who, policy](JournalChange& change) -> Answer<void> {
    const json set{{"policy", policy.policy}, {"settings", policy.settings}};
    change.settings.emplace_back("policy", set.dump());
    json told = set;
    told["by"] = who.user, told["via"] = who.via;
    change.events.push_back(state_.event_of(Happening::policy_changed, told));
    return {};
  };
  command.enter = [] {};
  command.take_effect = [this, in_force, spec = *spec] {
    state_.policy = in_force;
    runs_.take_orders();  // of the yard that ends now
    if (auto ok = state_.begin_yard(spec); !ok) throw std::logic_error(ok.error().message);
    state_.log_idle_stages(spec);
  };
  return loop_.ask(std::move(command));
}

// --- Erasing -------------------------------------------------------------------------------------

Answer<void> Requests::resume_erasing(const Identity& who) {
  if (auto ok = only_operators(who, "let erasing go on"); !ok) return ok;
  Command command;
  command.stage = [this, who](JournalChange& change) {
    return retention_.stage_resume(who, change);
  };
  command.enter = [] {};
  command.take_effect = [this] { retention_.resume(); };
  return loop_.ask(std::move(command));
}

}  // namespace trainyard
