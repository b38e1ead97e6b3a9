#include "live/job/progress.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(JobProgress, ReadsWhatIsThere) {
  const auto all = parse_progress(
      R"({"step": 120, "total": 1000, "loss": 0.5, "accuracy": 0.75, "save_s": 2, "load_s": 4.5})");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(*all, (JobProgress{120, 1000, 0.5, 0.75, 2.0, 4.5}));
  const auto few = parse_progress(R"({"step": 3.0, "loss": null, "comment": [1, {}]})");
  ASSERT_TRUE(few) << few.error().message;
  JobProgress third;
  third.step = 3;
  EXPECT_EQ(*few, third);
  EXPECT_EQ(parse_progress("{}"), JobProgress{});
}

TEST(JobProgress, RefusesWhatIsNotASensibleNumber) {
  for (const char* text :
       {"", "7", "[]", "{", R"({"step": "7"})", R"({"step": -1})", R"({"step": 1.5})",
        R"({"step": 1e300})", R"({"step": 18446744073709551615})", R"({"loss": NaN})",
        R"({"loss": 1e999})", R"({"loss": [1]})", R"({"save_s": -0.1})", R"({"load_s": 1e12})",
        R"({"accuracy": true})"})
    EXPECT_FALSE(parse_progress(text)) << text;
}

TEST(JobProgress, SaysWhichFieldIsWrong) {
  EXPECT_EQ(parse_progress(R"({"step": 1.5})").error().message, "step: 1.5 is not a whole number");
  EXPECT_EQ(parse_progress(R"({"loss": "x"})").error().message,
            "loss: 'string' instead of a number");
}

TEST(JobProgress, NestingDoesNotExhaustTheStack) {
  EXPECT_FALSE(parse_progress(std::string(64 * 1024, '[')));
}

}  // namespace
}  // namespace trainyard
