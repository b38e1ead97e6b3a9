#include "live/service/event_log.h"

#include <gmock/gmock.h>

#include "live/system/kept_log.h"

namespace trainyard {
namespace {

TEST(EventLog, TellsWhatHappenedInASentence) {
  KeptLog log;
  EventLog events(log);
  const auto tell = [&](const LiveEvent& event) { events.add({&event, 1}); };
  tell({1, {}, "starting", 3, "ada", R"({"run":1,"gpus":[0,1]})"});
  tell({2, {}, "failed", 3, "ada", R"({"reason":"exit status 3","exit_status":3})"});
  tell({3, {}, "lost", 4, "bob", R"({"run":2,"why":"could not be started: no room"})"});
  tell({4, {}, "done", 4, "bob", R"({"reason":"","exit_status":0})"});
  tell({5, {}, "policy changed", 0, "", R"({"policy":"srtf","settings":[]})"});
  tell({6, {}, "machine closed", 0, "", R"({"machine":"node1"})"});
  tell({7, {}, "machine down", 0, "", R"({"machine":"node1","why":"no answer"})"});
  tell({8, {}, "broken", 4, "bob", R"({"run":2,"why":"machine node1 is down"})"});
  using Line = KeptLog::Line;
  EXPECT_THAT(log.lines(),
              testing::ElementsAre(
                  Line{LogLevel::info, "job 3 of ada is starting: gpus 0,1, run 1"},
                  Line{LogLevel::warning, "job 3 of ada has failed: exit status 3"},
                  Line{LogLevel::error,
                       "job 4 of bob has lost its run: run 2, could not be started: no room"},
                  Line{LogLevel::info, "job 4 of bob is done: exit status 0"},
                  Line{LogLevel::info, "policy changed: policy srtf"},
                  Line{LogLevel::info, "machine closed: machine node1"},
                  Line{LogLevel::error, "machine down: machine node1, no answer"},
                  Line{LogLevel::error,
                       "job 4 of bob has lost a part of its run, and is told to leave: run 2, "
                       "machine node1 is down"}));
}

TEST(EventLog, ManyOfAKindAreOneLine) {
  KeptLog log;
  EventLog events(log);
  constexpr JobNumber kTasks = 10'000, kAtOnce = 1000;
  for (JobNumber first = 1; first <= kTasks; first += kAtOnce) {
    std::vector<LiveEvent> turn;
    for (JobNumber job = first; job < first + kAtOnce; ++job) {
      turn.push_back({0, {}, "cancelling", job, "ada", R"({"by":"ada"})"});
      turn.push_back({0, {}, "cancelled", job, "ada", R"({"reason":"cancelled by ada"})"});
    }
    turn.push_back({0, {}, "done", kTasks + first, "bob", R"({"reason":"","exit_status":0})"});
    events.add(turn);
    events.settle();
  }
  EXPECT_EQ(log.lines().size(), kTasks / kAtOnce) << "bob's, at once";
  events.settle();
  EXPECT_FALSE(events.is_waiting());
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), kTasks / kAtOnce + 2);
  EXPECT_EQ(lines.back().second,
            "each of 10000 jobs of ada, 1 to 10000, is to be cancelled: by ada");
  EXPECT_EQ(lines[lines.size() - 2].second,
            "each of 10000 jobs of ada, 1 to 10000, has been cancelled: cancelled by ada");
}

}  // namespace
}  // namespace trainyard
