// Jobs that share a network, from end to end: the two models of it against each other, what one job
// alone notices, and what holds of every link at every instant.
#include <gtest/gtest.h>

#include "network/flow.h"
#include "network/links.h"
#include "perf/catalogue_speed.h"
#include "sim/simulation.h"
#include "testing.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kNetworkStream = 12;  // of random numbers

constexpr NetworkOptions kFluid{NetworkOptions::Model::fluid, 0, 0};
constexpr NetworkOptions kIteration{NetworkOptions::Model::iteration, 0, 0.05};

struct NetworkMix {
  Cluster cluster;
  Workload workload;
};

/// Two racks of four machines with slow links, and some trainings that are spread over them.
NetworkMix random_network_mix(Random& random) {
  const char* toml =
      "[[rack]]\ncount = 2\nuplink_gbps = {}\n[[rack.machine]]\ncount = 4\ngpus = 4\n"
      "kind = \"V100\"\nnic_gbps = {}\n";
  const double nic = random.uniform(5, 40);
  NetworkMix mix{
      *parse_cluster_toml(fmt::format(fmt::runtime(toml), nic * random.uniform(1, 4), nic), "test"),
      {}};
  const std::vector<std::string> models{"ResNet-50", "VGG-16", "ResNet-18", "BERT-base"};
  const std::size_t jobs = 4 + random.below(12);
  for (std::size_t i = 0; i < jobs; ++i) {
    Job job;
    job.workers = job.min_workers = job.max_workers = 2 + static_cast<int>(random.below(7));
    job.iterations = 100 + random.below(200);
    job.duration = job.estimate = Duration{static_cast<std::int64_t>(
        1e6 * random.uniform(0.2, 0.6) * static_cast<double>(job.iterations))};
    const std::string& model = models[random.below(models.size())];
    job.model = ModelId{static_cast<std::uint16_t>(mix.workload.models.add(model))};
    job.submit = Time{static_cast<std::int64_t>(60e6 * random.uniform())};
    mix.workload.jobs.push_back(job);
  }
  std::ranges::stable_sort(mix.workload.jobs, {}, &Job::submit);
  return mix;
}

double mean_jct(const NetworkMix& mix, const std::string& policy, const NetworkOptions& network,
                std::uint64_t seed) {
  Simulation simulation(mix.cluster, mix.workload, parse_policy(policy),
                        {.seed = seed, .network = network});
  simulation.run();
  EXPECT_EQ(simulation.result().finished, mix.workload.jobs.size());
  return simulation.result().all.jct_s.mean;
}

TEST(SharedNetwork, TheTwoModelsAgreeWithinATenth) {
  for_seeds(40, kNetworkStream, [](Random& random, std::uint64_t seed) {
    const NetworkMix mix = random_network_mix(random);
    for (const char* policy : {"place=spread", "place=first-fit"}) {
      const double alone = mean_jct(mix, policy, {}, seed);
      const double fluid = mean_jct(mix, policy, kFluid, seed);
      const double iteration = mean_jct(mix, policy, kIteration, seed);
      EXPECT_NEAR(fluid / iteration, 1, 0.1) << policy << ", alone " << alone;
      EXPECT_GE(fluid, alone * (1 - 1e-9));
    }
  });
}

TEST(SharedNetwork, ChangesNothingForOneJob) {
  for_seeds(30, kNetworkStream, [](Random& random, std::uint64_t seed) {
    NetworkMix mix = random_network_mix(random);
    mix.workload.jobs.resize(1);
    const double alone = mean_jct(mix, "place=random", {}, seed);
    EXPECT_EQ(mean_jct(mix, "place=random", kFluid, seed), alone);
    const NetworkOptions steady{NetworkOptions::Model::iteration, 0, 0};
    EXPECT_NEAR(mean_jct(mix, "place=random", steady, seed), alone, 1e-4 * alone);
  });
}

/// The bytes of all iterations, over every link that they cross.
double bytes_asked_for(const NetworkMix& mix, const std::vector<Placement>& placements) {
  const Links links(mix.cluster);
  const CatalogueSpeed speed(mix.cluster, mix.workload, Catalogue::builtin());
  double bytes = 0;
  for (std::size_t j = 0; j < mix.workload.jobs.size(); ++j) {
    const Job& job = mix.workload.jobs[j];
    const Placement& placement = placements[j];
    if (placement.size() < 2) continue;
    const auto iteration = speed.on_shared_links(job, placement);
    const Flow flow = flow_of(links, mix.cluster, placement, job.per_worker.gpus, *iteration.model);
    for (const LinkUse& use : flow.links)
      bytes += use.weight * flow.bytes * job.duration.seconds() / iteration.work_s;
  }
  return bytes;
}

TEST(SharedNetwork, SendsWhatIsAskedForAndNoLinkIsOverFull) {
  for_seeds(30, kNetworkStream, [](Random& random, std::uint64_t seed) {
    const NetworkMix mix = random_network_mix(random);
    Simulation simulation(mix.cluster, mix.workload, parse_policy("place=random"),
                          {.seed = seed, .network = kFluid});
    double sent = 0, now = 0, used = 0;
    std::vector<Placement> placements(mix.workload.jobs.size());
    while (simulation.step()) {
      for (std::size_t j = 0; j < simulation.yard().jobs(); ++j)
        if (simulation.yard().state(job_id(j)).phase == Phase::running)
          placements[j] = simulation.yard().placement(job_id(j));
      const double at = (simulation.yard().now() - Time{}).seconds();
      sent += used * (at - now);
      now = at, used = 0;
      for (const auto& link : simulation.network()->loads()) {
        EXPECT_LE(link.used, link.capacity * (1 + 1e-6))
            << simulation.network()->links().name(link.link);
        used += link.used;
      }
    }
    EXPECT_NEAR(sent / bytes_asked_for(mix, placements), 1, 2e-3);
  });
}

// --- Classes -------------------------------------------------------------------------------------

std::vector<double> ends_of(const NetworkMix& mix, const std::string& policy) {
  Simulation simulation(mix.cluster, mix.workload, parse_policy(policy),
                        {.network = {.model = NetworkOptions::Model::fluid, .same = 1e-9}});
  simulation.run();
  std::vector<double> ends;
  for (std::size_t j = 0; j < mix.workload.jobs.size(); ++j)
    ends.push_back(simulation.yard().state(job_id(j)).end().seconds());
  return ends;
}

/// By flow=fifo a job is of a higher class than all that come later: those might as well not be.
TEST(SharedNetwork, AHigherClassNeverWaitsForALowerOne) {
  bool do_equals_wait = false;
  for_seeds(30, kNetworkStream, [&](Random& random, std::uint64_t) {
    const NetworkMix mix = random_network_mix(random);
    NetworkMix first = mix;
    first.workload.jobs.resize(1 + random.below(mix.workload.jobs.size()));
    const std::string classes = "place=spread flow=fifo flow.classes=256";
    const auto among_all = ends_of(mix, classes), alone = ends_of(first, classes);
    const auto as_equals = ends_of(mix, "place=spread");
    for (std::size_t j = 0; j < alone.size(); ++j)
      EXPECT_NEAR(among_all[j], alone[j], 1e-6 * alone[j]) << "job " << j << " of " << alone.size();
    do_equals_wait = do_equals_wait || as_equals != among_all;
  });
  EXPECT_TRUE(do_equals_wait) << "no job met another: the test shows nothing";
}

/// The longest time in which the first job could not send, while ever new ones go before it.
Duration longest_without_bytes(Random& random, const std::string& policy) {
  const Catalogue models = kinds_and(
      "[[model]]\nname = \"sender\"\nsource = \"made up\"\nparameters = 1e9\nbatch = 1\n"
      "start_up_s = 1\noverlap = 1\n[[model.speed]]\nkind = \"V100\"\nsamples_per_s = 10\n");
  NetworkMix mix{
      *parse_cluster_toml("[[rack]]\n[[rack.machine]]\ncount = 2\ngpus = 64\n"
                          "kind = \"V100\"\nnic_gbps = 10\n[network.rack]\nlatency_us = 0\n",
                          "test"),
      {}};
  mix.workload.models.add("sender");
  for (int i = 0; i < 40; ++i) {
    Job job;
    job.workers = job.min_workers = job.max_workers = 2;
    job.model = ModelId{0};
    job.submit =
        Time{} + seconds(2 * i) + microseconds(static_cast<std::int64_t>(random.below(999'999)));
    job.iterations = i == 0 ? 1000 : 3;  // an exchange takes 3.2 s
    job.duration = job.estimate = Duration{static_cast<std::int64_t>(job.iterations) * 100'000};
    mix.workload.jobs.push_back(job);
  }
  Simulation simulation(mix.cluster, mix.workload, parse_policy(policy),
                        {.models = &models, .network = kFluid});
  Duration longest;
  Time since;
  bool sends = true;  // since the instant before
  while (simulation.step() && simulation.yard().now() < mix.workload.jobs.back().submit) {
    const Yard& yard = simulation.yard();
    if (sends) since = yard.now();
    longest = std::max(longest, yard.now() - since);
    sends = yard.rate(job_id(0)) != Rate::stopped();
  }
  return longest;
}

TEST(SharedNetwork, WithAFloorNoJobStarves) {
  for_seeds(10, kNetworkStream, [](Random& random, std::uint64_t) {
    const std::string policy = "place=spread flow=srtf flow.classes=2 flow.floor=";
    EXPECT_EQ(longest_without_bytes(random, policy + "0.1"), Duration{});
    EXPECT_GT(longest_without_bytes(random, policy + "0"), seconds(30)) << "it needs no floor";
  });
}

// --- What the market makes of busy links ---------------------------------------------------------

/// A trains on two GPUs of each of two machines, and leaves one of each to B, which can use both.
struct BusyLinks {
  explicit BusyLinks(double nic_gbps)
      : cluster(*parse_cluster_toml(
            fmt::format("[[rack]]\n[[rack.machine]]\ncount = 2\ngpus = 3\nkind = \"V100\"\n"
                        "nic_gbps = {}\n[network.rack]\nlatency_us = 0\n",
                        nic_gbps),
            "test")) {
    workload.models.add("VGG-16");
    Job a;
    a.workers = a.min_workers = a.max_workers = 2;
    a.per_worker.gpus = 2;
    a.model = ModelId{0};
    a.duration = a.estimate = hours(10);
    Job b = a;
    b.workers = b.min_workers = 1, b.max_workers = 2;
    b.per_worker.gpus = 1;
    b.submit = Time{} + minutes(1);
    workload.jobs = {a, b};
  }

  /// With how many workers B begins.
  [[nodiscard]] std::int32_t size_of_b(const NetworkOptions& network) const {
    Simulation simulation(cluster, workload, parse_policy("market"), {.network = network});
    while (simulation.step() && simulation.yard().now() <= workload.jobs[1].submit) {
    }
    return simulation.yard().workers(job_id(1));
  }

  Cluster cluster;
  Workload workload;
};

TEST(Market, GivesNoWorkersThatWouldWaitForBusyLinks) {
  // Alone on 40 Gbit/s, two workers take 0.125 s to compute and 0.085 s more to communicate, one
  // takes 0.249 s. A uses the same links for two fifths of its time.
  EXPECT_EQ(BusyLinks(40).size_of_b({}), 2);
  EXPECT_EQ(BusyLinks(40).size_of_b(kFluid), 1);
  EXPECT_EQ(BusyLinks(400).size_of_b(kFluid), 2) << "there is enough for both";
  EXPECT_EQ(BusyLinks(10).size_of_b({}), 1) << "too slow for one alone";
}

/// What the yard believes between two reports of a job may be more than there is to do.
TEST(SharedNetwork, JobsThatArePausedBetweenTwoReportsComeToTheirEnd) {
  for_seeds(150, kNetworkStream + 1, [](Random& random, std::uint64_t seed) {
    NetworkMix mix = random_network_mix(random);
    for (Job& job : mix.workload.jobs)
      job.estimate =
          std::max(microseconds(1), job.duration * static_cast<std::int64_t>(random.below(3)));
    const std::string policy =
        "order=srtf backfill=greedy place=consolidate preempt=srtf-blind yard.min_run=1s "
        "yard.turn=0";
    EXPECT_GT(mean_jct(mix, policy, kIteration, seed), 0) << "seed " << seed;
  });
}

/// Jobs that fit no machine are slow wherever they are. Who waits counts itself as fast as on one,
/// and who runs is as slow as it is: then each is the shorter one when it waits.
TEST(SlowNetwork, GangsThatAreSlowEverywhereDoNotTakeTurnsInPausingEachOther) {
  const Cluster cluster = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 2\ngpus = 2\nkind = \"V100\"\n"
      "[network.rack]\ngbps = 0.05\n",
      "test");
  Workload workload;
  for (int i = 0; i < 2; ++i) {
    Job job = gang(4, 1, hours(10 + i));
    job.iterations = 100'000;
    job.model = ModelId{static_cast<std::uint16_t>(workload.models.add("VGG-16"))};
    workload.jobs.push_back(job);
  }
  const auto pauses = [&](const std::string& preempt) {
    Simulation simulation(cluster, workload,
                          parse_policy("order=srtf backfill=greedy preempt=" + preempt),
                          {.seed = 1});
    simulation.run();
    return simulation.result().preemptions;
  };
  EXPECT_GT(pauses("benefit"), 1U) << "or the scene is too easy";
  EXPECT_EQ(pauses("smith"), 0U);
}

}  // namespace
}  // namespace trainyard
