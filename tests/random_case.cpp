#include "random_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "policy/registry.h"

namespace trainyard {
namespace {

constexpr Duration kGrid = seconds(10);

Duration on_grid(Random& random, std::uint64_t most) {
  return kGrid * static_cast<std::int64_t>(random.below(most + 1));
}

bool chance(Random& random, double p) {
  return random.uniform() < p;
}

std::int32_t from_1_to(Random& random, std::int32_t most) {
  return 1 + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(most)));
}

Cluster random_cluster(Random& random) {
  static const std::vector<std::string> kKinds{"V100", "A100"};
  const std::uint64_t kinds = 1 + random.below(2);
  const std::int32_t machines = from_1_to(random, 6);
  const std::int32_t largest = std::int32_t{1} << random.below(4);
  Cluster cluster;
  cluster.add_rack(0);
  for (std::int32_t m = 0; m < machines; ++m) {
    if (m > 0 && chance(random, 0.3)) cluster.add_rack(0);
    Machine machine;
    machine.capacity.gpus = chance(random, 0.7) ? largest : from_1_to(random, largest);
    machine.capacity.milli_cpus = machine.capacity.gpus * 4000;
    machine.capacity.memory_mib = machine.capacity.gpus * 1024;
    (void)cluster.add_machines(1, machine, kKinds[random.below(kinds)]);
  }
  return cluster;
}

/// What all jobs of a case have in common.
struct Mix {
  double gangs, cpus, trials, own_kind, costs, checkpoints, wrong_estimates, measured, elastic;
  std::uint64_t span, longest;  // in steps of the grid
};

Mix random_mix(Random& random, const CaseStyle& style) {
  const auto share = [&](bool allowed) { return allowed && chance(random, 0.6) ? 0.5 : 0.0; };
  Mix mix{};
  mix.gangs = share(true);
  mix.cpus = share(true) / 2;
  mix.trials = share(true);
  mix.own_kind = share(true) / 2;
  mix.costs = share(style.pause_costs);
  mix.checkpoints = share(style.pause_costs);
  mix.wrong_estimates = share(style.wrong_estimates);
  mix.span = 1 + random.below(100);
  mix.longest = 1 + random.below(60);
  mix.measured = share(true);
  mix.elastic = share(true);
  return mix;
}

Job random_job(Random& random, const Mix& mix, const Cluster& cluster, const Workload& workload) {
  Job job;
  job.submit = Time{} + on_grid(random, mix.span);
  job.duration = kGrid + on_grid(random, mix.longest);
  job.estimate = job.duration;
  if (chance(random, mix.wrong_estimates)) job.estimate = kGrid + on_grid(random, mix.longest);
  if (chance(random, mix.costs)) {
    job.grace = on_grid(random, 2);
    job.save = on_grid(random, 3);
    job.load = on_grid(random, 3);
  }
  if (chance(random, mix.checkpoints)) {
    job.checkpoint_interval = kGrid + on_grid(random, 10);
    job.checkpoint_cost = on_grid(random, 1);
  }
  job.per_worker.gpus = from_1_to(random, cluster.largest_machine_gpus);
  if (chance(random, 0.4)) job.per_worker.gpus = chance(random, 0.1) ? 0 : 1;
  if (chance(random, mix.gangs)) job.workers = from_1_to(random, 6);
  if (chance(random, mix.cpus)) job.per_worker.milli_cpus = 1000 * from_1_to(random, 8);
  if (chance(random, mix.cpus)) job.per_worker.memory_mib = 256 * from_1_to(random, 8);
  if (chance(random, mix.trials)) job.job_class = JobClass::trial;
  if (chance(random, mix.own_kind))
    job.kind = KindId{static_cast<std::uint16_t>(random.below(cluster.kinds.size()))};
  if (chance(random, 0.5))
    job.model = ModelId{static_cast<std::uint16_t>(random.below(workload.models.size()))};
  job.min_workers = job.max_workers = job.workers;
  if (chance(random, mix.elastic)) {
    job.min_workers = from_1_to(random, job.workers);
    job.max_workers += static_cast<std::int32_t>(random.below(4));
  }
  if (chance(random, mix.measured))
    job.measured_on = KindId{static_cast<std::uint16_t>(random.below(workload.kinds.size()))};
  return job;
}

std::vector<Fault> random_faults(Random& random, const Cluster& cluster) {
  std::vector<Fault> faults;
  Time last;
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    const MachineId machine{static_cast<std::uint32_t>(random.below(cluster.machines.size()))};
    const Time down = Time{} + on_grid(random, 150), up = down + on_grid(random, 30);
    faults.push_back({down, machine, false});
    faults.push_back({up, machine, true});
    last = std::max(last, up);
  }
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  // Failures of one machine may overlap or coincide; in the end all of them work.
  for (std::size_t m = 0; m < cluster.machines.size() && !faults.empty(); ++m)
    faults.push_back({last, MachineId{static_cast<std::uint32_t>(m)}, true});
  return faults;
}

/// On top of failures: machines that are slow, or faster, for a while or for good.
void add_speeds(Random& random, const Cluster& cluster, std::vector<Fault>& faults) {
  constexpr std::array kSpeeds{0.5, 0.7, 1.0, 1.0, 1.5};
  for (std::uint64_t n = 1 + random.below(6); n > 0; --n) {
    const MachineId machine{static_cast<std::uint32_t>(random.below(cluster.machines.size()))};
    faults.push_back(
        {Time{} + on_grid(random, 150), machine, false, kSpeeds[random.below(kSpeeds.size())]});
  }
  std::stable_sort(faults.begin(), faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
}

/// Of most jobs.
void add_curves(Random& random, Workload& workload) {
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    LearningCurve& curve = workload.curves.emplace_back();
    if (chance(random, 0.8)) curve = *make_learning_curve(0.9, 0, random.uniform(0.05, 0.8));
  }
}

std::vector<Event> random_revisions(Random& random, const Workload& workload,
                                    std::uint64_t longest) {
  std::vector<Event> revisions;
  for (std::uint64_t n = 1 + random.below(10); n > 0; --n) {
    const JobId job{static_cast<std::uint32_t>(random.below(workload.jobs.size()))};
    revisions.push_back(Event::estimate_of(Time{} + on_grid(random, 150), job,
                                           {.work = kGrid + on_grid(random, longest)}));
  }
  std::stable_sort(revisions.begin(), revisions.end(),
                   [](const Event& a, const Event& b) { return a.at < b.at; });
  return revisions;
}

}  // namespace

std::string one_of(Random& random, const std::vector<std::string>& words) {
  return words[random.below(words.size())];
}

RandomCase random_case(Random& random, const CaseStyle& style) {
  RandomCase made;
  made.cluster = random_cluster(random);
  for (const std::string& kind : made.cluster.kinds) made.workload.kinds.add(kind);
  made.workload.kinds.add("P100");  // which only durations are of
  for (const char* model : {"VGG16", "ResNet50", "AlexNet"}) made.workload.models.add(model);
  const Mix mix = random_mix(random, style);
  const std::size_t wanted = 5 + random.below(style.max_jobs - 4);
  while (made.workload.jobs.size() < wanted) {
    const Job job = random_job(random, mix, made.cluster, made.workload);
    if (misfit(made.workload, job, made.cluster).empty()) made.workload.jobs.push_back(job);
  }
  std::stable_sort(made.workload.jobs.begin(), made.workload.jobs.end(),
                   [](const Job& a, const Job& b) { return a.submit < b.submit; });
  if (style.faults && chance(random, 0.5)) made.faults = random_faults(random, made.cluster);
  if (style.changes && chance(random, 0.5)) add_speeds(random, made.cluster, made.faults);
  if (style.changes && chance(random, 0.5))
    made.revisions = random_revisions(random, made.workload, mix.longest);
  if (style.changes && chance(random, 0.5)) add_curves(random, made.workload);
  return made;
}

namespace {

MachineTerms random_terms(Random& random, const Cluster& cluster) {
  MachineTerms terms;
  const std::string name = cluster.machines[random.below(cluster.machines.size())].name;
  if (chance(random, 0.6))
    terms.constraint = *parse_constraint(
        one_of(random, {"ib", "nvlink", "ib|nvlink", "ib&nvlink", "v100", "a100&ib|v100", name}));
  terms.shares_cpus = chance(random, 0.5);
  terms.shares_memory = chance(random, 0.3);
  return terms;
}

}  // namespace

void mix_machines(Random& random, RandomCase& made) {
  for (Machine& machine : made.cluster.machines) {
    if (chance(random, 0.5)) machine.features.emplace_back("ib");
    if (chance(random, 0.3)) machine.features.emplace_back("NVLink");
    if (chance(random, 0.5)) machine.capacity.milli_cpus *= 3;
    if (chance(random, 0.3)) machine.capacity.memory_mib *= 2;
  }
  for (Job& job : made.workload.jobs) {
    if (chance(random, 0.4)) continue;
    Job with_terms = job;
    with_terms.terms = made.workload.terms.add(random_terms(random, made.cluster));
    if (misfit(made.workload, with_terms, made.cluster).empty()) job = with_terms;
  }
}

void add_users(Random& random, RandomCase& made) {
  const std::int32_t users = from_1_to(random, 3);
  for (std::int32_t u = 0; u < users; ++u) made.workload.users.add(fmt::format("u{}", u));
  for (Job& job : made.workload.jobs)
    job.user = UserId{static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(users)))};
}

std::string random_policy(Random& random, const std::vector<std::string>& without) {
  std::string line;
  for (const StageInfo& stage : stage_infos()) {
    std::vector<const MemberInfo*> members;
    for (const MemberInfo& member : stage.members)
      if (std::find(without.begin(), without.end(), member.name) == without.end())
        members.push_back(&member);
    const std::string& name = members[random.below(members.size())]->name;
    if (stage.kind == StageInfo::Kind::stage) line += stage.name + "=" + name + " ";
    if (stage.name == "order" && name == "las" && chance(random, 0.8))
      line += "order.thresholds=1m/5m ";
    if (name == "trial-first")
      line += fmt::format("order.reentry={} order.within={} ",
                          one_of(random, {"head", "submission", "tail"}),
                          one_of(random, {"submission", "remaining"}));
    if (name == "fitgpp")
      line += fmt::format("preempt.s={} preempt.P={} preempt.normalise={} ",
                          one_of(random, {"0", "0.5", "4"}), one_of(random, {"1", "2", "64"}),
                          one_of(random, {"all", "candidates"}));
    if (name == "lease")
      line += fmt::format("preempt.lease={} preempt.pays={} ",
                          one_of(random, {"20s", "1m", "3m", "never"}),
                          one_of(random, {"moved", "moved", "always"}));
    if (name == "lwf") line += fmt::format("place.k={} ", one_of(random, {"1", "3", "100"}));
    if (name == "consolidate") line += "place.wait_for=";
    if (name == "consolidate") line += one_of(random, {"all", "skewed", "none"}) + " ";
  }
  static const std::vector<std::string> kPatience{"7d", "5m", "1m", "0", "never"};
  static const std::vector<std::string> kFairWait{"0", "0", "0.01", "0.1"};
  static const std::vector<std::string> kMinRun{"1m", "0", "30s"};
  static const std::vector<std::string> kMaxPauses{"64", "1", "3"};
  static const std::vector<std::string> kTurn{"1h", "1m", "0", "never"};
  static const std::vector<std::string> kEstimates{"declared", "residual"};
  line += fmt::format(
      "queue.trial_worth={} queue.critical={} queue.overdue_share={} queue.trial_rooms={} ",
      one_of(random, {"1", "1", "10", "30"}), one_of(random, {"ordinary", "first"}),
      one_of(random, {"1", "0.5", "0.1"}), one_of(random, {"none", "none", "kept"}));
  return line + fmt::format(
                    "queue.patience={} queue.fair_wait={} yard.min_run={} yard.max_pauses={} "
                    "yard.turn={} queue.estimates={}",
                    one_of(random, kPatience), one_of(random, kFairWait), one_of(random, kMinRun),
                    one_of(random, kMaxPauses), one_of(random, kTurn), one_of(random, kEstimates));
}

Seeds seeds(std::uint64_t count) {
  const auto number = [](const char* name) -> std::optional<std::uint64_t> {
    const char* text = std::getenv(name);
    if (text == nullptr) return {};
    return std::strtoull(text, nullptr, 10);
  };
  if (const auto seed = number("TRAINYARD_TEST_SEED")) return {*seed, 1};
  return {1, number("TRAINYARD_TEST_CASES").value_or(count)};
}

std::string describe(const RandomCase& made) {
  const auto kind_name = [&](KindId kind) {
    return kind == kAnyKind ? "any" : made.workload.kinds[index(kind)];
  };
  std::string text = describe(made.cluster) + "\n";
  for (const Machine& machine : made.cluster.machines)
    text += fmt::format("  {}: {} GPUs of {}, {} mCPU, {} MiB, features [{}]\n", machine.name,
                        machine.capacity.gpus, made.cluster.kinds[index(machine.kind)],
                        machine.capacity.milli_cpus, machine.capacity.memory_mib,
                        fmt::join(machine.features, " "));
  for (std::size_t j = 0; j < made.workload.jobs.size(); ++j) {
    const Job& job = made.workload.jobs[j];
    text += fmt::format(
        "  job {}: submit {} duration {} estimate {} grace {} save {} load {} checkpoint {}+{} "
        "{} ({} to {}) x ({} GPUs {} mCPU {} MiB) {} kind {} measured on {} model {}\n",
        j, job.submit.seconds(), job.duration.seconds(), job.estimate.seconds(),
        job.grace.seconds(), job.save.seconds(), job.load.seconds(),
        job.checkpoint_interval.seconds(), job.checkpoint_cost.seconds(), job.workers,
        job.min_workers, job.max_workers, job.per_worker.gpus, job.per_worker.milli_cpus,
        job.per_worker.memory_mib, name(job.job_class), kind_name(job.kind),
        kind_name(job.measured_on),
        job.model == kNoModel ? "none" : made.workload.models[index(job.model)]);
    if (job.terms == kNoTerms) continue;
    const MachineTerms& terms = made.workload.terms[job.terms];
    text += fmt::format("    on machines with [{}], share of CPUs {} of memory {}\n",
                        describe(terms.constraint), terms.shares_cpus, terms.shares_memory);
  }
  for (const Fault& fault : made.faults)
    text += fmt::format("  {} {} {}\n", fault.at.seconds(),
                        made.cluster.machines[index(fault.machine)].name,
                        fault.speed ? fmt::format("speed {}", *fault.speed)
                        : fault.up  ? "up"
                                    : "down");
  for (const Event& revision : made.revisions)
    text += fmt::format("  {} job {}: estimate {}\n", revision.at.seconds(), revision.subject,
                        revision.estimate.work.seconds());
  return text;
}

}  // namespace trainyard
