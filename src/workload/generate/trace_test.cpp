// Traces with some of them changed, and what their pauses cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "workload/read.h"
#include "workload/testing.h"

namespace trainyard {
namespace {

constexpr const char* kPhilly = "examples/workloads/philly.csv";

Workload philly(const std::string& keys = "", std::uint64_t seed = 1) {
  return generated(fmt::format("trace:file={}{}", kPhilly, keys), "16x8xV100", seed);
}

TEST(Trace, IsTheFileFromItsFirstJobOn) {
  const Workload file = *read_workload(kPhilly), trace = philly();
  ASSERT_EQ(trace.jobs.size(), file.jobs.size());
  for (std::size_t i = 0; i < file.jobs.size(); ++i) {
    EXPECT_EQ(trace.jobs[i].submit - Time{}, file.jobs[i].submit - file.jobs[0].submit);
    EXPECT_EQ(trace.jobs[i].duration, file.jobs[i].duration);
    EXPECT_EQ(trace.jobs[i].gpus(), file.jobs[i].gpus());
  }
}

TEST(Trace, ASeedChoosesAWindow) {
  const Workload file = *read_workload(kPhilly);
  std::set<std::int64_t> beginnings;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Workload window = philly(",jobs=5", seed);
    ASSERT_EQ(window.jobs.size(), 5U);
    const auto same = [](const Job& a, const Job& b) {
      return a.duration == b.duration && a.gpus() == b.gpus();
    };
    const auto at = std::search(file.jobs.begin(), file.jobs.end(), window.jobs.begin(),
                                window.jobs.end(), same);
    ASSERT_NE(at, file.jobs.end()) << "jobs that follow each other in the file, seed " << seed;
    beginnings.insert(at - file.jobs.begin());
  }
  EXPECT_GT(beginnings.size(), 5U);
}

TEST(Trace, WindowsCanBeOfAPartOfTheFile) {
  const auto durations = [](const Workload& workload) {
    std::vector<std::int64_t> all;
    for (const Job& job : workload.jobs) all.push_back(job.duration.us);
    return all;
  };
  const std::vector<std::int64_t> whole = durations(philly()),
                                  first = durations(philly(",until=0.6")),
                                  rest = durations(philly(",from=0.6"));
  std::vector<std::int64_t> both = first;
  both.insert(both.end(), rest.begin(), rest.end());
  EXPECT_EQ(both, whole) << "nothing is in both, and nothing in neither";
  EXPECT_EQ(first.size(), std::llround(0.6 * static_cast<double>(whole.size())));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<std::int64_t> window = durations(philly(",from=0.6,jobs=3", seed));
    EXPECT_FALSE(std::ranges::search(rest, window).empty()) << "seed " << seed;
  }
}

TEST(Trace, MeetsTheLoadThatIsAskedFor) {
  const Workload trace = philly(",load=0.7,duration_scale=0.5,max_gpus=4");
  double gpu_s = 0;
  for (const Job& job : trace.jobs) {
    EXPECT_LE(job.gpus(), 4);
    gpu_s += job.gpus() * job.duration.seconds();
  }
  const double span_s = (trace.jobs.back().submit - trace.jobs.front().submit).seconds();
  EXPECT_NEAR(gpu_s / (span_s * 128), 0.7, 1e-6);
  const Workload whole = philly(",max_gpus=4");
  EXPECT_NEAR(trace.jobs[2].duration.seconds(), whole.jobs[2].duration.seconds() / 2, 1e-6);
}

TEST(Trace, JobsCanRunAsManyTimesAsLongAsTheyHaveGpus) {
  const Workload plain = philly(), longer = philly(",times_gpus=yes");
  for (std::size_t i = 0; i < plain.jobs.size(); ++i)
    EXPECT_EQ(longer.jobs[i].duration, plain.jobs[i].duration * plain.jobs[i].gpus());
}

TEST(Trace, SaysWhatIsWrong) {
  EXPECT_EQ(try_generate("trace").error().message,
            "trace: file=... is missing; it names the trace to take jobs from");
  EXPECT_NE(try_generate("trace:file=nowhere.csv").error().message.find("nowhere.csv"),
            std::string::npos);
  EXPECT_NE(try_generate("trace:file=nowhere.csv,pause=cheap")
                .error()
                .message.find("pause='cheap'; it must be one of given, free, model, gpu, helios"),
            std::string::npos);
  EXPECT_EQ(try_generate("trace:file=-").error().message,
            "trace: file='-'; standard input can be read only as a workload");
  EXPECT_NE(try_generate(fmt::format("trace:file={},pause_scale=2", kPhilly))
                .error()
                .message.find("pause_scale=2 scales nothing"),
            std::string::npos);
}

TEST(Trace, RefusesWhatDoesNotFitOrLeavesItOutAndSaysSo) {
  const std::string spec = fmt::format("trace:file={}", kPhilly);
  const Cluster small = *parse_cluster_shorthand("1x2xV100");
  const auto refused = generate(spec, small, 1);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--drop-larger"), std::string::npos);
  std::vector<std::string> notes;
  const auto dropped = generate(spec, small, 1, {{.notes = &notes}, true});
  ASSERT_TRUE(dropped) << dropped.error().message;
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0], "1 job left out: ran for 0 seconds");
  EXPECT_NE(notes[1].find("jobs left out: too large for the cluster (1 rack"), std::string::npos);
  notes.clear();
  EXPECT_TRUE(generate(spec + ",max_gpus=2", small, 1, {{.notes = &notes}}));
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[1].find("jobs left out: more than 2 GPUs"), std::string::npos);
}

TEST(Trace, DoesNotSayWhatPausesCostWhereTheFileDoesNot) {
  EXPECT_EQ(philly().pause_costs, PauseCosts::unsaid);
  EXPECT_EQ(philly(",pause=free").pause_costs, PauseCosts::given);
  EXPECT_EQ(philly(",pause=helios").pause_costs, PauseCosts::given);
}

TEST(Trace, SmallAndShortJobsCanBeTrialJobs) {
  for (const Job& job : philly().jobs) EXPECT_EQ(job.job_class, JobClass::batch);
  int trials = 0;
  for (const Job& job : philly(",trial_longest=30m,trial_gpus=2").jobs) {
    const bool is_trial = job.duration <= minutes(30) && job.gpus() <= 2;
    EXPECT_EQ(job.job_class, is_trial ? JobClass::trial : JobClass::batch);
    trials += is_trial;
  }
  EXPECT_GT(trials, 0);
}

TEST(Trace, TheFileOfAWorkload) {
  EXPECT_EQ(trace_file("jobs.csv"), "jobs.csv");
  EXPECT_EQ(trace_file("trace:load=1,file=a/b.csv,jobs=3"), "a/b.csv");
  EXPECT_EQ(trace_file("trace:jobs=3"), "");
  EXPECT_EQ(trace_file("poisson:jobs=3"), "");
}

TEST(Pauses, ArePublishedOnesBySize) {
  for (const Job& job : philly(",pause=helios,pause_scale=2").jobs) {
    const int restart_s = job.gpus() == 1 ? 7 : job.gpus() <= 8 ? 30 : 60;
    EXPECT_EQ(job.save, microseconds(2 * restart_s * 250'000));
    EXPECT_EQ(job.load, microseconds(2 * restart_s * 750'000));
  }
}

TEST(Pauses, CanBeASecondForEachGpu) {
  for (const Job& job : philly(",pause=gpu").jobs) {
    EXPECT_EQ(job.save, seconds(job.gpus()));
    EXPECT_EQ(job.load, Duration{});
  }
  EXPECT_EQ(generated("dally-like:jobs=1,pause=gpu,max_gpus=1").jobs[0].save, seconds(1));
  EXPECT_EQ(generated("dally-like:jobs=1").jobs[0].load, seconds(62));
}

TEST(Pauses, OfAModelFollowFromItsCheckpoint) {
  const Workload trace = generated("trace:file=examples/workloads/dally.json,pause=model");
  int seen = 0;
  for (const Job& job : trace.jobs) {
    if (job.model == kNoModel || trace.models[index(job.model)] != "bert-base") continue;
    ++seen;
    EXPECT_NEAR(job.save.seconds(), 2 + 110e6 * 12 / 1e9, 0.1);
    EXPECT_NEAR(job.load.seconds(), 120 + 1.32 + 1 + std::log2(job.gpus()), 0.1);
  }
  EXPECT_GT(seen, 0);
}

TEST(Pauses, OfAModelAreThoseOfTheModelThatWasDrawn) {
  for (const char* generator :
       {"poisson:", "philly-like:", "trace:file=examples/workloads/dally.json,"})
    for (const Job& job :
         generated(fmt::format("{}jobs=9,models=ResNet-50,pause=model", generator)).jobs)
      EXPECT_NEAR(job.load.seconds(), 250 + 0.2 + 1 + std::log2(job.gpus()), 0.1) << generator;
}

TEST(Pauses, AreScaledAlsoWhereTheyAreGiven) {
  const Job job = generated("poisson:jobs=1,grace=10,save=20,load_time=30,pause_scale=0.5").jobs[0];
  EXPECT_EQ(job.grace, seconds(5));
  EXPECT_EQ(job.save, seconds(10));
  EXPECT_EQ(job.load, seconds(15));
  EXPECT_EQ(generated("philly-like:jobs=1,save=20,pause=tiresias,pause_scale=0").jobs[0].load.us,
            0);
}

TEST(PhillyLike, DurationsCanBeScaled) {
  const Workload whole = generated("philly-like:jobs=100"),
                 tenth = generated("philly-like:jobs=100,duration_scale=0.1");
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_NEAR(tenth.jobs[i].duration.seconds(), whole.jobs[i].duration.seconds() / 10, 1e-6);
}

}  // namespace
}  // namespace trainyard
