#include "live/service/event_log.h"

#include <gmock/gmock.h>

#include "live/system/kept_log.h"

namespace trainyard {
namespace {

TEST(EventLog, TellsWhatHappenedInASentence) {
  KeptLog log;
  log_event(log, {1, {}, "starting", 3, "ada", R"({"run":1,"gpus":[0,1]})"});
  log_event(log, {2, {}, "failed", 3, "ada", R"({"reason":"exit status 3","exit_status":3})"});
  log_event(log, {3, {}, "lost", 4, "bob", R"({"run":2,"why":"could not be started: no room"})"});
  log_event(log, {4, {}, "done", 4, "bob", R"({"reason":"","exit_status":0})"});
  log_event(log, {5, {}, "policy changed", 0, "", R"({"policy":"srtf","settings":[]})"});
  log_event(log, {6, {}, "machine closed", 0, "", R"({"machine":"node1"})"});
  log_event(log, {7, {}, "machine down", 0, "", R"({"machine":"node1","why":"no answer"})"});
  log_event(log, {8, {}, "broken", 4, "bob", R"({"run":2,"why":"machine node1 is down"})"});
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

}  // namespace
}  // namespace trainyard
