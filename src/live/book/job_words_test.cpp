#include "live/book/job_words.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(JobWords, EveryWordIsReadBack) {
  for (const Phase state : kJobStates) EXPECT_EQ(parse_state(state_name(state)), state);
  for (std::size_t i = 0; i < kHappenings; ++i) {
    const auto happening = static_cast<Happening>(i);
    EXPECT_EQ(parse_happening(name(happening)), happening);
  }
  for (const Ending ending :
       {Ending::none, Ending::by_owner, Ending::by_operator, Ending::by_time_limit})
    EXPECT_EQ(parse_ending(name(ending)), ending);
  for (const OldRun run : {OldRun::none, OldRun::running, OldRun::leaving})
    EXPECT_EQ(parse_old_run(name(run)), run);
  EXPECT_FALSE(parse_state("absent")) << "the yard's word, not the users'";
  EXPECT_FALSE(parse_state(""));
  EXPECT_FALSE(parse_happening("running "));
}

TEST(JobWords, TheStatesAreThoseOfTheDocumentation) {
  EXPECT_EQ(state_names(", "),
            "held, queued, reserved, starting, running, draining, done, failed, cancelled");
  EXPECT_EQ(unfinished_state_names(","), "held,queued,reserved,starting,running,draining");
}

}  // namespace
}  // namespace trainyard
