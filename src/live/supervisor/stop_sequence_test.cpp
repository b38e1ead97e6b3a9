#include "live/supervisor/stop_sequence.h"

#include <gtest/gtest.h>

#include <csignal>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

using Step = StopSequence::Step;
using Steps = std::vector<std::pair<std::int64_t, Step>>;

Time at(std::int64_t s) {
  return {seconds(s).us};
}

StopOrder asking(std::int64_t grace, std::int64_t kill_wait) {
  return {.signal = SIGUSR1, .grace = seconds(grace), .kill_wait = seconds(kill_wait)};
}

StopOrder terminating(std::int64_t grace) {
  return {.grace = seconds(grace), .kill_wait = seconds(30)};
}

/// Everything that is due from second `from` on, with when it comes.
Steps steps(StopSequence& sequence, std::int64_t from, std::int64_t until) {
  Steps all;
  for (std::int64_t s = from; s < until; ++s)
    for (Step step = sequence.take(at(s)); step != Step::none; step = sequence.take(at(s)))
      all.emplace_back(s, step);
  return all;
}

TEST(StopSequence, AsksThenTerminatesThenKills) {
  StopSequence sequence;
  EXPECT_EQ(sequence.next(), Time::never());
  sequence.order(asking(90, 30), at(5));
  EXPECT_EQ(steps(sequence, 5, 300),
            (Steps{{5, Step::ask}, {95, Step::terminate}, {125, Step::kill}}));
  EXPECT_EQ(sequence.next(), Time::never());
}

TEST(StopSequence, AsksBeforeTheLimitAndNothingElseFollows) {
  StopSequence sequence;
  sequence.ask_at(asking(90, 30), at(10));
  EXPECT_EQ(sequence.next(), at(10));
  EXPECT_EQ(steps(sequence, 0, 300), (Steps{{10, Step::ask}}));
  EXPECT_TRUE(sequence.has_asked());
  EXPECT_FALSE(sequence.has_begun());
  EXPECT_EQ(sequence.next(), Time::never());
}

TEST(StopSequence, OneThatWasAskedIsNotAskedAgainButHasItsGrace) {
  StopSequence sequence;
  sequence.ask_at(asking(90, 30), at(10));
  EXPECT_EQ(steps(sequence, 0, 20), (Steps{{10, Step::ask}}));
  sequence.order(asking(90, 30), at(20));
  EXPECT_EQ(steps(sequence, 20, 300), (Steps{{110, Step::terminate}, {140, Step::kill}}));
}

TEST(StopSequence, AnOrderToStopTakesThePlaceOfTheQuestionBeforeTheLimit) {
  StopSequence asks, terminates;
  for (StopSequence* sequence : {&asks, &terminates}) sequence->ask_at(asking(90, 30), at(100));
  asks.order(asking(5, 1), at(50));
  EXPECT_EQ(steps(asks, 50, 300),
            (Steps{{50, Step::ask}, {55, Step::terminate}, {56, Step::kill}}));
  terminates.order(terminating(10), at(50));
  EXPECT_EQ(steps(terminates, 50, 300), (Steps{{50, Step::terminate}, {60, Step::kill}}));
}

TEST(StopSequence, WithoutADeclaredSignalTheGraceFollowsTheTermination) {
  StopSequence sequence;
  sequence.order(terminating(10), at(5));
  EXPECT_EQ(steps(sequence, 5, 300), (Steps{{5, Step::terminate}, {15, Step::kill}}));
}

TEST(StopSequence, ASecondOrderShortensButNeverLengthens) {
  StopSequence sequence;
  sequence.order(asking(90, 30), at(0));
  EXPECT_EQ(steps(sequence, 0, 10), (Steps{{0, Step::ask}}));
  sequence.order(asking(500, 500), at(10));
  EXPECT_EQ(sequence.next(), at(90));
  sequence.order(asking(5, 1), at(10));
  EXPECT_EQ(steps(sequence, 10, 300), (Steps{{15, Step::terminate}, {16, Step::kill}}));
}

TEST(StopSequence, NoGraceKillsAtOnce) {
  StopSequence sequence;
  sequence.order(asking(90, 30), at(0));
  EXPECT_EQ(steps(sequence, 0, 1), (Steps{{0, Step::ask}}));
  sequence.order(terminating(0), at(1));
  EXPECT_EQ(steps(sequence, 1, 2), (Steps{{1, Step::terminate}, {1, Step::kill}}));
}

TEST(StopSequence, NextIsNeverLateForWhatTakeGives) {
  StopSequence sequence;
  sequence.order(asking(3, 2), at(0));
  Steps seen;
  while (sequence.next() != Time::never()) {
    const Time next = sequence.next();
    const Step step = sequence.take(next);
    ASSERT_NE(step, Step::none);
    seen.emplace_back(next.us / 1'000'000, step);
  }
  EXPECT_EQ(seen, (Steps{{0, Step::ask}, {3, Step::terminate}, {5, Step::kill}}));
}

}  // namespace
}  // namespace trainyard
