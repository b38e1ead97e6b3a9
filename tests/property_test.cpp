// What must hold under every policy there is, and every one that will be: the suite takes them from
// the registry, all presets and every member of every stage among different companions, and runs
// each on random cases. A failure prints the seed that repeats it (TRAINYARD_TEST_SEED=n).
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "bound/gangs.h"
#include "bound/lower_bound.h"
#include "every_policy.h"
#include "perf/catalogue_speed.h"
#include "sim/simulation.h"
#include "testing.h"
#include "yard_audit.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kStream = 3;  // of random numbers

/// Of changes: then it says itself in whose favour a job leaves.
bool uses_groups(const PolicySpec& spec) {
  const std::string preempt = spec.member("preempt");
  return spec.member("joint") != "none" || preempt == "lease" || preempt == "closer";
}

/// Two cases of three share their network. A policy that decides on single exchanges needs them.
NetworkOptions random_network(std::uint64_t seed, const PolicySpec& spec) {
  using enum NetworkOptions::Model;
  if (seed % 3 == 0) return {};
  return {seed % 3 == 1 && spec.member("flow") != "adadual" ? fluid : iteration, 0, 0};
}

class EveryPolicy : public testing::TestWithParam<std::string> {};

// --- The yard's promises, jobs and books ---------------------------------------------------------

TEST_P(EveryPolicy, KeepsTheYardsPromisesAndFinishesEveryJob) {
  for_seeds(25, kStream, [&](Random& random, std::uint64_t seed) {
    RandomCase made = random_case(random);
    if (seed % 2 == 0) mix_machines(random, made);
    if (seed % 3 == 0) add_users(random, made);
    const PolicySpec spec = parse_policy(GetParam(), random_rules(random));
    Simulation simulation(made.cluster, made.workload, spec,
                          {.seed = seed,
                           .faults = made.faults,
                           .network = random_network(seed, spec),
                           .revisions = made.revisions});
    YardAudit audit(simulation.yard());
    simulation.listen(audit);
    if (uses_groups(spec)) audit.expect_groups();
    for (const Fault& fault : made.faults)
      if (!fault.up && !fault.speed) audit.expect_failure(fault.at, fault.machine);
    while (simulation.step()) {
      audit.inspect();
      if (simulation.network() == nullptr) continue;
      for (const auto& link : simulation.network()->loads())
        ASSERT_LE(link.used, link.capacity * (1 + 1e-6))
            << simulation.network()->links().name(link.link) << "\n"
            << describe(made);
    }
    EXPECT_EQ(audit.problems(), std::vector<std::string>{}) << spec.name() << "\n"
                                                            << describe(made);
    EXPECT_EQ(simulation.refused(), 0u) << spec.name() << "\n" << describe(made);
    const Result result = simulation.result();
    EXPECT_EQ(result.finished, made.workload.jobs.size()) << spec.name() << "\n" << describe(made);
  });
}

// --- Repeatable ----------------------------------------------------------------------------------

std::vector<Time> ends(const Simulation& simulation) {
  std::vector<Time> all;
  for (std::size_t j = 0; j < simulation.yard().jobs(); ++j)
    all.push_back(simulation.yard().state(job_id(j)).end());
  return all;
}

void expect_same(const Result& a, const Result& b) {
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.makespan_s, b.makespan_s);
  for (const auto times : {&Result::all, &Result::trial, &Result::batch}) {
    EXPECT_EQ((a.*times).jobs, (b.*times).jobs);
    EXPECT_EQ((a.*times).jct_s.mean, (b.*times).jct_s.mean);
    EXPECT_EQ((a.*times).wait_s.mean, (b.*times).wait_s.mean);
    EXPECT_EQ((a.*times).slowdown.mean, (b.*times).slowdown.mean);
  }
  EXPECT_EQ(a.preemptions, b.preemptions);
  EXPECT_EQ(a.lost_gpu_s, b.lost_gpu_s);
  EXPECT_EQ(a.gpu_utilization, b.gpu_utilization);
  EXPECT_EQ(a.fairness_jain, b.fairness_jain);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.decisions, b.decisions);
  EXPECT_EQ(a.utilization.share, b.utilization.share);
}

TEST_P(EveryPolicy, Repeats) {
  for_seeds(5, kStream, [&](Random& random, std::uint64_t seed) {
    const RandomCase made = random_case(random);
    const PolicySpec spec = parse_policy(GetParam(), random_rules(random));
    Simulation first(made.cluster, made.workload, spec, {seed, made.faults});
    Simulation second(made.cluster, made.workload, spec, {seed, made.faults});
    first.run();
    second.run();
    EXPECT_EQ(ends(first), ends(second)) << describe(made);
    expect_same(first.result(), second.result());
  });
}

/// Where no job leaves its size or its kind open, a market beside the stages changes nothing.
TEST(AMarketForOpenJobs, LeavesFixedOnesToTheStages) {
  for_seeds(50, kStream, [&](Random& random, std::uint64_t seed) {
    RandomCase made = random_case(random);
    for (Job& job : made.workload.jobs) {
      job.min_workers = job.max_workers = job.workers;
      job.measured_on = kAnyKind;
    }
    // Patience bounds waits under stages that need no bound, too, where a market is beside them.
    const std::string stages = random_policy(random, {"random", "fifo"});
    const std::string market = " joint=market joint.takes=open";
    Simulation alone(made.cluster, made.workload, parse_policy(stages), {seed, made.faults});
    Simulation beside(made.cluster, made.workload, parse_policy(stages + market),
                      {seed, made.faults});
    alone.run();
    beside.run();
    EXPECT_EQ(ends(alone), ends(beside)) << stages << "\n" << describe(made);
    // The market asks what is believed of times, so that the policy is woken to look at that again.
    if (stages.find("estimates=residual") == std::string::npos)
      expect_same(alone.result(), beside.result());
  });
}

/// Machines that fail or come back at the same instant do so in any order. (Lots that are drawn
/// fall on others when jobs come back to the queue in another order.)
TEST_P(EveryPolicy, DoesNotDependOnTheOrderOfWhatIsSimultaneous) {
  if (parse_policy(GetParam()).member("preempt") == "random") GTEST_SKIP() << "draws lots";
  for_seeds(10, kStream, [&](Random& random, std::uint64_t seed) {
    const RandomCase made = random_case(random);
    std::vector<std::string> settings = random_rules(random);
    if (parse_policy(GetParam()).member("preempt") == "fitgpp")
      settings.emplace_back("preempt.fallback=none");
    const PolicySpec spec = parse_policy(GetParam(), settings);
    std::vector<Fault> other = made.faults;
    std::stable_sort(other.begin(), other.end(), [](const Fault& a, const Fault& b) {
      return a.at != b.at ? a.at < b.at : a.machine > b.machine;
    });
    Simulation first(made.cluster, made.workload, spec, {seed, made.faults});
    Simulation second(made.cluster, made.workload, spec, {seed, other});
    first.run();
    second.run();
    EXPECT_EQ(ends(first), ends(second)) << spec.name() << "\n" << describe(made);
  });
}

// --- The lower bound ---------------------------------------------------------------------------

TEST_P(EveryPolicy, HasNoLowerMeanJctThanTheBound) {
  for_seeds(10, kStream, [&](Random& random, std::uint64_t seed) {
    const CaseStyle style{.max_jobs = seed % 2 == 0 ? 5U : 25U, .faults = false, .changes = false};
    const RandomCase made = random_case(random, style);
    const CatalogueSpeed speed(made.cluster, made.workload, Catalogue::builtin());
    const std::vector<Gang> gangs = gangs_of(made.workload, made.cluster, speed);
    const LowerBound bound = lower_bound(gangs, made.cluster.total_gpus);
    Simulation simulation(made.cluster, made.workload, parse_policy(GetParam()), {.seed = seed});
    simulation.run();
    EXPECT_GE(simulation.result().all.jct_s.mean, bound.mean_jct_s) << describe(made);
  });
}

// --- Why a job waits -----------------------------------------------------------------------------

/// The number between `before` and the next character that is none, if the text has `before`.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  std::int64_t number = 0;
  text.remove_prefix(at + before.size());
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{}) return {};
  return number;
}

/// What the sentence says of the job's own needs, up to the first that is about another.
void expect_true_numbers(const Yard& yard, JobId id, std::string_view sentence) {
  const Job& job = yard.job(id);
  const std::string own(sentence.substr(0, sentence.find("behind job")));
  const FreeIndex::OfKind& of = yard.free().of(yard.shape(id).kind);
  if (const auto needs = number_after(own, "needs ")) {
    const bool in_gpus = job.per_worker.gpus == 1 || job.workers == 1;
    EXPECT_EQ(*needs, in_gpus ? job.gpus() : job.workers) << sentence;
  }
  const auto has = [&](std::string_view words) { return own.find(words) != std::string::npos; };
  if (has(" free") && !has("most free") && !has("is kept free")) {
    std::int64_t free_gpus = 0;
    for (std::size_t m = of.machines.next(0, 1); m != CountIndex::kNone;
         m = of.machines.next(m + 1, 1)) {
      const MachineId machine{static_cast<std::uint32_t>(m)};
      if (yard.shape(id).demand(machine) != kForbidden) free_gpus += yard.free().on(machine).gpus;
    }
    EXPECT_EQ(number_after(own, "; "), free_gpus) << sentence;
    EXPECT_LT(free_gpus, job.gpus()) << sentence;
  }
  if (const auto most = number_after(own, "the most free is ")) {
    EXPECT_LT(*most, job.per_worker.gpus) << sentence;
    const Names names = [&] {
      Names all;
      for (const Machine& machine : yard.cluster().machines) all.add(machine.name);
      return all;
    }();
    std::string where = own.substr(own.find(" on r") + 4);
    where = where.substr(0, where.find_first_not_of("rm0123456789"));
    ASSERT_LT(names.find(where), names.size()) << sentence;
    EXPECT_EQ(yard.free().on(MachineId{names.find(where)}).gpus, *most) << sentence;
  }
  if (const auto room = number_after(own, "there is room for ")) {
    EXPECT_LT(*room, job.workers) << sentence;
  }
}

void expect_reasons(const Simulation& simulation) {
  const Yard& yard = simulation.yard();
  std::vector<std::size_t> places;
  for (std::size_t j = 0; j < yard.jobs(); ++j) {
    const Phase phase = yard.state(job_id(j)).phase;
    if (phase != Phase::queued && phase != Phase::reserved) continue;
    const WaitReason reason = simulation.policy().explain(job_id(j));
    EXPECT_FALSE(reason.token.empty());
    EXPECT_FALSE(reason.sentence.empty());
    EXPECT_EQ(reason.sentence.find("()"), std::string::npos) << reason.sentence;
    if (reason.expected_start) {
      EXPECT_GE(*reason.expected_start, yard.now());
    }
    if (phase == Phase::queued) {
      places.push_back(reason.place);
      expect_true_numbers(yard, job_id(j), reason.sentence);
    } else {
      EXPECT_EQ(reason.place, 0u);
    }
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i], i + 1);
}

TEST_P(EveryPolicy, GivesEveryWaitingJobAReason) {
  for_seeds(12, kStream, [&](Random& random, std::uint64_t seed) {
    RandomCase made = random_case(random);
    if (seed % 2 == 0) mix_machines(random, made);
    const PolicySpec spec = parse_policy(GetParam(), random_rules(random));
    Simulation simulation(made.cluster, made.workload, spec, {seed, made.faults});
    while (!testing::Test::HasFailure() && simulation.step()) expect_reasons(simulation);
    if (testing::Test::HasFailure())
      ADD_FAILURE() << "at " << simulation.yard().now().seconds() << " s under " << spec.name()
                    << "\n"
                    << describe(made);
  });
}

// --- Starvation ----------------------------------------------------------------------------------

constexpr Duration kSmall = seconds(100);

/// A gang that wants the whole cluster, amid small jobs that leave a tenth of it free.
Workload gang_in_a_stream(Random& random, const Cluster& cluster) {
  Workload workload;
  const double gap_s = kSmall.seconds() / (0.9 * cluster.total_gpus);
  double at_s = 0;
  for (int i = 0; i < 2000; ++i) {
    if (i == 200) {
      Job gang;
      gang.submit = Time{static_cast<std::int64_t>(at_s * 1e6)};
      gang.duration = gang.estimate = seconds(500);
      gang.workers = gang.min_workers = gang.max_workers = cluster.total_gpus;
      workload.jobs.push_back(gang);
    }
    Job small;
    at_s += random.exponential(gap_s);
    small.submit = Time{static_cast<std::int64_t>(at_s * 1e6)};
    small.duration = small.estimate = kSmall - seconds(static_cast<std::int64_t>(random.below(50)));
    small.job_class = random.uniform() < 0.3 ? JobClass::trial : JobClass::batch;
    workload.jobs.push_back(small);
  }
  return workload;
}

Duration wait_of_the_gang(const Cluster& cluster, const Workload& workload,
                          const PolicySpec& spec) {
  Simulation simulation(cluster, workload, spec, {});
  simulation.run();
  const JobId gang = job_id(200);
  return simulation.yard().state(gang).first_start - workload.jobs[200].submit;
}

TEST_P(EveryPolicy, DoesNotStarveAGangBeyondPatience) {
  const Cluster cluster = *parse_cluster_shorthand("4x4xV100");
  Random random(7);
  const Workload workload = gang_in_a_stream(random, cluster);
  const PolicySpec spec = parse_policy(GetParam(), {"queue.patience=10m"});
  // Nobody passes it after its patience, or after twice that where trial jobs go first; those that
  // run then are done, or room was being made.
  const bool trials_pass = spec.member("order") == "trial-first";
  EXPECT_LE(wait_of_the_gang(cluster, workload, spec),
            minutes(10) * (trials_pass ? 2 : 1) + kSmall * 2);
}

/// A long job on all GPUs, and for half an hour a job of a second every few seconds.
Workload long_among_short(Random& random) {
  Workload workload;
  Job job;
  job.workers = job.min_workers = job.max_workers = 1;
  job.per_worker = {2, 0, 0};
  job.job_class = JobClass::batch;
  job.duration = job.estimate = minutes(30);
  job.load = seconds(static_cast<std::int64_t>(random.below(60)));
  job.grace = seconds(1), job.save = seconds(static_cast<std::int64_t>(random.below(5)));
  workload.users.add("ada");
  job.user = UserId{0};
  const auto add = [&](const Job& next) {
    workload.jobs.push_back(next);
    workload.names.push_back(std::to_string(workload.jobs.size()));
  };
  add(job);
  job.per_worker = {1, 0, 0};
  job.duration = job.estimate = seconds(1);
  job.load = job.save = job.grace = {};
  for (Time at = Time{} + seconds(5); at < Time{} + minutes(30);
       at = at + seconds(static_cast<std::int64_t>(1 + random.below(10)))) {
    job.submit = at;
    job.job_class = random.below(2) == 0 ? JobClass::trial : JobClass::batch;
    add(job);
  }
  return workload;
}

/// However short the others are, every run of it that is paused has got on by min_run.
TEST_P(EveryPolicy, GetsOnWithAJobBetweenPauses) {
  for_seeds(3, kStream, [&](Random& random, std::uint64_t seed) {
    const Cluster cluster = *parse_cluster_shorthand("1x2xV100");
    const Workload workload = long_among_short(random);
    const PolicySpec spec =
        parse_policy(GetParam(), {"yard.min_run=10s", "yard.min_stay=10s", "queue.patience=7d"});
    Simulation simulation(cluster, workload, spec, {.seed = seed});
    const auto most = static_cast<std::uint32_t>(workload.jobs[0].duration.us / seconds(10).us);
    while (simulation.step()) {
      const JobState& state = simulation.yard().state(job_id(0));
      ASSERT_GE(state.done, seconds(10) * state.pauses) << spec.name() << ", seed " << seed;
      ASSERT_LE(state.pauses, most) << spec.name() << ", seed " << seed;
    }
    EXPECT_EQ(simulation.result().finished, workload.jobs.size()) << spec.name();
  });
}

TEST(StrictOrder, NeedsNoPatience) {
  const Cluster cluster = *parse_cluster_shorthand("4x4xV100");
  Random random(7);
  const Workload workload = gang_in_a_stream(random, cluster);
  for (const std::string line : {"order=fifo", "order=fifo backfill=easy"})
    for (const MemberInfo& place : stage_infos()[2].members) {
      const PolicySpec spec = parse_policy(line + " place=" + place.name, {"queue.patience=never"});
      EXPECT_LE(wait_of_the_gang(cluster, workload, spec), kSmall * 2) << spec.name();
    }
}

INSTANTIATE_TEST_SUITE_P(All, EveryPolicy, testing::ValuesIn(all_policies()), [](const auto& line) {
  return as_test_name(fmt::format("{}_{}", line.index, line.param));
});

// --- EASY ----------------------------------------------------------------------------------------

TEST(Easy, StartsTheHeadByTheTimeReservedForIt) {
  for_seeds(300, kStream, [](Random& random, std::uint64_t seed) {
    const RandomCase made = random_case(random, {.wrong_estimates = false, .faults = false});
    const auto& places = stage_infos()[2].members;
    const PolicySpec spec =
        parse_policy("order=fifo backfill=easy place=" + places[random.below(places.size())].name);
    // How far apart a job will be placed, and so when it ends, nobody knows before: without that.
    Simulation simulation(made.cluster, made.workload, spec, {seed, {}, nullptr});
    std::vector<Time> promised(made.workload.jobs.size(), Time::never());
    while (simulation.step()) {
      const Yard& yard = simulation.yard();
      for (std::size_t j = 0; j < yard.jobs(); ++j) {
        const JobState& state = yard.state(job_id(j));
        EXPECT_LE(state.first_start == Time::never() ? yard.now() : state.first_start, promised[j])
            << "job " << j << " under " << spec.name() << "\n"
            << describe(made);
        if (state.phase != Phase::queued) continue;
        const WaitReason reason = simulation.policy().explain(job_id(j));
        if (reason.place == 1 && reason.expected_start)
          promised[j] = std::min(promised[j], *reason.expected_start);
      }
      if (testing::Test::HasFailure()) return;
    }
  });
}

}  // namespace
}  // namespace trainyard
