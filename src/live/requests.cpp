// What callers ask to be changed: each is checked, written down, and then takes effect.
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "live/yardmaster.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::size_t kMostUnfinished = 100'000;  // of one user

template <class... Args>
tl::unexpected<Refusal> refuse(Refusal::Kind kind, fmt::format_string<Args...> format,
                               Args&&... args) {
  return tl::make_unexpected(Refusal{kind, fmt::format(format, std::forward<Args>(args)...)});
}

bool may_handle(const Identity& who, const JobRecord& job) {
  return who.role == Role::operator_ ||
         (who.role == Role::user && who.uid == job.owner.uid && who.user == job.owner.user);
}

Answer<void> only_operators(const Identity& who, const char* what) {
  if (who.role == Role::operator_) return {};
  return refuse(Refusal::Kind::forbidden, "only an operator may {}", what);
}

}  // namespace

Answer<void> Yardmaster::check(const Identity& who, const JobSpec& spec) const {
  if (who.role == Role::viewer) return refuse(Refusal::Kind::forbidden, "a viewer submits no jobs");
  if (options_.only_uid && who.uid != *options_.only_uid)
    return refuse(Refusal::Kind::forbidden,
                  "this daemon is not root's and runs jobs of its own user only");
  if (const auto open = unfinished_of_.find(who.uid);
      open != unfinished_of_.end() && open->second >= kMostUnfinished)
    return refuse(Refusal::Kind::conflict,
                  "you have {} jobs that have not ended, which is the most", kMostUnfinished);
  if (const std::string why = yard_.misfit(spec); !why.empty())
    return refuse(Refusal::Kind::invalid, "this job could never run here: it {}", why);
  return check_dependencies(who, spec);
}

Answer<void> Yardmaster::check_dependencies(const Identity& who, const JobSpec& spec) const {
  for (const JobNumber number : spec.after) {
    if (const auto known = jobs_.find(number); known != jobs_.end()) {
      if (may_handle(who, known->second)) continue;
      return refuse(Refusal::Kind::invalid, "there is no job {} of yours to wait for", number);
    }
    const auto ended = journal_.find(number);
    if (!ended) return refuse(Refusal::Kind::unavailable, "{}", ended.error().message);
    if (!*ended || !may_handle(who, **ended))
      return refuse(Refusal::Kind::invalid, "there is no job {} of yours to wait for", number);
    if ((*ended)->phase() != Phase::done)
      return refuse(Refusal::Kind::conflict, "job {} has {}, so this one would never start", number,
                    (*ended)->phase() == Phase::failed ? "failed" : "been cancelled");
  }
  return {};
}

Answer<Submitted> Yardmaster::submit(const Identity& who, JobSpec spec) {
  auto job = std::make_shared<JobRecord>();
  job->owner = who;
  job->spec = std::move(spec);
  Submitted submitted;
  submitted.warnings = warnings(job->spec);
  Command command;
  auto number = std::make_shared<JobNumber>(0);
  command.stage = [this, job, number](JournalChange& change) -> Answer<void> {
    if (auto ok = check(job->owner, job->spec); !ok) return ok;
    job->number = *number = ++last_number_;
    if (job->spec.name.empty()) job->spec.name = fmt::format("job-{}", job->number);
    if (job->spec.exclusive) job->spec.per_worker.gpus = yard_.demand(job->spec).gpus;
    job->submitted = job->life.state.since = now();
    change.submitted.push_back(job.get());
    change.events.push_back(event_of(*job, "submitted", json{{"name", job->spec.name}}.dump()));
    return {};
  };
  command.take_effect = [this, job] {
    ++counters_.submitted;
    (void)take_payload(job->spec);
    JobRecord& record = jobs_.emplace(job->number, std::move(*job)).first->second;
    ++unfinished_of_[record.owner.uid];
    (void)find_dependencies(record);  // unreadable now: it is held until the next start
  };
  if (auto done = ask(std::move(command)); !done) return tl::make_unexpected(done.error());
  submitted.number = *number;
  return submitted;
}

Answer<void> Yardmaster::cancel(const Identity& who, JobNumber number) {
  auto job = std::make_shared<JobRecord>();
  Command command;
  command.stage = [this, who, number, job](JournalChange& change) -> Answer<void> {
    const auto found = jobs_.find(number);
    if (found == jobs_.end()) {
      if (auto ended = visible(who, number); !ended) return tl::make_unexpected(ended.error());
      return {};
    }
    if (!may_handle(who, found->second))
      return refuse(Refusal::Kind::not_found, "there is no job {} of yours", number);
    if (found->second.stopping || found->second.has_ended()) return {};
    *job = found->second;
    job->stopping = true;
    job->reason = fmt::format("cancelled by {}", who.user);
    job->forced = who.uid != job->owner.uid;
    change.changed.push_back(job.get());
    change.events.push_back(event_of(*job, "cancelling", json{{"by", who.user}}.dump()));
    return {};
  };
  command.take_effect = [this, number, job] {
    JobRecord* known = find(number);
    if (known == nullptr || known->has_ended() || known->stopping || job->number == 0) return;
    known->stopping = true;
    known->reason = job->reason;
    known->forced = job->forced;
    stop_for_good(*known);
  };
  return ask(std::move(command));
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
  const auto spec = parse(policy);
  if (!spec) return refuse(Refusal::Kind::invalid, "{}", spec.error().message);
  Command command;
  command.stage = [this, policy](JournalChange& change) -> Answer<void> {
    const std::string text = json{{"policy", policy.policy}, {"settings", policy.settings}}.dump();
    change.settings.emplace_back("policy", text);
    JobRecord nobody;
    change.events.push_back(event_of(nobody, "policy changed", text));
    return {};
  };
  command.take_effect = [this, policy, spec = *spec] {
    policy_ = policy;
    take_orders();  // of the yard that ends now
    if (auto ok = yard_.begin(spec, records(), closed_, now()); !ok)
      throw std::logic_error(ok.error().message);
    update_records();
    decide_ = true;
  };
  return ask(std::move(command));
}

}  // namespace trainyard
