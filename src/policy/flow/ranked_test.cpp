// Flow stages that rank jobs, on a yard moved by hand: one machine, where all jobs are ranked.
#include <gtest/gtest.h>

#include "base/random.h"
#include "policy/members.h"
#include "policy/testing.h"

namespace trainyard {
namespace {

/// A stage at work.
class Ranked : private YardListener {
 public:
  explicit Ranked(const Member<FlowStage>& member,
                  const std::map<std::string, std::string>& settings = {},
                  const std::string& cluster = "1x64xV100")
      : h(cluster), context_(h.yard) {
    Params params;
    for (const ParamSpec& spec : member.info.params) params.set(spec.name, spec.default_value);
    for (const auto& [name, value] : settings) params.set(name, value);
    stage = member.make(params, context_);
    h.yard.listen(context_);
    h.yard.listen(*this);
  }

  JobId run(Duration duration = hours(10)) { return h.running(gang(1, 1, duration), 0); }
  void tell(JobId job, double step, double accuracy) {
    HandYard::must(h.yard.apply(Event::learnt_by(h.yard.now(), job, {step, accuracy})));
  }
  /// The job's class after a decision in which the stage is asked.
  std::string classes() {
    std::vector<JobId> changed;
    stage->refresh(changed);
    for (const JobId job : changed) HandYard::must(Plan(h.yard).set_flow(job, stage->flow(job)));
    std::string text;
    for (std::uint32_t j = 0; j < h.yard.jobs(); ++j)
      if (holds_gpus(h.phase(JobId{j})))
        text +=
            fmt::format("{}{}", text.empty() ? "" : " ", static_cast<int>(h.yard.flow(JobId{j})));
    return text;
  }

  HandYard h;
  std::unique_ptr<FlowStage> stage;

 private:
  void on_phase(JobId job, Phase from, Phase to) override { stage->on_phase(job, from, to); }
  void on_learnt(JobId job, const LearningPoint& p) override { stage->on_learnt(job, p); }

  PolicyContext context_;
};

/// A point every minute of what A = 1, a per minute, b = 1 says, up to now.
void learn(Ranked& r, JobId job, double a, int from, int to) {
  for (int m = from; m <= to; ++m) r.tell(job, m * 60.0, 1 - 1 / (a * m + 1));
}

TEST(RankedFlow, TheFirstHaveAClassEachAndTheRestShareTheLast) {
  Ranked r(flow_fifo(), {{"classes", "3"}});
  for (int i = 0; i < 5; ++i) r.run();
  EXPECT_EQ(r.classes(), "0 1 2 2 2");
  r.h.tell(EventKind::finished, JobId{1});
  EXPECT_EQ(r.classes(), "0 1 2 2");
  EXPECT_EQ(r.stage->next_change(), Time::never()) << "nothing changes with time";
}

TEST(RankedFlow, OneClassIsForAll) {
  Ranked r(flow_fifo(), {{"classes", "1"}});
  for (int i = 0; i < 3; ++i) r.run();
  EXPECT_EQ(r.classes(), "0 0 0");
}

TEST(RankedFlow, JobsWithinOneMachineTakeNoClass) {
  Ranked r(flow_fifo(), {}, "2x8xV100");
  r.h.running(gang(4), 0);
  r.h.running(gang(4), {{MachineId{0}, 2}, {MachineId{1}, 2}});
  r.h.running(gang(4), {{MachineId{0}, 2}, {MachineId{1}, 2}});
  EXPECT_EQ(r.classes(), "0 0 1");
  const JobId small = r.h.submit(gang(1)), wide = r.h.submit(gang(2));
  EXPECT_EQ(r.stage->flow(small), kFirstFlow) << "it cannot but fit one machine";
  EXPECT_EQ(r.stage->flow(wide), FlowClass{2}) << "as if it spanned two";
}

TEST(RankedFlow, HoweverJobsComeAndGoTheClassesAreThoseOfTheirPlaces) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t classes = 1 + random.below(5);
    Ranked r(flow_fifo(), {{"classes", std::to_string(classes)}});
    std::vector<JobId> running;
    for (int i = 0; i < 60; ++i) {
      if (running.empty() || random.below(3) != 0) {
        running.push_back(r.run());
      } else {
        const auto gone =
            running.begin() + static_cast<std::ptrdiff_t>(random.below(running.size()));
        r.h.tell(random.below(2) == 0 ? EventKind::finished : EventKind::crashed, *gone);
        running.erase(gone);
      }
      if (random.below(3) == 0) continue;  // several changes in one round
      std::string expected;
      for (std::size_t place = 0; place < running.size(); ++place)
        expected += fmt::format("{}{}", place == 0 ? "" : " ", std::min(place, classes - 1));
      EXPECT_EQ(r.classes(), expected) << i;
    }
  }
}

TEST(RankedFlow, LeastRemainingAndLeastAttained) {
  Ranked remaining(flow_srtf());
  remaining.run(hours(3)), remaining.run(hours(1)), remaining.run(hours(2));
  EXPECT_EQ(remaining.classes(), "2 0 1");
  Ranked attained(flow_las());
  attained.run();
  attained.h.at(minutes(1));
  attained.run();
  EXPECT_EQ(attained.classes(), "1 0");
  EXPECT_EQ(attained.stage->next_change(), attained.h.yard.now() + seconds(10));
}

TEST(ProgressFlow, TheFastestLearnerGoesFirstAndOneThatIsNewBeforeAll) {
  Ranked r(flow_progress());
  const JobId slow = r.run(), fast = r.run();
  EXPECT_EQ(r.classes(), "0 1") << "by submission";
  for (int m = 1; m <= 5; ++m) {
    r.h.at(minutes(m));
    learn(r, slow, 0.02, m, m), learn(r, fast, 0.1, m, m);
  }
  EXPECT_EQ(r.classes(), "1 0");
  r.run();
  EXPECT_EQ(r.classes(), "2 1 0");
}

TEST(ProgressFlow, JobsThatTellNothingGoByLeastAttainedTimeAndNotByTheirNumber) {
  Ranked r(flow_progress());
  r.run();
  r.h.at(seconds(5));
  r.run();
  EXPECT_EQ(r.classes(), "1 0") << "both are new, and the second has had less";
  r.h.at(minutes(5));
  r.run();
  EXPECT_EQ(r.classes(), "2 1 0") << "the new one, then the one that is 5 s younger";
}

TEST(ProgressFlow, AnOldJobThatTellsNothingIsTakenToBeHalfway) {
  Ranked r(flow_progress());
  const JobId silent = r.run();
  r.h.at(minutes(10));
  const JobId early = r.run(), late = r.run();
  for (int m = 1; m <= 10; ++m) {
    r.h.at(minutes(10 + m));
    learn(r, early, 0.2, m, m), learn(r, late, 2, m, m);
  }
  // In 10 s it gains 0.0021 at 20 minutes; the others 0.0036 and 0.0007.
  EXPECT_EQ(r.classes(), "1 0 2") << index(silent);
}

/// Changes of class in 40 periods of 10 s, of two jobs that have run for 10 minutes: the one in the
/// first class does its work, the other one hardly any.
int turns_taken(const Member<FlowStage>& member, const char* margin) {
  Ranked r(member, {{"classes", "2"}, {"margin", margin}});
  const JobId one = r.run(), other = r.run();
  r.h.at(minutes(10));
  std::string before = r.classes();
  int changes = 0;
  for (int period = 1; period <= 40; ++period) {
    for (const JobId job : {one, other}) {
      const double slowness = r.h.yard.flow(job) == kFirstFlow ? 1 : 100;
      HandYard::must(r.h.yard.apply(Event::rate_of(r.h.yard.now(), job, Rate::taking(slowness))));
    }
    r.h.at(minutes(10) + seconds(10 * period));
    const std::string now = r.classes();
    changes += now == before ? 0 : 1;
    before = now;
  }
  return changes;
}

TEST(RankedFlow, AMarginKeepsEqualJobsFromTakingTurns) {
  for (const auto& member : {flow_progress(), flow_milestones()}) {
    EXPECT_EQ(turns_taken(member, "0"), 40) << member.info.name;
    EXPECT_EQ(turns_taken(member, "0.1"), 3) << member.info.name;
  }
}

TEST(RankedFlow, OneThatIsClearlyBeforePassesAtOnceInSpiteOfAMargin) {
  Ranked r(flow_las(), {{"classes", "3"}, {"margin", "0.1"}});
  const JobId first = r.run();
  r.h.at(minutes(10));
  const JobId second = r.run();
  r.run(), r.run();
  EXPECT_EQ(r.classes(), "2 0 1 2");
  r.h.tell(EventKind::finished, second);
  EXPECT_EQ(r.classes(), "2 0 1") << "a place that is free is taken";
  r.h.at(minutes(11));
  r.run();
  EXPECT_EQ(r.classes(), "2 1 2 0");
  EXPECT_EQ(r.h.yard.flow(first), FlowClass{2});
}

TEST(ProgressFlow, AJobThatHasLearntJoinsTheLastClass) {
  Ranked r(flow_progress(), {{"classes", "4"}});
  const JobId done = r.run(), learning = r.run();
  for (int m = 1; m <= 20; ++m) {
    r.h.at(minutes(m));
    learn(r, done, 50, m, m), learn(r, learning, 0.1, m, m);
  }
  EXPECT_EQ(r.classes(), "3 0");
}

TEST(ProgressFlow, AStarvedJobDoesNotLookSlowToLearn) {
  Ranked r(flow_progress());
  const JobId starved = r.run(), served = r.run();
  HandYard::must(r.h.yard.apply(Event::rate_of(r.h.yard.now(), starved, Rate::taking(10))));
  for (int m = 1; m <= 10; ++m) {
    r.h.at(minutes(10 * m));
    r.tell(starved, m, 1 - 1 / (0.2 * m + 1));        // a step is a minute of work
    r.tell(served, 10.0 * m, 1 - 1 / (0.2 * m + 1));  // as good, but by ten times the work
  }
  EXPECT_EQ(r.classes(), "0 1");
}

TEST(ProgressFlow, TheTrueCurvesNeedNoPoints) {
  Ranked r(flow_progress(), {{"curves", "true"}});
  r.h.workload.curves = {*make_learning_curve(0.9, 0, 0.6), *make_learning_curve(0.9, 0, 0.1)};
  r.run(), r.run();
  EXPECT_EQ(r.classes(), "1 0");
  r.h.at(hours(2));
  EXPECT_EQ(r.classes(), "0 7") << "the second is at 97% of what its curve tends to";
}

TEST(ProgressFlow, VariantsOfTheGain) {
  for (const auto& [gain, expected] : {std::pair{"period", "1 0"}, {"iteration", "0 1"}}) {
    Ranked r(flow_progress(), {{"gain", gain}});
    const JobId few = r.run(), many = r.run();
    for (int m = 1; m <= 8; ++m) {
      r.h.at(minutes(m));
      r.tell(few, m, 1 - 1 / (0.05 * m + 1));          // a step a minute
      r.tell(many, 100.0 * m, 1 - 1 / (0.1 * m + 1));  // a hundred
    }
    EXPECT_EQ(r.classes(), expected) << gain;
  }
}

TEST(To95Flow, TheSoonestAt95PercentGoesFirst) {
  Ranked r(flow_to_95(), {{"curves", "true"}});
  r.h.workload.curves = {*make_learning_curve(0.9, 0, 0.5), *make_learning_curve(0.9, 0, 0.1)};
  r.run(hours(1)), r.run(hours(10));
  EXPECT_EQ(r.classes(), "0 1") << "30 minutes against 60";
  r.h.at(minutes(31));
  EXPECT_EQ(r.classes(), "7 0") << "it is past that";
}

TEST(To95Flow, GoesByTheFitAndWithoutACurveByTimeAttained) {
  Ranked r(flow_to_95());
  const JobId told = r.run(hours(10));
  for (int m = 1; m <= 10; ++m) {
    r.h.at(minutes(m));
    learn(r, told, 0.2, m, m);
  }
  r.run();
  EXPECT_EQ(r.classes(), "1 0") << "a new job";
  r.h.at(hours(4));
  EXPECT_EQ(r.classes(), "7 0") << "it is past 95% by its curve";
}

/// Curves that have 95% after 6, 30 and 1.2 minutes.
TEST(MilestonesFlow, BeforeThe90PercentThenBeforeThe95ThenTheOthers) {
  Ranked r(flow_milestones(), {{"curves", "true"}});
  r.h.workload.curves = {*make_learning_curve(0.9, 0, 0.1), *make_learning_curve(0.9, 0, 0.5),
                         *make_learning_curve(0.9, 0, 0.02)};
  r.run(hours(1)), r.run(hours(1)), r.run(hours(1));
  EXPECT_EQ(r.classes(), "1 2 0") << "the soonest at 90%";
  const auto to = [&](std::uint32_t job, double part) {
    return r.h.workload.curves[job].share_to(part) * 60;
  };
  ASSERT_LT(to(2, 0.95), 4);
  ASSERT_LT(to(0, 0.90), 4);
  ASSERT_GT(to(0, 0.95), 5);
  r.h.at(minutes(4));
  EXPECT_EQ(r.classes(), "1 0 2") << "before 90%, between, past 95%";
  r.run(hours(1));
  EXPECT_EQ(r.classes(), "2 1 3 0") << "it has no curve and has had nothing";
}

TEST(MilestonesFlow, BetweenTheTwoTheWholeTimeCounts) {
  Ranked r(flow_milestones(), {{"curves", "true"}});
  const LearningCurve curve = *make_learning_curve(0.9, 0, 0.5);
  r.h.workload.curves = {curve, curve};
  r.run(minutes(90));
  r.run(minutes(60));
  r.h.at(minutes(29));
  ASSERT_LT(curve.share_to(0.90) * 90, 29) << "both are between, 16 minutes and one from 95%";
  EXPECT_EQ(r.classes(), "1 0") << "45 minutes in all against 30";
  r.h.at(minutes(31));
  EXPECT_EQ(r.classes(), "0 1") << "the second is past 95%, and in a class of its own";
}

TEST(MilestonesFlow, PastBothTheFewestStepsGoFirst) {
  Ranked r(flow_milestones());
  const JobId old = r.run(hours(1));
  r.h.at(minutes(20));
  const JobId young = r.run(hours(1));
  for (int m = 1; m <= 20; ++m) {
    r.h.at(minutes(20 + m));
    learn(r, old, 50, 20 + m, 20 + m), learn(r, young, 50, m, m);
  }
  EXPECT_EQ(r.classes(), "1 0") << "neither joins the last class";
}

TEST(MilestonesFlow, JobsThatTellNothingGoByWhatTheyHaveHad) {
  Ranked r(flow_milestones());
  r.run();
  r.h.at(minutes(5));
  const JobId told = r.run();
  for (int m = 1; m <= 10; ++m) {
    r.h.at(minutes(5 + m));
    learn(r, told, 0.2, m, m);
  }
  EXPECT_EQ(r.classes(), "0 1") << "15 minutes against 35, when it has 90% of what it will have";
  r.run();
  EXPECT_EQ(r.classes(), "1 2 0");
}

}  // namespace
}  // namespace trainyard
