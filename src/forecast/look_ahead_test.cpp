#include "forecast/look_ahead.h"

#include <gtest/gtest.h>

#include "forecast/job_lengths.h"
#include "yard/testing.h"

namespace trainyard {
namespace {

Time at(Duration since) {
  return Time{} + since;
}

Job of(std::int32_t gpus, Duration duration, Duration submit = {}) {
  Job job = gang(1, gpus, duration);
  job.submit = Time{} + submit;
  return job;
}

/// A machine of 8 GPUs, first come, first served, saved a minute after its jobs came.
struct Scene {
  explicit Scene(std::vector<Job> jobs) {
    workload.jobs = std::move(jobs);
    Simulation simulation(cluster, workload, policy, {});
    simulation.run_until(at(minutes(1)));
    beginning = simulation.save();
  }
  [[nodiscard]] Outlook look(const BeginDraw& begin, LookAheadOptions options = {},
                             const Arrivals& arrivals = {}) const {
    options.horizon = hours(100);
    return look_ahead(cluster, workload, policy, beginning, begin, arrivals, options).value();
  }
  [[nodiscard]] static BeginDraw exact() {
    return [] { return [](const Job& job, Duration, Random&) { return job.duration; }; };
  }

  Cluster cluster = *parse_cluster_shorthand("1x8xV100");
  Workload workload;
  PolicySpec policy = *PolicySpec::parse("fifo");
  Beginning beginning;
};

TEST(LookAhead, WithExactLengthsSaysWhatWillCome) {
  const Scene scene({of(8, hours(2)), of(4, hours(1)), of(8, hours(3))});
  const Outlook outlook = scene.look(Scene::exact());
  const auto sure = [](Time time) { return TimeBand{time, time, time}; };
  EXPECT_EQ(outlook.made_at, at(minutes(1)));
  EXPECT_EQ(outlook.draws, 32U);
  EXPECT_EQ(outlook.starts, (std::vector{sure(at({})), sure(at(hours(2))), sure(at(hours(3)))}));
  EXPECT_EQ(outlook.ends,
            (std::vector{sure(at(hours(2))), sure(at(hours(3))), sure(at(hours(6)))}));
  const MachineId m{0};
  EXPECT_EQ(outlook.segments, (std::vector<Segment>{{JobId{0}, m, at(minutes(1)), at(hours(2))},
                                                    {JobId{1}, m, at(hours(2)), at(hours(3))},
                                                    {JobId{2}, m, at(hours(3)), at(hours(6))}}));
}

/// The job that runs takes 2 h in half of the draws and 5 h in the others.
TEST(LookAhead, GivesABandWhereLengthsAreNotKnown) {
  const Scene scene({of(8, hours(2)), of(8, hours(1))});
  const BeginDraw either = [] {
    return [](const Job& job, Duration, Random& random) {
      if (job.duration == hours(1)) return hours(1);
      return random.uniform() < 0.5 ? hours(2) : hours(5);
    };
  };
  const Outlook outlook = scene.look(either);
  EXPECT_EQ(outlook.starts[1].p10, at(hours(2)));
  EXPECT_EQ(outlook.starts[1].p90, at(hours(5)));
  EXPECT_EQ(outlook.ends[1].p90, at(hours(6)));
  EXPECT_EQ(scene.look(either).starts, outlook.starts) << "seeded";
}

TEST(LookAhead, PutsOffTheLastJobsWhereOthersCome) {
  Scene scene({of(8, hours(2)), of(8, hours(1))});
  scene.policy = *PolicySpec::parse("order=sjf");
  scene.workload.jobs[1].estimate = hours(4);
  Job shorter = of(8, minutes(50));
  const Arrivals arrivals{{shorter}, hours(1)};
  const Outlook outlook = scene.look(Scene::exact(), {}, arrivals);
  EXPECT_GT(outlook.starts[1].p10, at(hours(2)));
  EXPECT_EQ(outlook.starts.size(), 2U) << "of the jobs that there are";
}

TEST(LookAhead, IsBoundedInInstants) {
  const Scene scene({of(8, hours(2)), of(8, hours(1)), of(8, hours(1))});
  LookAheadOptions options;
  options.most_steps = 7;  // a draw takes three
  EXPECT_EQ(scene.look(Scene::exact(), options).draws, 2U);
  options.most_steps = 1;
  options.most_segments = 0;
  const Outlook cut = scene.look(Scene::exact(), options);
  EXPECT_EQ(cut.draws, 1U);
  EXPECT_EQ(cut.starts[2].p50, Time::never());
}

TEST(LookAhead, SaysWhyABeginningDoesNotFit) {
  const Scene scene({of(8, hours(2)), of(8, hours(1))});
  Workload fewer = scene.workload;
  fewer.jobs.pop_back();
  const auto made =
      look_ahead(scene.cluster, fewer, scene.policy, scene.beginning, Scene::exact(), {}, {});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().message, "2 jobs were saved, and 1 are known");
}

/// In a draw where the first took long, others do more often than not.
TEST(JobLengths, OfOneDrawHaveAnErrorInCommon) {
  JobLengths lengths;
  for (const Duration took : {hours(1), hours(9)}) lengths.add("ada", hours(10), took);
  Random random(1);
  int long_first = 0, long_both = 0;
  for (int i = 0; i < 10'000; ++i) {
    JobLengths::Draw draw(lengths);
    const bool first = draw.length("ada", hours(10), {}, true, random) >= hours(9);
    const bool second = draw.length("ada", hours(10), {}, true, random) >= hours(9);
    long_first += first ? 1 : 0, long_both += first && second ? 1 : 0;
  }
  EXPECT_GT(long_both / static_cast<double>(long_first), long_first / 10'000.0 + 0.05);
}

TEST(BandOf, IsByNearestRank) {
  std::vector<Time> times;
  for (int i = 10; i > 0; --i) times.push_back(at(seconds(i)));
  EXPECT_EQ(band_of(times), (TimeBand{at(seconds(1)), at(seconds(5)), at(seconds(9))}));
  EXPECT_EQ(band_of({at(seconds(3))}), (TimeBand{at(seconds(3)), at(seconds(3)), at(seconds(3))}));
  EXPECT_EQ(band_of({}), TimeBand{});
}

/// The example of job_lengths.h.
TEST(JobLengths, DrawsFromJobsThatTookLonger) {
  JobLengths lengths;
  for (const Duration took : {hours(2), hours(2), hours(5)}) lengths.add("ada", hours(10), took);
  const auto shares = [&](Duration done) {
    std::map<Duration, int> times;
    Random random(1);
    for (int i = 0; i < 30'000; ++i)
      ++times[JobLengths::Draw(lengths).length("bob", hours(10), done, true, random)];
    return times;
  };
  const auto fresh = shares({});
  EXPECT_NEAR(fresh.at(hours(2)) / 30'000.0, 0.56, 0.02);
  EXPECT_NEAR(fresh.at(hours(5)) / 30'000.0, 0.28, 0.02);
  const auto later = shares(hours(3));
  EXPECT_FALSE(later.contains(hours(2)));
  EXPECT_NEAR(later.at(hours(5)) / 30'000.0, 0.64, 0.02);
}

TEST(JobLengths, GoOnAsLongAgainWhereNoneTookLonger) {
  JobLengths lengths;
  Random random(1);
  const auto length = [&](Duration done, bool is_limit) {
    return JobLengths::Draw(lengths).length("", hours(1), done, is_limit, random);
  };
  EXPECT_EQ(length({}, false), hours(1));
  EXPECT_EQ(length(hours(3), false), hours(6));
  EXPECT_EQ(length(hours(3), true), hours(3) + microseconds(1));
}

}  // namespace
}  // namespace trainyard
