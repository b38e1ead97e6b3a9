#include "live/book/job_book.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

JobRecord owned(JobNumber number, uid_t uid = 1001) {
  JobRecord made;
  made.number = number;
  made.owner.uid = uid;
  return made;
}

JobLife life_in(Phase phase) {
  JobLife life;
  life.state.phase = phase;
  return life;
}

TEST(JobBook, OthersSeeWhatIsOnDisk) {
  JobBook book;
  book.enter(owned(1));
  EXPECT_EQ(book.on_disk().find(1), nullptr);
  book.entered();
  book.set_life(1, life_in(Phase::queued));
  EXPECT_EQ(book.at(1).phase(), Phase::queued);
  EXPECT_EQ(book.on_disk().find(1)->phase(), Phase::absent) << "not written down yet";
  EXPECT_EQ(book.changed(), std::set<JobNumber>{1});
  book.written();
  EXPECT_EQ(book.on_disk().find(1)->phase(), Phase::queued);
  EXPECT_TRUE(book.changed().empty());
}

TEST(JobBook, WhatHasEndedLeavesWhenThatIsOnDisk) {
  JobBook book;
  for (const JobNumber n : {1, 2}) book.enter(owned(n)), book.set_life(n, life_in(Phase::running));
  book.written();
  EXPECT_EQ(book.holding(), (std::set<JobNumber>{1, 2}));
  EXPECT_EQ(book.held_by(1001).jobs, 2U);
  book.set_life(1, life_in(Phase::done));
  EXPECT_NE(book.find(1), nullptr);
  book.written();
  EXPECT_EQ(book.find(1), nullptr);
  EXPECT_EQ(book.on_disk().find(1), nullptr);
  EXPECT_EQ(book.holding(), std::set<JobNumber>{2});
  EXPECT_EQ(book.held_by(1001).jobs, 1U);
  book.set_life(2, life_in(Phase::failed));
  book.written();
  EXPECT_EQ(book.held_by(1001).jobs, 0U);
  EXPECT_EQ(book.size(), 0U);
}

TEST(JobBook, AnEntryTakesThePlaceOfAnOlderOne) {
  JobBook book;
  book.enter(owned(1));
  JobRecord told = owned(1);
  told.reason = "cancelled by ada";
  book.enter(told);
  EXPECT_EQ(book.size(), 1U);
  EXPECT_EQ(book.held_by(1001).jobs, 1U);
  EXPECT_EQ(book.at(1).reason, "cancelled by ada");
  EXPECT_TRUE(book.changed().empty()) << "it is on disk as it is";
}

TEST(Dependencies, AJobWaitsForAllThatItNames) {
  Dependencies waits;
  waits.add(3, 1), waits.add(3, 2), waits.add(4, 1);
  EXPECT_EQ(waits.settle(1), (std::vector<JobNumber>{3, 4}));
  EXPECT_TRUE(waits.waits(3));
  EXPECT_FALSE(waits.waits(4));
  EXPECT_EQ(waits.settle(2), std::vector<JobNumber>{3});
  EXPECT_FALSE(waits.waits(3));
  EXPECT_TRUE(waits.settle(1).empty());
}

}  // namespace
}  // namespace trainyard
