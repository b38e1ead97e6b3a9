#include "workload/generate/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <queue>
#include <set>

#include "base/stats.h"
#include "sim/simulation.h"
#include "workload/info.h"
#include "workload/read.h"
#include "workload/testing.h"

namespace trainyard {
namespace {

Cluster cluster(const char* text) {
  return parse_cluster_shorthand(text).value();
}

std::string generate_error(std::string_view spec, const char* where = "16x8xV100") {
  const auto workload = try_generate(spec, where);
  return workload ? "no error" : workload.error().message;
}

struct Moments {
  double mean = 0, variation = 0;  // deviation over mean
};

Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return {mean, std::sqrt(squares / n) / mean};
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = moments(a).mean, mean_b = moments(b).mean;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

std::vector<double> durations_s(const Workload& workload) {
  std::vector<double> values;
  for (const Job& job : workload.jobs) values.push_back(job.duration.seconds());
  return values;
}

std::vector<double> gaps_s(const Workload& workload) {
  std::vector<double> values;
  Time last{0};
  for (const Job& job : workload.jobs) {
    values.push_back((job.submit - last).seconds());
    last = job.submit;
  }
  return values;
}

bool sorted(const Workload& workload) {
  return std::ranges::is_sorted(workload.jobs, {}, &Job::submit);
}

TEST(Poisson, IsAnMMcQueue) {
  const Workload workload = generated("poisson:jobs=200000,load=0.8,mean=1h", "1x8xV100");
  ASSERT_EQ(workload.jobs.size(), 200'000U);
  EXPECT_TRUE(sorted(workload));
  const auto durations = durations_s(workload), gaps = gaps_s(workload);
  // An exponential variable's deviation is its mean; standard errors here are about 0.2%.
  EXPECT_NEAR(moments(durations).mean / 3600, 1, 0.01);
  EXPECT_NEAR(moments(durations).variation, 1, 0.02);
  EXPECT_NEAR(moments(gaps).mean / (3600 / (0.8 * 8)), 1, 0.01);
  EXPECT_NEAR(moments(gaps).variation, 1, 0.02);
  EXPECT_NEAR(correlation(durations, gaps), 0, 0.01);
  for (const Job& job : workload.jobs) ASSERT_EQ(job.gpus(), 1);
}

/// Mean wait in seconds of one-GPU jobs on `servers` GPUs, first come, first served.
double fifo_wait_s(const Workload& workload, std::size_t servers) {
  std::priority_queue<Time, std::vector<Time>, std::greater<>> free_at;
  for (std::size_t i = 0; i < servers; ++i) free_at.push(Time{0});
  double sum = 0;
  for (const Job& job : workload.jobs) {
    const Time start = std::max(job.submit, free_at.top());
    sum += (start - job.submit).seconds();
    free_at.pop();
    free_at.push(start + job.duration);
  }
  return sum / static_cast<double>(workload.jobs.size());
}

/// Erlang's formula C(c, a) for the share of jobs that wait, a = load x c; by the recursion of B.
double erlang_wait_s(std::size_t servers, double load, double mean_s) {
  const auto c = static_cast<double>(servers);
  double blocked = 1;
  for (double k = 1; k <= c; ++k) blocked = load * c * blocked / (k + load * c * blocked);
  const double waits = blocked / (1 - load * (1 - blocked));
  return waits * mean_s / (c * (1 - load));
}

TEST(Poisson, WaitsAsErlangSays) {
  const Workload workload = generated("poisson:jobs=500000,load=0.8,mean=1h", "1x8xV100");
  EXPECT_NEAR(fifo_wait_s(workload, 8) / erlang_wait_s(8, 0.8, 3600), 1, 0.05);
}

TEST(Poisson, MixesDemandsByWeight) {
  const Workload workload =
      generated("poisson:jobs=100000,gpus=1:7/2:1/4:1/8:1,duration=fixed,mean=90");
  const WorkloadInfo info = inspect(workload, nullptr);
  ASSERT_EQ(info.demands.size(), 4U);
  EXPECT_NEAR(static_cast<double>(info.demands[0].jobs), 70'000, 700);
  EXPECT_NEAR(static_cast<double>(info.demands[3].jobs), 10'000, 400);
  EXPECT_EQ(info.duration.max_s, 90);
  EXPECT_EQ(info.duration.p50_s, 90);
}

TEST(Poisson, LognormalKeepsTheMean) {
  const auto values =
      durations_s(generated("poisson:jobs=300000,duration=lognormal,mean=600,sigma=1"));
  EXPECT_NEAR(moments(values).mean / 600, 1, 0.02);
  EXPECT_NEAR(moments(values).variation, std::sqrt(std::exp(1.0) - 1), 0.1);
}

TEST(Poisson, MeetsTheLoadInExpectation) {
  const Cluster place = cluster("16x8xV100");
  const Workload workload = generated("poisson:jobs=200000,load=1.2,gpus=1:1/8:1");
  EXPECT_NEAR(inspect(workload, &place).fit->offered_load.value(), 1.2, 0.02);
}

TEST(PhillyLike, MeetsTheLoadExactly) {
  const Cluster place = cluster("16x8xV100");
  struct Case {
    const char* spec;
    double load;
  };
  for (const auto& [spec, load] :
       {Case{"philly-like:jobs=2,load=0.5", 0.5}, Case{"philly-like:jobs=1000,load=0.9", 0.9},
        Case{"philly-like:jobs=50000,load=1.5,daily=1", 1.5}}) {
    const Workload workload = generated(spec);
    EXPECT_TRUE(sorted(workload)) << spec;
    EXPECT_NEAR(inspect(workload, &place).fit->offered_load.value(), load, 1e-6) << spec;
  }
}

TEST(PhillyLike, LeavesOutWhatTheClusterCannotHold) {
  const auto largest = [](const Workload& workload) {
    return inspect(workload, nullptr).demands.back().gpus;
  };
  EXPECT_EQ(largest(generated("philly-like:jobs=50000", "2x8xV100")), 16);
  EXPECT_EQ(largest(generated("philly-like:jobs=50000,max_gpus=4")), 4);
  EXPECT_EQ(largest(generated("philly-like:jobs=100", "1x1xV100")), 1);
}

TEST(PhillyLike, TrialsAreTheSmallestAndShortest) {
  const Workload workload = generated("philly-like:jobs=1000,trial=0.3");
  Duration longest_trial{0}, shortest_batch = Duration::max();
  std::size_t trials = 0;
  for (const Job& job : workload.jobs) {
    if (job.job_class == JobClass::trial) {
      ++trials;
      EXPECT_EQ(job.gpus(), 1);
      longest_trial = std::max(longest_trial, job.duration);
    } else if (job.gpus() == 1) {
      shortest_batch = std::min(shortest_batch, job.duration);
    }
  }
  EXPECT_EQ(trials, 300U);
  EXPECT_LE(longest_trial, shortest_batch);
}

TEST(PhillyLike, RhythmOfTheDayMovesArrivalsToNoon) {
  const auto by_half = [](const Workload& workload) {
    std::array<int, 2> counts{};  // 18h to 6h, and 6h to 18h
    for (const Job& job : workload.jobs) {
      const Duration hour = (job.submit - Time{}) % days(1);
      ++counts[hour >= hours(6) && hour < hours(18) ? 1 : 0];
    }
    return counts[1] / double(counts[0] + counts[1]);
  };
  EXPECT_NEAR(by_half(generated("philly-like:jobs=100000")), 0.5, 0.02);
  // The integral of 1 - cos over the day's middle half is 1/2 + 1/pi of the whole.
  EXPECT_NEAR(by_half(generated("philly-like:jobs=100000,daily=1")), 0.5 + 1 / std::numbers::pi,
              0.02);
}

TEST(Generate, SameSeedSameJobs) {
  for (const char* spec : {"poisson:jobs=500,trial=0.5,users=9", "philly-like:jobs=500,users=9"}) {
    const Workload a = generated(spec), b = generated(spec),
                   other = generated(spec, "16x8xV100", 2);
    ASSERT_EQ(a.jobs.size(), b.jobs.size());
    const auto same = [](const Job& x, const Job& y) {
      return x.submit == y.submit && x.duration == y.duration && x.gpus() == y.gpus() &&
             x.user == y.user && x.job_class == y.job_class;
    };
    EXPECT_TRUE(std::ranges::equal(a.jobs, b.jobs, same)) << spec;
    EXPECT_FALSE(std::ranges::equal(a.jobs, other.jobs, same)) << spec;
  }
}

TEST(Generate, OneKindOfDrawLeavesTheOthersAlone) {
  const Workload a = generated("poisson:jobs=100"),
                 b = generated("poisson:jobs=100,gpus=1:1/2:1,load=1.35");
  for (std::size_t i = 0; i < a.jobs.size(); ++i)
    EXPECT_EQ(a.jobs[i].duration, b.jobs[i].duration) << i;
}

TEST(Generate, SetsCostsOfPausesAndUsers) {
  const Workload workload = generated(
      "poisson:jobs=10000,grace=3,save=1m,load_time=30,checkpoint_interval=1h,checkpoint_cost=5,"
      "trial=0.25,users=3");
  const Job& job = workload.jobs.front();
  EXPECT_EQ(job.grace, seconds(3));
  EXPECT_EQ(job.save, minutes(1));
  EXPECT_EQ(job.load, seconds(30));
  EXPECT_EQ(job.checkpoint_interval, hours(1));
  EXPECT_EQ(job.checkpoint_cost, seconds(5));
  EXPECT_EQ(job.estimate, job.duration);
  const WorkloadInfo info = inspect(workload, nullptr);
  EXPECT_EQ(info.users, 3U);
  EXPECT_NEAR(static_cast<double>(info.trial), 2500, 200);
}

TEST(Generate, DeclaresTheTruthOrLimitsOrNothing) {
  const std::string spec = "poisson:jobs=5000,mean=3h";
  const Workload truth = generated(spec), limits = generated(spec + ",declared=limits"),
                 none = generated(spec + ",declared=none");
  double shortest = 0, longest = 0, careless = 0;
  for (std::size_t i = 0; i < truth.jobs.size(); ++i) {
    const Job& job = limits.jobs[i];
    EXPECT_EQ(truth.jobs[i].duration, job.duration);
    EXPECT_EQ(none.jobs[i].duration, job.duration);
    EXPECT_EQ(truth.jobs[i].estimate, job.duration);
    EXPECT_EQ(none.jobs[i].estimate, hours(1));
    EXPECT_GE(job.estimate, job.duration);
    EXPECT_EQ(job.estimate % minutes(10), Duration{}) << "a usual limit";
    const double times = job.estimate.seconds() / job.duration.seconds();
    careless += job.duration < hours(7) && job.estimate >= days(7);
    if (job.duration < hours(1) || job.estimate >= days(7)) continue;
    shortest += times<2, longest += times> 6;
    EXPECT_LE(times, 10 * 3.0) << "10 times, and to the next limit: from 10 to 30 min";
  }
  EXPECT_NEAR(careless / static_cast<double>(truth.jobs.size()), 0.2, 0.03) << "7 d at least";
  EXPECT_GT(shortest, 0);
  EXPECT_GT(longest, 0);
}

TEST(Generate, JobsOfEveryGeneratorDeclareWhatIsAskedFor) {
  for (const Generator& generator : generators()) {
    const std::string spec =
        fmt::format("{}:{}jobs=20,declared=", generator.name,
                    generator.name == "trace" ? "file=examples/workloads/philly.csv," : "");
    const Workload exact = generated(spec + "exact"), limits = generated(spec + "limits"),
                   none = generated(spec + "none");
    for (std::size_t i = 0; i < exact.jobs.size(); ++i) {
      EXPECT_EQ(exact.jobs[i].estimate, exact.jobs[i].duration) << generator.name;
      EXPECT_EQ(limits.jobs[i].duration, exact.jobs[i].duration) << generator.name;
      EXPECT_GE(limits.jobs[i].estimate, minutes(10)) << generator.name;
      EXPECT_EQ(none.jobs[i].estimate, hours(1)) << generator.name;
    }
  }
  EXPECT_NE(generate_error("contended:declared=guess").find("declared='guess'"), std::string::npos);
}

TEST(Generate, JobsMayBeElasticAndMeasuredOnKindsOfGpu) {
  const std::string spec = "philly-like:jobs=2000";
  const Workload rigid = generated(spec);
  const Workload varied =
      generated(spec + ",elastic=0.3,measured_on=V100/P100,models=VGG-16/BERT-base");
  std::size_t elastic = 0, on_v100 = 0;
  for (std::size_t i = 0; i < rigid.jobs.size(); ++i) {
    const Job &a = rigid.jobs[i], &b = varied.jobs[i];
    ASSERT_TRUE(a.submit == b.submit && a.duration == b.duration && a.workers == b.workers);
    ASSERT_TRUE(!a.is_elastic() && a.measured_on == kAnyKind);
    if (b.is_elastic()) {
      ++elastic;
      ASSERT_EQ(b.min_workers, std::max(1, b.workers / 2));
      ASSERT_EQ(b.max_workers, 2 * b.workers);
    }
    ASSERT_NE(b.model, kNoModel);
    on_v100 += varied.kinds[index(b.measured_on)] == "V100" ? 1U : 0U;
  }
  EXPECT_NEAR(static_cast<double>(elastic), 600, 100);
  EXPECT_NEAR(static_cast<double>(on_v100), 1000, 150);
}

TEST(Generate, SaysWhatIsWrong) {
  const auto has = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(generate_error("poison:jobs=3"), "unknown generator 'poison', did you mean 'poisson'?");
  has(generate_error("poison:jobs=3"),
      "(known: poisson, philly-like, trace, trial-batch, dally-like, "
      "learning, contended)");
  has(generate_error("poisson:lod=3"), "unknown parameter 'lod', did you mean 'load'?");
  has(generate_error("poisson:jobs"), "'jobs' has no value");
  has(generate_error("poisson:jobs=3,jobs=4"), "jobs is given twice");
  has(generate_error("poisson:jobs=0"), "jobs='0'; it must be a whole number from 1 to");
  has(generate_error("poisson:load=nan"), "load='nan'; it must be a number from");
  has(generate_error("poisson:mean=1x"), "mean='1x'; it must be a duration");
  has(generate_error("poisson:gpus=256"), "gpus='256'; it must be a number of GPUs from 1 to 128");
  has(generate_error("poisson:gpus=1:0"), "gpus='1:0'");
  has(generate_error("poisson:duration=gamma"), "one of exponential, lognormal, fixed");
  has(generate_error("poisson:load=0.000001,mean=520000w"), "10,000 are the most");
  has(generate_error("philly-like:daily=2"), "daily='2'; it must be a number from 0 to 1");
}

TEST(Generate, MeasuredCurvesStandInForTheFormula) {
  const std::string folder = testing::TempDir() + "trainyard_generate_curves";
  for (const auto& [model, rows] :
       {std::pair{"slow", "1,0.2\n2,0.4\n"}, {"fast", "1,0.8\n2,0.9\n"}}) {
    std::filesystem::create_directories(folder + "/" + model);
    std::ofstream(folder + "/" + model + "/validation-8.csv") << "iteration,metric\n" << rows;
  }
  const auto converged = [&](const std::string& more) {
    const Workload workload = generate("learning:jobs=40,curves=" + folder + more,
                                       *parse_cluster_shorthand("4x8xV100"), 1)
                                  .value();
    std::set<double> found;
    for (const LearningCurve& curve : workload.curves) found.insert(curve.converged());
    return found;
  };
  EXPECT_EQ(converged(""), (std::set<double>{0.4, 0.9}));
  EXPECT_EQ(converged(",curves_of=fast"), std::set<double>{0.9});
  EXPECT_NE(generate_error("learning:curves=" + folder + ",curves_of=fast/none")
                .find("curves_of: " + folder + " has no curve of 'none'"),
            std::string::npos);
  EXPECT_NE(generate_error("learning:curves=nowhere").find("no MODEL/validation-BATCH.csv"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Generate, NoParameterTakesNonsense) {
  for (const Generator& generator : generators()) {
    for (const Parameter& parameter : generator.parameters) {
      if (parameter.name == "file" || parameter.name == "measured_on" ||
          parameter.name == "models" || parameter.name == "model" || parameter.name == "curves" ||
          parameter.name == "curves_of")
        continue;  // names
      const auto spec = [&](std::string_view value) {
        std::string text = fmt::format("{}:{}={}", generator.name, parameter.name, value);
        if (generator.make == nullptr)
          text += ",file=examples/workloads/philly.csv";
        else if (parameter.name != "jobs")
          text += ",jobs=20";
        return text;
      };
      for (const char* value :
           {"-1", "nan", "inf", "-inf", "1e999", "99999999999999999999", "", "x", "0x10"})
        EXPECT_NE(generate_error(spec(value)).find(fmt::format("{}=", parameter.name)),
                  std::string::npos)
            << spec(value) << ": " << generate_error(spec(value));
      const auto of_zero = generate(spec("0"), *parse_cluster_shorthand("16x8xV100"), 1);
      if (!of_zero) {
        EXPECT_NE(of_zero.error().message.find(fmt::format("{}=", parameter.name)),
                  std::string::npos)
            << of_zero.error().message;
        continue;
      }
      for (const Job& job : of_zero->jobs)
        EXPECT_TRUE(job.duration.us > 1 && job.gpus() > 0) << spec("0");
    }
  }
  EXPECT_EQ(generate_error("poisson:measured_on=V100/"),
            "poisson: measured_on='V100/'; it must be at most 100 names with / between them, as in "
            "V100/P100");
  EXPECT_EQ(generate_error("poisson:mean=0"),
            "poisson: mean='0'; it must be a duration longer than 0, as in 90, 1.5h, 2d12h, 250ms");
}

TEST(PhillyLike, IsCloseToTheLog) {
  const std::string path = "../shared/traces/philly/philly.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const Workload log = read_workload(path).value();
  ASSERT_EQ(log.jobs.size(), 82'247U);
  // Many more jobs than the log has, to see the fit and not the draw. Even so only some 3,500 have
  // more than 8 GPUs, and a sample of n lies about 1 / sqrt(n) = 0.017 from what it is drawn from.
  for (const Distance& d : distances(generated("philly-like:jobs=1000000"), log)) {
    if (d.what == "time between submissions") continue;
    const bool one_class = d.what.starts_with("duration,");
    EXPECT_LE(d.ks, one_class ? 0.03 : 0.01) << d.what;
  }
}

/// The demand of what is in the system at a time under FIFO, over what there is, where that is
/// most.
double load_at(const Simulation& fifo) {
  double demand[3] = {}, all[3] = {};
  const auto add = [](const Resources& r, double(&to)[3]) {
    to[0] += r.gpus, to[1] += r.milli_cpus, to[2] += r.memory_mib;
  };
  const Yard& yard = fifo.yard();
  for (const Machine& machine : yard.cluster().machines) add(machine.capacity, all);
  for (std::uint32_t j = 0; j < yard.jobs(); ++j)
    if (!has_ended(yard.state(JobId{j}).phase)) add(yard.job(JobId{j}).per_worker, demand);
  return std::max({demand[0] / all[0], demand[1] / all[1], demand[2] / all[2]});
}

TEST(Generate, TrialBatchHoldsItsLoadUnderFifo) {
  const Cluster cluster = *parse_cluster_toml(
      "[[rack]]\n[[rack.machine]]\ncount = 20\ngpus = 8\ncpus = 32\nmemory = 256\n", "test");
  const Workload workload = *generate("trial-batch:jobs=2000", cluster, 3);
  Simulation fifo(cluster, workload, *PolicySpec::parse("fifo"), {});
  while (fifo.step() && fifo.yard().jobs() < workload.jobs.size()) {
    EXPECT_GE(load_at(fifo), 2.0);
    EXPECT_LT(load_at(fifo), 2.0 + 1.0 / 20) << "a job is at most a machine";
  }
}

/// The same jobs, at other times: a policy with more throughput is asked for more.
TEST(Generate, TrialBatchHoldsItsLoadUnderAnotherPolicy) {
  const std::string spec = "trial-batch:jobs=2000";
  const Workload fifo = generated(spec), greedy = generated(spec + ",held_under=sjf"),
                 same = generated(spec + ",held_under=order=fifo");
  for (std::size_t i = 0; i < fifo.jobs.size(); ++i) {
    ASSERT_EQ(fifo.jobs[i].duration, greedy.jobs[i].duration);
    ASSERT_EQ(fifo.jobs[i].submit, same.jobs[i].submit);
  }
  EXPECT_LT(greedy.jobs.back().submit, fifo.jobs.back().submit);
  EXPECT_NE(generate_error(spec + ",held_under=fifi").find("held_under='fifi': unknown policy"),
            std::string::npos);
}

TEST(Generate, TrialBatchCanHaveTrialGangsAndBeCut) {
  const Workload workload = generated("trial-batch:jobs=100,trial_workers=3,cut=0.1");
  for (const Job& job : workload.jobs)
    EXPECT_EQ(job.workers, job.job_class == JobClass::trial ? 3 : 1);
  EXPECT_EQ(workload.uncounted, 10U);
}

TEST(Generate, TrialBatchKeepsItsBounds) {
  const Workload workload = generated(
      "trial-batch:jobs=5000,trial=0.5,trial_longest=20m,batch_longest=2h,shortest=30s,"
      "longest_grace=5m,grace_scale=2,users=3");
  std::size_t trials = 0;
  for (const Job& job : workload.jobs) {
    const bool is_trial = job.job_class == JobClass::trial;
    trials += is_trial ? 1 : 0;
    EXPECT_GE(job.duration, seconds(30));
    EXPECT_LE(job.duration, is_trial ? minutes(20) : hours(2));
    EXPECT_LE(job.grace, minutes(10));
    EXPECT_EQ(job.workers, 1);
    EXPECT_GE(job.per_worker.gpus, 1);
    EXPECT_LE(job.per_worker.gpus, 8);
  }
  EXPECT_NEAR(static_cast<double>(trials), 2500, 150);
}

TEST(Generate, TrialBatchEndsAlsoWhereBoundsAreClose) {
  const Workload workload =
      generated("trial-batch:jobs=50,run_spread=10,trial_longest=5m,shortest=299.999999");
  for (const Job& job : workload.jobs) EXPECT_GE(job.duration, Duration{299'999'999});
}

}  // namespace
}  // namespace trainyard
