// The simulator against the reference: the same start, finish and number of pauses for every job
// of thousands of small random cases, to the microsecond; where jobs share a network, whose rates
// are no round numbers, to a millionth and a millisecond. A case that fails is made as small as it
// stays failing, and printed with the seed that repeats it (TRAINYARD_TEST_SEED=n).
#include <gtest/gtest.h>

#include <cmath>

#include "every_policy.h"
#include "reference_simulator.h"
#include "sim/simulation.h"
#include "testing.h"

namespace trainyard {
namespace {

/// A case, and what there is beside it.
struct ComparedCase {
  RandomCase made;
  Catalogue models;
  NetworkOptions network = {};
};

std::vector<reference::Outcome> simulated(const ComparedCase& compared, const PolicySpec& spec) {
  const RandomCase& made = compared.made;
  Simulation simulation(made.cluster, made.workload, spec,
                        {.seed = 1,
                         .faults = made.faults,
                         .models = &compared.models,
                         .network = compared.network,
                         .revisions = made.revisions});
  simulation.run();
  std::vector<reference::Outcome> outcomes;
  for (std::size_t j = 0; j < made.workload.jobs.size(); ++j) {
    const JobState& state = simulation.yard().state(JobId{static_cast<std::uint32_t>(j)});
    outcomes.push_back({state.first_start, state.end(), state.pauses});
  }
  return outcomes;
}

bool is_shared(const ComparedCase& compared) {
  return compared.network.model != NetworkOptions::Model::none;
}

std::vector<reference::Outcome> expected(const ComparedCase& compared, const PolicySpec& spec) {
  const RandomCase& made = compared.made;
  return reference::simulate(
      {made.cluster, made.workload, made.faults, made.revisions,
       is_shared(compared) ? &compared.models : nullptr, compared.network.loss},
      reference::settings_of(spec));
}

bool is_near(const reference::Outcome& a, const reference::Outcome& b) {
  const auto near = [](Time x, Time y) {
    return std::abs(x.seconds() - y.seconds()) <= 1e-6 * x.seconds() + 1e-3;
  };
  return near(a.start, b.start) && near(a.finish, b.finish) && a.pauses == b.pauses;
}

bool agree(const ComparedCase& compared, const PolicySpec& spec) {
  const auto one = simulated(compared, spec), other = expected(compared, spec);
  if (!is_shared(compared)) return one == other;
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), is_near);
}

/// Without whatever job or fault it can do without and still fail.
ComparedCase smallest_failing(ComparedCase compared, const PolicySpec& spec) {
  const auto keep_if_failing = [&](const RandomCase& less) {
    ComparedCase smaller = compared;
    smaller.made = less;
    if (!agree(smaller, spec)) compared = smaller;
  };
  const auto drop_from = [&](auto part, auto may_go) {
    for (std::size_t i = part(compared.made).size(); i-- > 0;) {
      if (!may_go(part(compared.made)[i])) continue;
      RandomCase less = compared.made;
      part(less).erase(part(less).begin() + static_cast<std::ptrdiff_t>(i));
      keep_if_failing(less);
    }
  };
  const auto any = [](const auto&) { return true; };
  drop_from([](RandomCase& c) -> std::vector<Event>& { return c.revisions; }, any);
  // Of a machine that fails and comes back, both or none.
  drop_from([](RandomCase& c) -> std::vector<Fault>& { return c.faults; },
            [](const Fault& fault) { return fault.speed.has_value(); });
  if (compared.made.workload.curves.empty())  // each is of the job of its number
    drop_from([](RandomCase& c) -> std::vector<Job>& { return c.workload.jobs; }, any);
  RandomCase without_faults = compared.made;
  without_faults.faults.clear();
  keep_if_failing(without_faults);
  return compared;
}

std::string timeline(const std::vector<reference::Outcome>& outcomes) {
  std::string text;
  for (std::size_t j = 0; j < outcomes.size(); ++j)
    text += fmt::format("  job {}: {} to {}, {} pauses\n", j, outcomes[j].start.seconds(),
                        outcomes[j].finish.seconds(), outcomes[j].pauses);
  return text;
}

/// What the reference can do: see there.
constexpr std::string_view kTrialRights = " queue.trial_share=0";
constexpr std::string_view kFitGpp = " preempt.fallback=none";

void expect_agreement(ComparedCase compared, std::string line, std::uint64_t seed) {
  if (line.find("queue.trial_share=") == std::string::npos) line += kTrialRights;
  if (line.find("preempt=fitgpp") != std::string::npos) {
    line += kFitGpp;
    for (Job& job : compared.made.workload.jobs)
      if (job.job_class == JobClass::trial) job.workers = job.min_workers = job.max_workers = 1;
  }
  const auto spec = PolicySpec::parse(line);
  ASSERT_TRUE(spec) << spec.error().message;
  if (agree(compared, *spec)) return;
  const ComparedCase small = smallest_failing(compared, *spec);
  FAIL() << "TRAINYARD_TEST_SEED=" << seed << "\n"
         << line << "\n"
         << describe(small.made) << "reference:\n"
         << timeline(expected(small, *spec)) << "simulator:\n"
         << timeline(simulated(small, *spec));
}

std::string line_of(const std::string& preset) {
  const auto found = std::find_if(presets().begin(), presets().end(),
                                  [&](const Preset& p) { return p.name == preset; });
  return found->line;
}

class ReferenceOfPreset : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceOfPreset, AgreesWithTheSimulator) {
  const auto [first, count] = seeds(300);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 1);
    RandomCase made = random_case(random);
    if (seed % 2 == 0) mix_machines(random, made);
    expect_agreement({made, kinds_alone()}, line_of(GetParam()), seed);
  }
}

/// What the reference does not have: lots, most of Dally, other estimates than what jobs declare or
/// residual ones, joint policies.
const std::vector<std::string> kUnknown{
    "random",   "network-sensitivity", "delay", "attained", "equal-split", "market", "allox",
    "gavel-las"};

std::vector<std::string> known_presets() {
  std::vector<std::string> names;
  for (const Preset& preset : presets())
    if (std::none_of(kUnknown.begin(), kUnknown.end(), [&](const std::string& member) {
          return preset.line.find("=" + member) != std::string::npos;
        }))
      names.push_back(preset.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Presets, ReferenceOfPreset, testing::ValuesIn(known_presets()),
                         [](const auto& preset) { return as_test_name(preset.param); });

/// Where nothing is ever paused it decides more often than need be, and is then sooner to notice
/// that a job has outlived what was believed; which only matters to who asks about running jobs.
/// Auctions among jobs whose leases are over it holds only where nobody asks during one what lies
/// on a machine, or reserves room.
bool is_beyond_the_reference(const std::string& line) {
  const auto has = [&](std::string_view text) { return line.find(text) != std::string::npos; };
  const bool is_patient =
      (has("patience=never") || has("patience=7d")) && has("queue.fair_wait=0 ");
  const bool may_reserve = has("=easy") || !is_patient;
  if (has("=residual") && has("preempt=none") && (has("place=lwf") || !has("flow=fair")))
    return true;
  if (has("trial_rooms=kept") && !is_patient) return true;
  return has("=lease") && (has("place=lwf") || may_reserve);
}

TEST(Reference, AgreesWithTheSimulatorUnderPoliciesOfRandomStages) {
  const auto [first, count] = seeds(4000);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 2);
    const std::string line = random_policy(random, kUnknown);
    if (is_beyond_the_reference(line)) continue;
    RandomCase made = random_case(random);
    if (seed % 2 == 0) mix_machines(random, made);
    expect_agreement({made, kinds_alone()}, line, seed);
  }
}

/// Larger clusters than those of the random cases, an eighth of which is less than a GPU. Without
/// patience: whoever is out of it takes kept room, but those that are alike are tried as one.
TEST(Reference, AgreesWithTheSimulatorWhereRoomIsKeptForTrialJobs) {
  const auto [first, count] = seeds(1000);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 7);
    RandomCase made = random_case(random, {.faults = false, .changes = false});
    made.cluster = *parse_cluster_shorthand(one_of(random, {"4x4xV100", "6x4xV100", "3x8xV100"}));
    for (Job& job : made.workload.jobs) job.kind = kAnyKind;
    std::erase_if(made.workload.jobs, [&](const Job& job) {
      return !misfit(made.workload, job, made.cluster).empty();
    });
    if (seed % 2 == 0) mix_machines(random, made);
    const std::string line = fmt::format(
        "order=trial-first order.reentry={} order.within={} backfill={} place={} preempt={} "
        "queue.patience=never queue.trial_rooms=kept queue.trial_worth={} yard.min_run=0 "
        "yard.max_pauses=3",
        one_of(random, {"head", "submission", "tail"}), one_of(random, {"submission", "remaining"}),
        one_of(random, {"none", "greedy", "easy"}),
        one_of(random, {"first-fit", "best-fit", "consolidate"}),
        one_of(random, {"fitgpp", "longest-remaining", "benefit", "smith"}),
        one_of(random, {"10", "100", "1000"}));
    expect_agreement({made, kinds_alone()}, line, seed);
  }
}

/// Jobs that take hours, as the work that there is counts as an hour at least; and the end of a
/// span of four weeks, or of two, among their submissions. Who is first within an instant must not
/// matter: so no machine fails, whose jobs would come back to the queue one after the other, and no
/// two jobs take as long to leave, or to load.
RandomCase random_backlog(Random& random) {
  constexpr std::int64_t kLonger = 20;
  constexpr Duration kSpan = days(28);
  RandomCase made = random_case(random, {.faults = false});
  const Duration later = kSpan - seconds(static_cast<std::int64_t>(random.below(3000)));
  const Duration gap = kSpan * static_cast<std::int64_t>(random.below(3));
  const std::size_t first_after_gap = random.below(2 * made.workload.jobs.size());
  for (std::size_t j = 0; j < made.workload.jobs.size(); ++j) {
    Job& job = made.workload.jobs[j];
    job.submit = job.submit + later + (j >= first_after_gap ? gap : Duration{});
    job.duration = job.duration * kLonger;
    job.estimate = job.estimate * kLonger;
    job.checkpoint_interval = job.checkpoint_interval * kLonger;
    job.grace += microseconds(static_cast<std::int64_t>(2 * j) + 1);
    job.load += microseconds(static_cast<std::int64_t>(2 * j) + 2);
  }
  for (Fault& fault : made.faults) fault.at = fault.at + later;
  for (Event& revision : made.revisions) {
    revision.at = revision.at + later;
    revision.estimate.work = revision.estimate.work * kLonger;
  }
  return made;
}

/// Small parts of that time, so that jobs are out of patience within minutes.
TEST(Reference, AgreesWithTheSimulatorWhereWaitsAreBoundByTheWorkThatThereIs) {
  const auto [first, count] = seeds(500);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 8);
    const std::string line = fmt::format(
        "order={} backfill={} place={} preempt={} queue.patience={} queue.fair_wait={} "
        "queue.overdue_share={} queue.trial_worth={} queue.estimates={} yard.min_run={} "
        "yard.max_pauses=5 yard.turn={}",
        one_of(random, {"srtf", "srsf", "smith", "las", "trial-first",
                        "trial-first order.within=remaining"}),
        one_of(random, {"none", "greedy", "easy"}),
        one_of(random, {"first-fit", "best-fit", "consolidate"}),
        one_of(random, {"none", "longest-remaining", "benefit", "smith"}),
        one_of(random, {"never", "never", "1h"}), one_of(random, {"0.01", "0.05", "0.2", "1"}),
        one_of(random, {"1", "0.5", "0.1", "0.01"}), one_of(random, {"1", "30"}),
        one_of(random, {"declared", "residual"}), one_of(random, {"0", "1m"}),
        one_of(random, {"1m", "1h"}));
    if (is_beyond_the_reference(line)) continue;
    expect_agreement({random_backlog(random), kinds_alone()}, line, seed);
  }
}

/// Clusters of which a 32nd is some GPUs, and gangs that are wider than that; some wait for too
/// long.
TEST(Reference, AgreesWithTheSimulatorWhereGangsAreWide) {
  const auto [first, count] = seeds(500);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 12);
    RandomCase made = random_case(random, {.max_jobs = 60, .faults = false, .changes = false});
    made.cluster = *parse_cluster_shorthand(one_of(random, {"8x8xV100", "16x8xV100"}));
    for (Job& job : made.workload.jobs) {
      job.kind = kAnyKind;
      Job wide = job;
      wide.workers = wide.min_workers = wide.max_workers = 1 + static_cast<int>(random.below(32));
      if (misfit(made.workload, wide, made.cluster).empty()) job = wide;
    }
    const std::string line = fmt::format(
        "order={} backfill={} place={} preempt={} queue.trial_worth={} queue.critical={} "
        "queue.patience={} queue.fair_wait=0 queue.overdue_share={} queue.estimates={} "
        "yard.min_run={} yard.max_pauses=5 yard.turn=1m",
        one_of(random, {"smith", "smith", "srtf"}), one_of(random, {"none", "greedy", "easy"}),
        one_of(random, {"first-fit", "best-fit", "consolidate"}),
        one_of(random, {"benefit", "smith", "smith", "none"}), one_of(random, {"1", "10"}),
        one_of(random, {"ordinary", "first"}), one_of(random, {"never", "3m", "10m"}),
        one_of(random, {"1", "0.5", "0.2", "0.05"}), one_of(random, {"declared", "residual"}),
        one_of(random, {"0", "1m"}));
    if (is_beyond_the_reference(line)) continue;
    expect_agreement({made, kinds_alone()}, line, seed);
  }
}

/// Few jobs of some hours among short ones.
TEST(Reference, AgreesWithTheSimulatorWhereJobsDecideWhenAllIsDone) {
  const auto [first, count] = seeds(1000);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 10);
    RandomCase made = random_case(random);
    for (Job& job : made.workload.jobs) {
      const auto longer = random.below(8) == 0 ? std::int64_t{20} : 1;
      job.duration = job.duration * longer;
      job.estimate = job.estimate * longer;
    }
    const std::string line = fmt::format(
        "order={} backfill={} place={} preempt={} queue.critical=first queue.trial_worth={} "
        "queue.patience=never queue.estimates={} yard.min_run={} yard.max_pauses=3",
        one_of(random, {"smith", "smith", "srtf", "trial-first"}),
        one_of(random, {"none", "greedy", "easy"}),
        one_of(random, {"first-fit", "best-fit", "consolidate"}),
        one_of(random, {"none", "longest-remaining", "benefit", "smith"}),
        one_of(random, {"1", "30"}), one_of(random, {"declared", "residual"}),
        one_of(random, {"0", "30s"}));
    if (is_beyond_the_reference(line)) continue;
    expect_agreement({made, kinds_alone()}, line, seed);
  }
}

/// Leases that are over often, and moves: rare among random stages.
TEST(Reference, AgreesWithTheSimulatorWhereJobsThatRunCompeteAnew) {
  const auto [first, count] = seeds(1000);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 5);
    const std::string line = fmt::format(
        "order={} backfill={} place={} preempt={} queue.patience=never yard.min_run={} "
        "yard.max_pauses={}",
        one_of(random, {"fifo", "srtf", "srsf", "smith", "las", "attained-service", "trial-first"}),
        one_of(random, {"none", "greedy"}),
        one_of(random, {"first-fit", "best-fit", "spread", "consolidate",
                        "consolidate place.wait_for=none"}),
        one_of(random, {"lease preempt.lease=20s", "lease preempt.lease=1m",
                        "lease preempt.lease=20s preempt.pays=always", "closer"}),
        one_of(random, {"0", "30s"}), one_of(random, {"3", "100"}));
    expect_agreement({random_case(random), kinds_alone()}, line, seed);
  }
}

// --- Jobs that share a network -------------------------------------------------------------------

/// The models that random cases name, with all ways to exchange and to overlap.
Catalogue random_models(Random& random) {
  std::string text;
  const std::vector<std::string> collectives{"ring", "hierarchical", "parameter-server",
                                             "single-server"};
  for (const char* model : {"VGG16", "ResNet50", "AlexNet"})
    text += fmt::format(
        "[[model]]\nname = \"{}\"\nsource = \"made up\"\nparameters = {}\nbatch = 32\n"
        "start_up_s = 1\noverlap = {}\ncollective = \"{}\"\n"
        "[[model.speed]]\nkind = \"V100\"\nsamples_per_s = {}\n",
        model, random.uniform(5e6, 2e8), 0.5 * static_cast<double>(random.below(3)),
        collectives[random.below(collectives.size())], random.uniform(50, 500));
  return kinds_and(std::move(text));
}

/// Off the grid, where nothing is simultaneous by chance: a rate that is off by rounding must not
/// decide who is first.
void leave_the_grid(Random& random, RandomCase& made) {
  const auto some = [&] {
    return microseconds(static_cast<std::int64_t>(random.below(10'000'000)));
  };
  for (Job& job : made.workload.jobs) {
    const bool is_right = job.estimate == job.duration;
    job.submit = job.submit + some();
    job.duration += some();
    job.estimate = is_right ? job.duration : job.estimate + some();
    job.iterations =
        1 + static_cast<std::uint64_t>(job.duration.seconds() / random.uniform(0.1, 1));
  }
  std::ranges::stable_sort(made.workload.jobs, {}, &Job::submit);
}

/// Slow links, and gangs of small workers which span them.
ComparedCase random_sharing(Random& random) {
  ComparedCase compared{random_case(random, {.max_jobs = 15}), random_models(random)};
  RandomCase& made = compared.made;
  const double gbps = random.uniform(2, 40);
  for (Machine& machine : made.cluster.machines) machine.nic_gbps = gbps * random.uniform(0.5, 1.5);
  for (Rack& rack : made.cluster.racks)
    rack.uplink_gbps = random.below(2) == 0 ? 0 : gbps * random.uniform(0.5, 4);
  for (Job& job : made.workload.jobs) {
    Job gang = job;
    gang.workers = gang.min_workers = gang.max_workers = 2 + static_cast<int>(random.below(5));
    gang.per_worker = {1, 0, 0};
    gang.model = ModelId{static_cast<std::uint16_t>(random.below(made.workload.models.size()))};
    if (misfit(made.workload, gang, made.cluster).empty() && random.uniform() < 0.8) job = gang;
  }
  leave_the_grid(random, made);
  compared.network = {
      .model = NetworkOptions::Model::fluid, .loss = random.below(3) == 0 ? 0.3 : 0, .same = 1e-9};
  return compared;
}

/// Those that foresee when a job would end somewhere else are left out: they ask what is typical of
/// a place, which the reference does not know.
std::string random_sharing_policy(Random& random, const std::string& flow) {
  std::string line = fmt::format(
      "order={} backfill={} place={} preempt={} queue.patience=never yard.min_run={} "
      "yard.max_pauses=3 flow={}",
      one_of(random, {"fifo", "sjf", "srtf", "srsf", "smith"}), one_of(random, {"none", "greedy"}),
      one_of(random, {"first-fit", "best-fit", "spread", "lwf", "consolidate place.wait_for=none"}),
      one_of(random, {"none", "none", "srtf-blind", "longest-remaining"}),
      one_of(random, {"0", "30s"}), flow);
  if (flow == "fair") return line;
  return line + fmt::format(" flow.classes={} flow.period={} flow.floor={}",
                            one_of(random, {"1", "2", "4", "8"}), one_of(random, {"3s", "10s"}),
                            one_of(random, {"0", "0", "0.1"}));
}

/// Where it counts how close a job is, where it usually would be, and where it would come back to;
/// also for jobs that others leave nothing of the network, which are believed to stay for ever.
TEST(Reference, AgreesWithTheSimulatorWherePausesRegardTheNetwork) {
  const auto [first, count] = seeds(500);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 9);
    const std::string line = fmt::format(
        "order={} backfill={} place={} preempt=smith "
        "queue.trial_worth={} queue.patience=never queue.estimates={} yard.min_run={} "
        "yard.max_pauses=5 yard.turn={}",
        one_of(random, {"srtf", "srsf", "smith", "trial-first order.within=remaining"}),
        one_of(random, {"none", "greedy"}),
        one_of(random, {"first-fit", "best-fit", "spread", "consolidate",
                        "consolidate place.wait_for=none", "consolidate place.wait_for=skewed"}),
        one_of(random, {"1", "30"}), one_of(random, {"declared", "residual"}),
        one_of(random, {"0", "30s"}), one_of(random, {"1m", "1h"}));
    const std::string flow = seed % 2 == 0 ? " flow=milestones" : " flow=fair";
    expect_agreement(random_sharing(random), line + flow, seed);
  }
}

/// Who is first within an instant must not matter: so no machine fails, and no two jobs take as
/// long to leave, or to load.
ComparedCase random_sharing_off_the_grid(Random& random) {
  ComparedCase compared = random_sharing(random);
  compared.made.faults.clear();
  for (std::size_t j = 0; j < compared.made.workload.jobs.size(); ++j) {
    Job& job = compared.made.workload.jobs[j];
    job.grace += microseconds(static_cast<std::int64_t>(2 * j) + 1);
    job.load += microseconds(static_cast<std::int64_t>(2 * j) + 2);
  }
  return compared;
}

/// Those that others leave nothing of the network are still believed to go on later.
TEST(Reference, AgreesWithTheSimulatorWhereFlowsGoByWhatIsBelieved) {
  const auto [first, count] = seeds(1000);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 14);
    const std::string line = fmt::format(
        "order={} backfill=greedy place={} preempt={} flow=milestones flow.classes={} "
        "queue.patience=never queue.estimates={} yard.min_run={} yard.max_pauses=5 yard.turn=1m",
        one_of(random, {"srtf", "smith"}), one_of(random, {"best-fit", "spread", "consolidate"}),
        one_of(random, {"none", "smith", "smith"}), one_of(random, {"2", "8"}),
        one_of(random, {"declared", "residual", "residual"}), one_of(random, {"0", "30s"}));
    if (is_beyond_the_reference(line)) continue;
    expect_agreement(random_sharing_off_the_grid(random), line, seed);
  }
}

/// All have GPUs, as racks are looked at by those that they have free; curves, which are by number,
/// go with those that have not.
ComparedCase random_case_off_the_grid(Random& random) {
  ComparedCase compared = random_sharing_off_the_grid(random);
  compared.made.workload.curves.clear();
  std::erase_if(compared.made.workload.jobs, [](const Job& job) { return job.gpus() == 0; });
  return compared;
}

/// Jobs that hold out for close places.
TEST(Reference, AgreesWithTheSimulatorWhereJobsHoldOutForClosePlaces) {
  const auto [first, count] = seeds(500);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 11);
    const ComparedCase compared = random_case_off_the_grid(random);
    const std::string line = fmt::format(
        "order={} backfill={} place=delay place.timers=learnt place.lease={} preempt={} "
        "queue.trial_worth={} queue.patience=never queue.estimates={} yard.min_run={} "
        "yard.max_pauses=3",
        one_of(random, {"fifo", "srtf", "smith", "trial-first order.within=remaining"}),
        one_of(random, {"none", "greedy"}), one_of(random, {"3s", "20s", "2m"}),
        one_of(random, {"none", "longest-remaining", "benefit", "smith"}),
        one_of(random, {"1", "30"}), one_of(random, {"declared", "residual"}),
        one_of(random, {"0", "30s"}));
    if (is_beyond_the_reference(line)) continue;
    expect_agreement(compared, line, seed);
  }
}

/// The default policy with all its rules, for users who have allowances, and with clocks that bite
/// within minutes. Sizes and kinds are fixed: the reference has no market.
TEST(Reference, AgreesWithTheSimulatorUnderTheDefaultPolicy) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> settings{
      {"place.lease", {"3s", "20s", "2m"}},
      {"queue.trial_rooms", {"none", "kept"}},
      {"queue.trial_share", {"0.1", "0.25", "1"}},
      {"queue.trial_window", {"10m", "30m", "2h"}},
      {"queue.fair_wait", {"0", "0.01", "0.1"}},
      {"queue.overdue_share", {"0.05", "0.5"}},
      {"yard.min_run", {"0", "30s"}},
      {"yard.max_pauses", {"5"}},
      {"yard.turn", {"1m"}}};
  const auto [first, count] = seeds(500);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 13);
    ComparedCase compared = random_case_off_the_grid(random);
    if (seed % 2 == 0) add_users(random, compared.made);
    for (Job& job : compared.made.workload.jobs) {
      job.min_workers = job.max_workers = job.workers;
      job.measured_on = kAnyKind;
    }
    std::string line = line_of("trainyard");
    for (const auto& [key, values] : settings) line = with(line, key, one_of(random, values));
    expect_agreement(compared, line, seed);
  }
}

/// Two machines of two GPUs, for jobs that send all of the time: whichever goes first leaves the
/// other nothing.
ComparedCase senders_of_two_machines() {
  ComparedCase compared{
      {},
      kinds_and("[[model]]\nname = \"AlwaysSends\"\nsource = \"made up\"\nparameters = 1e9\n"
                "batch = 1\nstart_up_s = 1\noverlap = 1\n"
                "[[model.speed]]\nkind = \"V100\"\nsamples_per_s = 10\n"),
      {.model = NetworkOptions::Model::fluid}};
  compared.made.cluster =
      unwrap(parse_cluster_toml("[[rack]]\n[[rack.machine]]\ncount = 2\ngpus = 2\nkind = \"V100\"\n"
                                "nic_gbps = 10\n[network.rack]\nlatency_us = 0\n",
                                "test"));
  compared.made.workload.models.add("AlwaysSends");
  return compared;
}

constexpr double kExchange = 3.2;  // s, of an iteration whose work is 0.1 s

Job& add_sender(ComparedCase& compared, Time submit, std::int64_t iterations) {
  Job job;
  job.workers = job.min_workers = job.max_workers = 2;
  job.model = ModelId{0};
  job.submit = submit;
  job.iterations = static_cast<std::uint64_t>(iterations);
  job.duration = job.estimate = microseconds(100'000) * iterations;
  return compared.made.workload.jobs.emplace_back(job);
}

/// Job 1 leaves job 0 nothing of the network from 20 s to 32.8 s. The checkpoint that job 0 began
/// at 16 s is written by 26 s nevertheless; half of its work, 16 s, is left when job 1 has gone.
TEST(Reference, AJobThatCannotSendGoesOnWritingItsCheckpoint) {
  ComparedCase compared = senders_of_two_machines();
  Job& writer = add_sender(compared, Time{}, 10);
  writer.checkpoint_interval = microseconds(500'000);
  writer.checkpoint_cost = seconds(10);
  add_sender(compared, Time{} + seconds(20), 4);
  const PolicySpec spec = parse_policy("place=spread flow=srtf");
  for (const auto& outcomes : {simulated(compared, spec), expected(compared, spec)}) {
    EXPECT_NEAR(outcomes[1].finish.seconds(), 20 + 4 * kExchange, 1e-3);
    EXPECT_NEAR(outcomes[0].finish.seconds(), 20 + 9 * kExchange, 1e-3);
  }
}

/// Job 2 has the place of job 0 from 33 s on, and goes behind job 1 from that instant: job 1 is
/// still expected to end at 65 s, before job 0 could, which therefore does not pause it.
TEST(Reference, AJobThatOthersMadeRoomForStartsInItsClass) {
  ComparedCase compared = senders_of_two_machines();
  add_sender(compared, Time{}, 450).grace = seconds(5);
  add_sender(compared, Time{} + seconds(1), 20);
  add_sender(compared, Time{} + seconds(28), 20);
  const PolicySpec spec =
      parse_policy("place=spread preempt=srtf-blind flow=srtf yard.min_run=0 yard.turn=1h");
  for (const auto& outcomes : {simulated(compared, spec), expected(compared, spec)}) {
    EXPECT_EQ(outcomes[0].pauses, 1);
    EXPECT_EQ(outcomes[1].pauses, 0);
    EXPECT_NEAR(outcomes[1].finish.seconds(), 1 + 20 * kExchange, 1e-3);
    EXPECT_NEAR(outcomes[2].start.seconds(), 33, 1e-3);
    EXPECT_NEAR(outcomes[2].finish.seconds(), 1 + 40 * kExchange, 1e-3);
  }
}

class ReferenceOfFlow : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceOfFlow, AgreesWithTheSimulator) {
  const auto [first, count] = seeds(150);
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(seed, 4);
    const std::string line = random_sharing_policy(random, GetParam());
    expect_agreement(random_sharing(random), line, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Flows, ReferenceOfFlow,
                         testing::Values("fair", "fifo", "srtf", "las", "progress",
                                         "progress flow.curves=true", "to-95",
                                         "to-95 flow.curves=true", "milestones",
                                         "milestones flow.curves=true", "adadual flow.at_most=0"),
                         [](const auto& flow) { return as_test_name(flow.param); });

}  // namespace
}  // namespace trainyard
