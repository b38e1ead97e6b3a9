#include "policy/recent_load.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(RecentLoad, IsTheShareOfTheTimeSinceTheFirstObservation) {
  RecentLoad load;
  EXPECT_EQ(load.share(Time{} + hours(1), 8), 0) << "nothing is known";
  load.observe(Time{} + hours(5), 4);
  EXPECT_EQ(load.share(Time{} + hours(5), 8), 0) << "no time has passed";
  load.observe(Time{} + hours(6), 8);
  EXPECT_EQ(load.share(Time{} + hours(6), 8), 0.5);
  EXPECT_EQ(load.share(Time{} + hours(8), 8), (0.5 + 1 + 1) / 3);
}

TEST(RecentLoad, GoesBackToTheBeginningOfTheLastWeek) {
  RecentLoad load;
  load.observe(Time{} + days(3), 8);
  load.observe(Time{} + days(7), 2);
  EXPECT_EQ(load.share(Time{} + days(9), 8), (4 * 1 + 2 * 0.25) / 6);
  EXPECT_EQ(load.share(Time{} + days(15), 8), 0.25) << "the first week is forgotten";
  EXPECT_EQ(load.share(Time{} + days(700), 8), 0.25);
}

TEST(RecentLoad, DoesNotDependOnHowOftenItIsObserved) {
  RecentLoad once, often;
  once.observe(Time{}, 3);
  for (int minute = 0; minute <= 20 * 24 * 60; minute += 7)
    often.observe(Time{} + minutes(minute), 3);
  EXPECT_EQ(once.share(Time{} + days(20), 7), often.share(Time{} + days(20), 7));
}

TEST(RecentLoad, IsKeptAsNumbers) {
  RecentLoad load, next;
  load.observe(Time{}, 10);
  load.observe(Time{} + days(3), 30);
  load.observe(Time{} + days(9), 0);
  next.take(load.numbers(Time{} + days(9)));
  const Time later = Time{} + days(20);
  next.observe(later, 0);
  EXPECT_DOUBLE_EQ(next.share(later, 100), load.share(Time{} + days(9), 100))
      << "not the days between";
}

TEST(RecentLoad, WhatIsObservedOfTheTimeBeforeItBeginsDoesNotCount) {
  RecentLoad load;
  load.take(std::vector<double>{0, 0, 100, 5'000});
  load.begin(Time{} + days(20));
  load.observe(Time{} + days(3), 10);
  load.observe(Time{} + days(19), 30);
  EXPECT_EQ(load.share(Time{} + days(20), 100), 0.5);
  EXPECT_NEAR(load.share(Time{} + days(21), 100), 0.3, 1e-6);
}

}  // namespace
}  // namespace trainyard
