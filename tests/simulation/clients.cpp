#include "clients.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "live/client/client.h"
#include "live/loop/live_demand.h"
#include "policy/registry.h"

namespace trainyard {
namespace {

using nlohmann::json;

const Identity kOperator{"root", 0, 0, Role::operator_};

std::vector<Identity> some_users() {
  std::vector<Identity> users;
  for (const char* name : {"ada", "bob", "eve"})
    users.push_back({name, static_cast<uid_t>(1001 + users.size()), 1000, Role::user});
  return users;
}

std::vector<Identity> with_operator(std::vector<Identity> users) {
  users.push_back(kOperator);
  return users;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  return names;
}

}  // namespace

Clients::Clients(SimulatedMachine& machine, std::uint64_t seed, const SchedulingOptions& options)
    : machine_(machine),
      lots_(seed, 21),
      disk_(options.disk / 4),
      is_eve_greedy_(lots_.below(3) == 0),
      users_(some_users()),
      wire_(machine, seed, with_operator(users_)),
      policies_{{0, options.policy.policy}},
      configured_policy_(options.policy.policy) {
  machine_.meanwhile = [this] {
    if (depth_ >= 3 || lots_.below(4) != 0) return false;
    ask_something();
    return true;
  };
}

const Identity& Clients::somebody() {
  return users_[lots_.below(users_.size())];
}

JobNumber Clients::some_number() {
  if (numbers_.empty() || lots_.below(20) == 0) return static_cast<JobNumber>(lots_.below(100));
  // Rather a new one.
  const std::size_t back = std::min(lots_.below(numbers_.size()), lots_.below(numbers_.size()));
  return numbers_[numbers_.size() - 1 - back];
}

Clients::Asked Clients::ask(const Identity& who, const std::string& method, const std::string& path,
                            std::string body, std::multimap<std::string, std::string> query) {
  std::string target = path;
  for (const auto& [name, value] : query)
    target += fmt::format("{}{}={}", target == path ? "?" : "&", name, url_encoded(value));
  ++depth_;
  const Wire::Answer answer = wire_.ask({who, method, target, std::move(body)});
  --depth_;
  const bool waits = lots_.below(20) != 0;
  last_ = fmt::format("{} {} {} {}", who.user, method, path,
                      machine_.is_dead() ? "-" : std::to_string(answer.status));
  const bool is_answered = !machine_.is_dead() && (waits || !answer.is_whole);
  return {{.status = answer.status, .body = answer.body}, is_answered, answer.is_whole};
}

void Clients::ask_something() {
  if (!machine_.is_up()) return;
  if (depth_ == 0 && lots_.below(6) == 0) wire_.make_trouble();
  if (!machine_.is_up()) return;
  const std::uint64_t lot = lots_.below(100);
  if (lot < 50) return submit();
  if (lot < 70) return cancel();
  if (lot < 75) return use_machine();
  if (lot < 79) return set_policy();
  if (lot < 81) return resume_erasing();
  if (lot < 85) return lie();
  if (lot < 88) return ask_as_agent();
  look();
}

// --- Jobs ----------------------------------------------------------------------------------------

JobSpec Clients::some_job(const Identity& who) {
  JobSpec spec;
  spec.command = {"train", std::string(lots_.below(8) == 0 ? 3000 : 5, 'x')};
  spec.per_worker.gpus = static_cast<std::int32_t>(lots_.below(5));
  spec.workers = static_cast<std::int32_t>(1 + lots_.below(3) * lots_.below(2));
  spec.job_class = lots_.below(3) == 0 ? JobClass::trial : JobClass::batch;
  if (lots_.below(5) == 0) spec.max_workers = spec.workers + 2;
  if (lots_.below(3) == 0) spec.time = minutes(static_cast<std::int64_t>(1 + lots_.below(120)));
  spec.grace = seconds(static_cast<std::int64_t>(lots_.below(90)));
  if (lots_.below(6) == 0) spec.signal.number = 10;
  if (lots_.below(8) == 0) spec.environment = {{"KEY", "value"}};
  if (lots_.below(10) == 0) spec.exclusive = true;
  if (lots_.below(4) == 0)
    spec.constraint = std::array{"ib", "ib", "ib|v100", "v100|a100", "nvlink"}[lots_.below(5)];
  if (lots_.below(6) == 0) spec.per_worker.milli_cpus = 1000;
  if (lots_.below(6) == 0)
    spec.array = std::array{"0-3", "1-5%2", "0,2,7", "0-9%1"}[lots_.below(4)];
  for (std::uint64_t i = lots_.below(3) == 0 ? 1 + lots_.below(2) : 0; i > 0; --i) {
    const JobNumber other = some_number();
    const bool is_theirs = std::ranges::any_of(submissions_, [&](const auto& entry) {
      return entry.second.number == other && entry.second.who.uid == who.uid;
    });
    if (other > 0 && (is_theirs || lots_.below(10) == 0)) spec.after.push_back(other);
  }
  return spec;
}

void Clients::submit() {
  const Identity who = is_eve_greedy_ && lots_.below(2) == 0 ? users_.back() : somebody();
  JobSpec spec = some_job(who);
  if (is_eve_greedy_ && who.uid == users_.back().uid)
    spec.script = "#!" + std::string(200'000, 'x');
  const std::string tag = fmt::format("t{}", submissions_.size());
  spec.name = tag;
  const std::size_t tasks = spec.array.empty() ? 1 : parse_job_array(spec.array)->tasks.size();
  Submission made{who, tag, tasks, Submission::Fate::unknown, 0, !spec.array.empty()};
  submissions_[tag] = made;
  const Cluster before = machine_.engine().cluster();  // which may change within the turn
  const Asked asked = ask(who, "POST", "/v1/jobs", to_json(spec).dump());
  Submission& known = submissions_[tag];
  if (!asked.is_answered) return;
  known.fate = Submission::Fate::refused;
  check_refusal(who, asked.reply);
  if (asked.reply.status != 201) return;
  const json answer = json::parse(asked.reply.body);
  known.fate = Submission::Fate::accepted;
  known.number = answer.at("job");
  if (answer.value("tasks", std::size_t{1}) != tasks)
    complaint_ = fmt::format("{} has {} tasks: {}", tag, tasks, asked.reply.body);
  const std::string why = misfit(spec, before);
  if (!why.empty() && !misfit(spec, machine_.engine().cluster()).empty())
    complaint_ = fmt::format("{} was accepted, and could never run: it {}", tag, why);
  take_number(known.number);
}

void Clients::take_number(JobNumber number) {
  numbers_.push_back(number);
  if (!given_.insert(number).second)
    complaint_ = fmt::format("job number {} was given a second time", number);
}

void Clients::recall(const Promises& then) {
  for (auto& [tag, submission] : submissions_) {
    const auto known = then.submissions.find(tag);
    submission.fate =
        known == then.submissions.end() ? Submission::Fate::unknown : known->second.fate;
  }
  numbers_ = then.numbers;
  cancelled_.clear();
  policies_ = then.policies;
}

/// Whatever others have on disk, a user who has little may submit.
void Clients::check_refusal(const Identity& who, const Reply& reply) {
  constexpr std::int64_t kOneJob = 50'000;
  const bool is_for_disk = reply.body.find("the daemon's disk") != std::string::npos ||
                           (reply.body.find("disk of the daemon's state") != std::string::npos &&
                            !machine_.was_ever_full());
  if (!is_for_disk || (is_eve_greedy_ && who.uid == users_.back().uid)) return;
  const auto own = machine_.journal().disk_use(who.uid);
  if (own && own->sum() + kOneJob < disk_)
    complaint_ = fmt::format("{} takes {} bytes of the disk, and is refused: {}", who.user,
                             own->sum(), reply.body);
}

void Clients::cancel() {
  const JobNumber number = some_number();
  const Identity who = lots_.below(4) == 0 ? kOperator : somebody();
  const bool has_reserve = machine_.has_reserve();
  const Asked asked = ask(who, "DELETE", fmt::format("/v1/jobs/{}", number));
  const bool only_full =
      machine_.is_full() && has_reserve && !machine_.is_meddled_with() && !machine_.fails_sync();
  if (asked.is_answered && asked.reply.status == 503 && only_full &&
      asked.reply.body.find("disk is full") != std::string::npos)
    complaint_ =
        fmt::format("on a full disk job {} cannot be cancelled: {}", number, asked.reply.body);
  if (!asked.is_answered || asked.reply.status != 200) return;
  const auto jobs = machine_.master().find(kOperator, {number, {}});
  if (!jobs) return;
  for (const JobNumber job : *jobs)
    if (const auto record = machine_.master().job(kOperator, job);
        record && !cancelled_.contains(job))
      cancelled_[job] = record->runs;
}

// --- What operators do ---------------------------------------------------------------------------

void Clients::set_policy() {
  static const std::vector<std::string> names = policy_names();
  const std::string name = names[lots_.below(names.size())];
  const Identity who = lots_.below(5) == 0 ? somebody() : kOperator;
  const std::uint64_t turn = ++policies_asked_;
  if (who.role == Role::operator_) policies_[turn] = name;
  const json body{{"policy", name}, {"settings", json::array()}};
  const Asked asked = ask(who, "PUT", "/v1/policy", body.dump());
  const bool is_set = asked.is_answered && asked.reply.status == 200;
  if (!asked.is_whole) policies_.erase(turn);
  if (is_set) policies_.erase(policies_.begin(), policies_.lower_bound(turn));
}

void Clients::use_machine() {
  const auto cluster = machine_.master().cluster(kOperator);
  const std::string& name = cluster->machines[lots_.below(cluster->machines.size())].name;
  (void)ask(kOperator, "POST",
            fmt::format("/v1/machines/{}/{}", name, lots_.below(3) == 0 ? "close" : "open"));
}

/// An agent of flow classes comes, or asks again: from then on, and for a while, flow stages act.
void Clients::ask_as_agent() {
  const auto cluster = machine_.master().cluster(kOperator);
  const std::string name = cluster->machines[lots_.below(cluster->machines.size())].name;
  ++depth_;
  const auto flows = machine_.master().flows(kOperator, name, true);
  --depth_;
  last_ = fmt::format("an agent of {} asks for flow classes", name);
  if (machine_.is_dead() || !flows) return;
  if (!flows->jobs.empty() && !flows->terms.carried_out)
    complaint_ = "there are flow classes that nobody carries out";
  for (const MachineFlows::Job& job : flows->jobs)
    if (static_cast<std::size_t>(job.flow.flow) >= flows->terms.classes)
      complaint_ = fmt::format("job {} is in flow class {} of {}", job.flow.run.job,
                               static_cast<int>(job.flow.flow), flows->terms.classes);
}

void Clients::resume_as_operator() {
  const auto done = machine_.master().resume_erasing(kOperator);
  if (done) accepted_clocks_ = {machine_.set_by()};
}

void Clients::resume_erasing() {
  const Identity who = lots_.below(4) == 0 ? somebody() : kOperator;
  const Duration clock = machine_.set_by();
  const Asked asked = ask(who, "POST", "/v1/retention/resume");
  const bool is_done = asked.is_answered && asked.reply.status == 200;
  if (is_done && who.role != Role::operator_)
    complaint_ = fmt::format("{}, who is no operator, has erasing resumed", who.user);
  if (is_done) accepted_clocks_.clear();
  if (is_done || !asked.is_answered) accepted_clocks_.push_back(clock);
}

// --- What is only looked at ----------------------------------------------------------------------

void Clients::look() {
  const Identity who = lots_.below(3) == 0 ? kOperator : somebody();
  const std::string job = fmt::format("/v1/jobs/{}", some_number());
  switch (lots_.below(8)) {
    case 7:
      return (void)ask(who, "GET", "/v1/retention");
    case 0:
      return (void)ask(who, "GET", "/v1/jobs");
    case 1:
      return (void)ask(who, "GET", job);
    case 2:
      return (void)ask(who, "GET", job + "/why");
    case 3:
      return (void)ask(who, "GET", "/v1/history");
    case 4:
      return (void)ask(who, "GET", "/v1/cluster");
    case 5:
      return (void)ask(kOperator, "GET", "/metrics");
    default:
      return (void)ask(who, "GET", "/healthz");
  }
}

/// Bytes that were a job once, numbers that nobody has, names that are nobody's.
void Clients::lie() {
  const Identity who = somebody();
  std::string body = to_json(some_job(who)).dump();
  for (std::uint64_t i = 1 + lots_.below(4); i > 0 && !body.empty(); --i) {
    const std::size_t at = lots_.below(body.size());
    if (lots_.below(2) == 0) {
      body.erase(at, 1 + lots_.below(8));
    } else {
      body[at] = "{}[],:\"0-9\\\xff"[lots_.below(12)];
    }
  }
  switch (lots_.below(4)) {
    case 0:
      return (void)ask(who, "DELETE", fmt::format("/v1/jobs/{}", lots_.bits()));
    case 1:
      return (void)ask(who, "PUT", "/v1/policy", body);
    case 2:
      return (void)ask(who, "GET", "/v1/jobs", "", {{"before", "-1"}, {"state", "dne"}});
    default: {
      // It may still be a job.
      const Asked asked = ask(who, "POST", "/v1/jobs", body);
      if (!asked.is_answered || asked.reply.status != 201) return;
      take_number(json::parse(asked.reply.body).at("job"));
    }
  }
}

}  // namespace trainyard
