#include "live/loop/event_feed.h"

#include <gtest/gtest.h>

#include <future>

#include "live/system/testing.h"

namespace trainyard {
namespace {

class EventFeedTest : public testing::Test {
 protected:
  static LiveEvent event(std::int64_t sequence, const std::string& user = "ada") {
    return {sequence, Time{sequence}, "queued", sequence, user, R"({"secret":1})"};
  }
  static std::vector<std::int64_t> numbers(const Service::EventPage& page) {
    std::vector<std::int64_t> found;
    for (const LiveEvent& each : page.events) found.push_back(each.sequence);
    return found;
  }

  TemporaryDirectory directory;
  HandSystem system;
  std::unique_ptr<Journal> journal = *Journal::open(system, directory.path() + "/journal.db");
  Identity ada{"ada", 1001, 1001, Role::user}, bob{"bob", 1002, 1002, Role::user};
};

TEST_F(EventFeedTest, TellsWhatCameAfter) {
  EventFeed feed(*journal, system.log(), false);
  feed.publish({event(1), event(2), event(3)});
  EXPECT_EQ(feed.last(), 3);
  EXPECT_EQ(numbers(feed.page(ada, 1, {})), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(feed.page(ada, 1, {}).reached, 3);
  EXPECT_TRUE(feed.page(ada, 3, {}).events.empty());
  EXPECT_EQ(feed.page(bob, 2, {}).events.front().details, "{}") << "it is not Bob's";
  EXPECT_EQ(feed.page(ada, 2, {}).events.front().details, R"({"secret":1})");
}

TEST_F(EventFeedTest, WherePrivateTellsNothingOfOthers) {
  EventFeed feed(*journal, system.log(), true);
  feed.publish({event(1), event(2, "bob")});
  const auto page = feed.page(bob, 0, {});
  EXPECT_EQ(numbers(page), std::vector<std::int64_t>{2});
  EXPECT_EQ(page.reached, 2);
}

TEST_F(EventFeedTest, WhatIsNoLongerInMemoryComesFromTheJournal) {
  JournalChange change;
  change.events = {event(1), event(2)};
  ASSERT_TRUE(journal->commit(change));
  EventFeed feed(*journal, system.log(), false);
  feed.begin_after(2);
  feed.publish({event(3)});
  EXPECT_EQ(numbers(feed.page(ada, 0, {})), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(numbers(feed.page(ada, 2, {})), std::vector<std::int64_t>{3});
}

TEST_F(EventFeedTest, WakesThoseWhoWaitAndAllOfThemAtItsEnd) {
  EventFeed feed(*journal, system.log(), false);
  auto waits = std::async(std::launch::async, [&] { return feed.page(ada, 0, seconds(60)); });
  feed.publish({event(1)});
  (void)feed.wake(Time{} + seconds(1));
  EXPECT_EQ(numbers(waits.get()), std::vector<std::int64_t>{1});
  feed.publish({event(2)});
  EXPECT_LT(feed.wake(Time{} + seconds(1)), seconds(1)) << "not again at once";
  auto last = std::async(std::launch::async, [&] { return feed.page(ada, 2, seconds(60)); });
  feed.end();
  EXPECT_TRUE(last.get().events.empty());
}

}  // namespace
}  // namespace trainyard
