// What a live job tells of itself, and what the yard makes of it.
#include "live/loop/live_yard.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

class LiveYardTest : public testing::Test {
 protected:
  LiveYardTest() {
    EXPECT_TRUE(
        yard_.begin(cluster_, *PolicySpec::parse("srtf", {"yard.min_run=0"}), {}, {}, now_));
  }

  /// Of the whole machine.
  JobRecord& submit(Duration time) {
    JobRecord& job = jobs_[++last_];
    job.number = last_;
    job.owner.user = "ada";
    job.spec.per_worker.gpus = 4;
    job.spec.time = time;
    EXPECT_EQ(yard_.submit(job, now_), Verdict::ok);
    decide();
    return job;
  }

  void at(Duration since_start) { now_ = Time{} + since_start; }
  void decide() {
    (void)yard_.decide(now_);
    for (const LiveYard::Order& order : yard_.take_orders()) {
      if (order.kind != Order::Kind::start) continue;
      EXPECT_EQ(yard_.apply(EventKind::loaded, order.job, now_), Verdict::ok);
    }
  }
  void report(JobRecord& job, std::int64_t step, std::int64_t total) {
    job.progress.emplace();
    job.progress->step = step, job.progress->total = total;
    yard_.learn(job, now_);
  }
  JobLife life(const JobRecord& job) {
    JobLife found;
    yard_.take_changed([&](JobNumber number, JobLife changed) {
      if (number == job.number) found = std::move(changed);
    });
    return found;
  }
  /// The only job, or the first.
  [[nodiscard]] const Yard& yard() const { return yard_.yard(); }

  static constexpr JobId kFirst{0};
  std::shared_ptr<const Cluster> cluster_ =
      std::make_shared<Cluster>(*parse_cluster_shorthand("1x4xV100"));
  LiveYard yard_{cluster_, FlowClasses::ignored, Duration{}};
  Time now_;
  JobNumber last_ = 0;
  std::map<JobNumber, JobRecord> jobs_;
};

TEST_F(LiveYardTest, WhatARunningJobReportsReachesThePolicy) {
  JobRecord& job = submit(hours(1));
  at(minutes(10));
  report(job, 10, 1000);
  EXPECT_EQ(yard().expected_remaining(kFirst), minutes(990));
  const JobRecord& shorter = submit(hours(2));
  EXPECT_EQ(yard().making_room_for(kFirst), JobId{1})
      << "by what it said at first it has less left";
  EXPECT_EQ(life(job).room_for, shorter.number);
}

/// The next yard numbers its jobs anew and counts allowances from the beginning.
TEST_F(LiveYardTest, WhatThePolicyKnowsOfSingleJobsIsNotHandedOn) {
  const auto policy = PolicySpec::parse("trainyard");
  ASSERT_TRUE(policy);
  ASSERT_TRUE(yard_.begin(cluster_, *policy, {}, {}, now_));
  JobRecord& job = jobs_[++last_];
  job.number = last_;
  job.owner.user = "ada";
  job.spec.job_class = JobClass::trial;
  job.spec.per_worker.gpus = 1;
  ASSERT_EQ(yard_.submit(job, now_), Verdict::ok);
  decide();
  const Learnt learnt = yard_.learnt();
  EXPECT_FALSE(learnt.empty());
  for (const auto& [name, list] : learnt) EXPECT_FALSE(name.starts_with(kOfJobs)) << name;
}

TEST_F(LiveYardTest, AnElasticJobStartsWithTheFewestWorkersAndRunsByTheKindThatItWasMeasuredOn) {
  JobRecord& job = jobs_[++last_];
  job.number = last_;
  job.spec.workers = 2, job.spec.max_workers = 8;
  job.spec.measured_on = "P100";
  job.spec.time = hours(1);
  ASSERT_EQ(yard_.misfit(job.spec), "") << "the most need not fit";
  ASSERT_EQ(yard_.submit(job, now_), Verdict::ok);
  decide();
  EXPECT_EQ(workers(yard().placement(kFirst)), 2);
  EXPECT_EQ(yard().job(kFirst).max_workers, 8);
  EXPECT_DOUBLE_EQ(yard().rate(kFirst).time_per_work(), 0.6) << "on V100";
  JobSpec unknown = job.spec;
  unknown.measured_on = "P10O";
  EXPECT_EQ(yard_.misfit(unknown),
            "was measured on GPUs of kind 'P10O', which neither the cluster nor the catalogue has, "
            "did you mean 'P100'?");
}

/// Decisions within a minute in which nothing happens to 100 gangs that run on two machines each,
/// and the jobs that these decisions changed.
std::pair<int, int> idle_minute(const std::string& policy, FlowClasses flows) {
  const auto cluster = std::make_shared<Cluster>(*parse_cluster_shorthand("200x1xV100"));
  LiveYard yard(cluster, flows, Duration{});
  EXPECT_TRUE(yard.begin(cluster, *PolicySpec::parse(policy), {}, {}, Time{}));
  for (JobNumber number = 1; number <= 100; ++number) {
    JobRecord job;
    job.number = number;
    job.spec.workers = 2;
    job.spec.time = minutes(100 + static_cast<std::int64_t>(number));
    EXPECT_EQ(yard.submit(job, Time{}), Verdict::ok);
  }
  Time wake = yard.decide(Time{});
  for (const LiveYard::Order& order : yard.take_orders())
    EXPECT_EQ(yard.apply(EventKind::loaded, order.job, Time{}), Verdict::ok);
  EXPECT_EQ(yard.yard().held_gpus(), 200);
  wake = yard.decide(Time{} + seconds(1));
  yard.take_changed([](JobNumber, const JobLife&) {});
  int decisions = 0, changed = 0;
  for (; wake <= Time{} + seconds(61); ++decisions) wake = yard.decide(wake);
  yard.take_changed([&](JobNumber, const JobLife&) { ++changed; });
  return {decisions, changed};
}

TEST(IdleFlowStage, NeitherWakesNorChangesJobsWhereTheEngineCarriesNoClassesOut) {
  const std::string base = "order=fifo place=first-fit flow=";
  EXPECT_EQ(idle_minute(base + "las", FlowClasses::ignored), (std::pair{0, 0}));
  const auto acting = idle_minute(base + "las", FlowClasses::carried_out);
  EXPECT_EQ(acting.first, 6) << "every 10 s";
  const auto fair = idle_minute("trainyard", FlowClasses::ignored);
  EXPECT_EQ(fair, (std::pair{0, 0})) << "the default of serve";
  EXPECT_GE(idle_minute("trainyard", FlowClasses::carried_out).first, 6);
}

TEST_F(LiveYardTest, AJobTakesGpusOfItsKindAlone) {
  JobRecord& job = jobs_[++last_];
  job.number = last_;
  job.spec.gpu_kind = "v100";
  ASSERT_EQ(yard_.misfit(job.spec), "");
  ASSERT_EQ(yard_.submit(job, now_), Verdict::ok);
  EXPECT_EQ(yard().shape(kFirst).kind, yard().cluster().machines[0].kind);
  JobSpec other = job.spec;
  other.gpu_kind = "H100";
  EXPECT_EQ(yard_.misfit(other), "asks for GPUs of kind 'H100', and there are only: V100");
  other.gpu_kind.clear();
  EXPECT_EQ(yard_.misfit(other), "");
}

TEST_F(LiveYardTest, SpeedIsMeasuredOverAMinuteAndMore) {
  JobRecord& job = submit(hours(10));
  at(minutes(10));
  report(job, 100, 1000);  // ten steps a minute so far
  at(minutes(10) + seconds(30));
  report(job, 101, 1000);
  EXPECT_EQ(yard().rate(kFirst), Rate{}) << "half a minute may be an evaluation";
  at(minutes(14));
  report(job, 120, 1000);  // five a minute
  EXPECT_NEAR(yard().rate(kFirst).time_per_work(), 1 / (14.0 / 120 * 5), 1e-9);
  const Duration left = yard().expected_end(kFirst) - now_;
  EXPECT_NEAR(left.seconds(), 60 * 880 / 5.0, 1) << "what is left goes as fast as of late";
  at(minutes(18));
  report(job, 140, 1000);
  EXPECT_NEAR(yard().work_done(kFirst).seconds(), 60 * (14 + 4 * 14.0 / 120 * 5), 1e-3);
}

TEST_F(LiveYardTest, AStepBackBeginsTheMeasurementAnew) {
  JobRecord& job = submit(hours(10));
  at(minutes(10));
  report(job, 100, 1000);
  at(minutes(11));
  report(job, 60, 1000);
  at(minutes(12));
  report(job, 60, 1000);
  EXPECT_EQ(yard().rate(kFirst), Rate{});
}

TEST_F(LiveYardTest, WhatIsLearntIsKeptAndTakenUpAgain) {
  JobRecord& job = submit(hours(10));
  at(minutes(10));
  report(job, 100, 1000);
  at(minutes(14));
  report(job, 120, 1000);
  job.progress->save_s = 30;
  yard_.learn(job, now_);
  job.life = life(job);
  JobRecord read;
  read.number = job.number, read.spec = job.spec, read.owner = job.owner;
  ASSERT_TRUE(life_from_json(life_to_json(job), read));
  LiveYard again(cluster_, FlowClasses::ignored, Duration{});
  ASSERT_TRUE(again.begin(cluster_, *PolicySpec::parse("srtf"), {&read}, {}, now_));
  EXPECT_EQ(again.yard().rate(kFirst), yard().rate(kFirst));
  EXPECT_EQ(again.yard().estimate(kFirst), yard().estimate(kFirst));
  EXPECT_EQ(again.yard().expected_pause(kFirst), job.spec.grace + seconds(30));
  EXPECT_EQ(again.yard().work_done(kFirst, now_), yard().work_done(kFirst, now_));
}

TEST_F(LiveYardTest, WhatPausesCostIsKnownOfTheNextJobOfTheModel) {
  JobRecord& job = submit(hours(1));
  job.spec.model = "resnet50";
  report(job, 1, 10);
  yard_.note_load(job, seconds(7));
  job.progress->save_s = 5;
  yard_.learn(job, now_);
  JobRecord next = job;
  next.number = 99, next.progress.reset();
  ASSERT_EQ(yard_.submit(next, now_), Verdict::ok);
  EXPECT_EQ(yard().reload_time(JobId{1}), seconds(7));
  EXPECT_EQ(yard().expected_pause(JobId{1}), job.spec.grace + seconds(5));
}

TEST_F(LiveYardTest, AnEndThatIsHeardOfLateIsAllTheSame) {
  const JobRecord& job = submit(hours(10));
  at(hours(3));
  yard_.note_end(job.number, hours(1));
  ASSERT_EQ(yard_.apply(EventKind::finished, job.number, now_), Verdict::ok);
  EXPECT_EQ(yard().state(kFirst).done, hours(1));
}

/// What the yard's listeners hear of learning.
struct Heard : YardListener {
  void on_phase(JobId, Phase, Phase) override {}
  void on_learnt(JobId, const LearningPoint& point) override { points.push_back(point); }
  std::vector<LearningPoint> points;
};

TEST_F(LiveYardTest, LearningCurvesReachThePolicyOnceAndAgainAfterAStepBack) {
  JobRecord& job = submit(hours(1));
  Heard heard;
  const_cast<Yard&>(yard()).listen(heard);
  const auto tell = [&](std::int64_t step, double accuracy) {
    at(seconds(step));
    job.progress.emplace();
    job.progress->step = step, job.progress->accuracy = accuracy;
    job.curve.add(*job.progress, seconds(step));
    yard_.learn(job, now_);
    yard_.learn(job, now_);
  };
  tell(10, 0.1), tell(20, 0.2), tell(30, 0.3);
  EXPECT_EQ(heard.points, (std::vector<LearningPoint>{{10, 0.1}, {20, 0.2}, {30, 0.3}}));
  heard.points.clear();
  at(seconds(40));
  job.progress->step = 15, job.progress->accuracy = 0.15;
  job.curve.add(*job.progress, seconds(40));
  yard_.learn(job, now_);
  EXPECT_EQ(heard.points, (std::vector<LearningPoint>{{15, 0.15}}));
}

}  // namespace
}  // namespace trainyard
