#include "live/system/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class LogTest : public testing::Test {
 protected:
  std::unique_ptr<Log> open(LogLevel least) {
    auto log = open_log({path_, least});
    EXPECT_TRUE(log);
    return std::move(*log);
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_.path() + "/trainyard.log";
};

TEST_F(LogTest, KeepsLinesOfItsLevelAndAbove) {
  const auto log = open(LogLevel::warning);
  EXPECT_FALSE(log->takes(LogLevel::info));
  EXPECT_TRUE(log->takes(LogLevel::warning));
  log->write(LogLevel::debug, "one");
  log->write(LogLevel::info, "two");
  log->write(LogLevel::warning, "three");
  log->write(LogLevel::error, "four");
  EXPECT_THAT(content(path_),
              testing::MatchesRegex("[-0-9T:.+]+ warning three\n[-0-9T:.+]+ error   four\n"));
}

TEST_F(LogTest, WhatAUserWroteIsOneLine) {
  open(LogLevel::info)->write(LogLevel::info, "named 'a\n2026 error the disk\x1b[2J\r'");
  EXPECT_THAT(content(path_), HasSubstr("named 'a\\x0a2026 error the disk\\x1b[2J\\x0d'\n"));
}

TEST_F(LogTest, GoesOnWhereItWasAndIsNotForEverybody) {
  open(LogLevel::info)->write(LogLevel::info, "before");
  open(LogLevel::info)->write(LogLevel::info, "after");
  EXPECT_THAT(content(path_), testing::AllOf(HasSubstr("before"), HasSubstr("after")));
  struct stat about {};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640U);
}

TEST_F(LogTest, AFileThatCannotBeOpenedIsAnError) {
  const auto log = open_log({folder_.path(), LogLevel::info});
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr(folder_.path() + ": the log cannot be opened"));
}

TEST_F(LogTest, BeginsAnewBeforeItIsTooLarge) {
  const auto log = open(LogLevel::info);
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 17; ++i) log->write(LogLevel::info, line);
  EXPECT_FALSE(content(folder_.path() + "/trainyard.1.log").empty());
  EXPECT_LT(content(path_).size(), std::size_t{3} << 20);
}

TEST_F(LogTest, WhatOthersCauseIsToldOnceASecond) {
  const auto log = open(LogLevel::info);
  SeldomLog seldom(*log);
  for (int i = 0; i < 100'000; ++i) seldom.write(LogLevel::warning, "refused");
  const std::string text = content(path_);
  EXPECT_THAT(text, HasSubstr("warning refused\n"));
  EXPECT_LT(std::ranges::count(text, '\n'), 100);
}

TEST(LogLevels, AreNamed) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("error"), LogLevel::error);
  ASSERT_FALSE(parse_log_level("loud"));
  EXPECT_THAT(parse_log_level("loud").error().message, HasSubstr("'loud'"));
}

}  // namespace
}  // namespace trainyard
