#include "base/progress.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace trainyard {
namespace {

TEST(ProgressText, ShortWorkShowsNothing) {
  ProgressText terminal("sim", 10, true), file("sim", 10, false);
  EXPECT_EQ(terminal.next(5, 0.9), "");
  EXPECT_EQ(terminal.finish(10, 0.99), "");
  EXPECT_EQ(file.next(5, 0.9), "");
  EXPECT_EQ(file.finish(10, 0.99), "");
}

TEST(ProgressText, ABarHasShareCountRateAndRemainingTime) {
  ProgressText text("compare", 40, true);
  EXPECT_EQ(text.next(10, 5),
            "\r\033[Kcompare [=======.......................]  25%  10/40  2.0/s  15s left");
  EXPECT_EQ(text.next(11, 5.05), "") << "drawn again only after a tenth of a second";
  EXPECT_EQ(text.next(40, 20),
            "\r\033[Kcompare [==============================] 100%  40/40  2.0/s  0s left");
  EXPECT_EQ(text.finish(40, 20), "\r\033[K") << "the bar is taken away at the end";
}

TEST(ProgressText, ABarWithNothingDoneHasNoRate) {
  ProgressText text("sim", 4, true);
  EXPECT_EQ(text.next(0, 2), "\r\033[Ksim [..............................]   0%  0/4");
}

TEST(ProgressText, AFileGetsALineAtEachQuarter) {
  ProgressText text("sim", 8, false);
  EXPECT_EQ(text.next(1, 2), "");
  EXPECT_EQ(text.next(2, 3), "sim: 25% (2/8) after 3 s\n");
  EXPECT_EQ(text.next(3, 4), "");
  EXPECT_EQ(text.next(7, 5), "sim: 75% (7/8) after 5 s\n") << "a quarter passed over is not told";
  EXPECT_EQ(text.finish(8, 6), "sim: 100% (8/8) after 6 s\n");
}

TEST(ProgressText, WorkThatStoppedEarlyIsNotCalledComplete) {
  ProgressText text("sim", 8, false);
  EXPECT_EQ(text.finish(3, 6), "sim: 25% (3/8) after 6 s\n");
}

TEST(ProgressText, CountsNearTheLimitOfTheirTypeDoNotOverflow) {
  ProgressText text("sim", ~0ULL, false);
  EXPECT_TRUE(text.next(~0ULL / 2 + 1, 2).starts_with("sim: 50%"));
}

TEST(Progress, CountsFromManyThreads) {
  std::FILE* out = std::tmpfile();
  ASSERT_NE(out, nullptr);
  {
    Progress progress("sim", 40'000, out);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) progress.add();
      });
  }
  std::rewind(out);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  const bool quick = text.empty();  // nothing is shown for work below a second
  EXPECT_TRUE(quick || text.find("100% (40000/40000)") != std::string::npos) << text;
}

}  // namespace
}  // namespace trainyard
