#include "base/error.h"

#include <gtest/gtest.h>

#include <array>

namespace trainyard {
namespace {

TEST(Error, IsFormattedAndToldWhereItHappened) {
  const Expected<int> failed = fail("{} is not a number", quoted("x"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "'x' is not a number");
  const Expected<int> located = fail_at("jobs.csv:17", failed.error());
  EXPECT_EQ(located.error().message, "jobs.csv:17: 'x' is not a number");
}

TEST(Quoted, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("V100"), "'V100'");
  EXPECT_EQ(quoted("a\n\x1b[31m\x7f"), "'a\\x0a\\x1b[31m\\x7f'");
  EXPECT_EQ(quoted("\xc3\xa9"), "'\\xc3\\xa9'");
}

TEST(Quoted, ShortensLongValues) {
  EXPECT_EQ(trainyard::quoted(std::string(60, 'a')), "'" + std::string(60, 'a') + "'");
  EXPECT_EQ(trainyard::quoted(std::string(61, 'a')),
            "'" + std::string(60, 'a') + "...' (61 characters)");
}

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("fifo", "fifo"), 0U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("srtf", "srsf"), 1U);
  EXPECT_EQ(edit_distance("srft", "srtf"), 1U) << "two letters swapped";
}

TEST(DidYouMean, NamesTheClosestWordOnlyIfItIsClose) {
  constexpr std::array<std::string_view, 3> kKnown{"memory", "machine", "cpus"};
  EXPECT_EQ(did_you_mean("memroy", kKnown), ", did you mean 'memory'?");
  EXPECT_EQ(did_you_mean("machin", kKnown), ", did you mean 'machine'?");
  EXPECT_EQ(did_you_mean("cpu", kKnown), ", did you mean 'cpus'?");
  EXPECT_EQ(did_you_mean("colour", kKnown), "");
  EXPECT_EQ(did_you_mean("memory", std::array<std::string_view, 0>{}), "");
}

TEST(DidYouMean, PrefersTheFirstOfEquallyClose) {
  constexpr std::array<std::string_view, 2> kKnown{"srtf", "srsf"};
  EXPECT_EQ(did_you_mean("srf", kKnown), ", did you mean 'srtf'?");
}

}  // namespace
}  // namespace trainyard
