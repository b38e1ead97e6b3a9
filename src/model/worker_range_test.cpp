#include "model/worker_range.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(WorkerRange, IsANumberOrTwo) {
  for (const char* text : {"4", "2..8", "1..4096"}) {
    const auto range = parse_worker_range(text, 4096);
    ASSERT_TRUE(range) << text;
    EXPECT_EQ(format(*range), text);
  }
  EXPECT_EQ(*parse_worker_range("2..8", 8), (WorkerRange{2, 8}));
  EXPECT_EQ(format(*parse_worker_range("3..3", 8)), "3");
}

TEST(WorkerRange, AnErrorSaysWhatWouldBeRight) {
  for (const char* text : {"", "0", "x", "..", "2..", "..8", "2...8", "2..8..9", "-1..2", "2..4097",
                           "2-8", "2 ..8", "99999999999..2"})
    EXPECT_EQ(parse_worker_range(text, 4096).error().message,
              fmt::format("'{}' is neither a whole number from 1 to 4096 nor a range of them, as "
                          "2..8",
                          text));
  EXPECT_EQ(parse_worker_range("8..2", 4096).error().message,
            "'8..2' ends before it begins; write 2..8");
}

}  // namespace
}  // namespace trainyard
