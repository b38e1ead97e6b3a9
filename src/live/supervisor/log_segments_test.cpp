#include "live/supervisor/log_segments.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

class LogSegmentsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "trainyard-log-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  LogText read(std::uint64_t offset, std::size_t limit, std::int32_t worker = 0) {
    return read_log(folder_, worker, offset, limit).value();
  }

  std::string folder_;
};

/// The byte that stands at an offset in all that the test writes.
char byte_at(std::uint64_t offset) {
  return static_cast<char>('a' + (offset * 31 + offset / 4096) % 26);
}

std::string bytes(std::uint64_t from, std::size_t count) {
  std::string text(count, ' ');
  for (std::size_t i = 0; i < count; ++i) text[i] = byte_at(from + i);
  return text;
}

TEST_F(LogSegmentsTest, IsReadAsItWasWritten) {
  LogWriter zero(folder_, 0), ten(folder_, 10);
  zero.write("of zero ", {});
  ten.write("of ten", {});
  zero.write("and more", {});
  EXPECT_EQ(read(0, 100).text, "of zero and more");
  EXPECT_EQ(read(8, 3).text, "and");
  EXPECT_EQ(read(0, 100, 10).text, "of ten");
  EXPECT_EQ(read(0, 100, 1).text, "") << "a worker that wrote nothing";
  EXPECT_EQ(read(500, 100).text, "");
  EXPECT_FALSE(read_log(folder_ + "/none", 0, 0, 100));
}

TEST_F(LogSegmentsTest, AnyPartOfWhatIsKeptIsReadRight) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  LogWriter log(folder_, 0);
  constexpr std::uint64_t kAll = kSegmentBytes * 6 + 1234;
  while (log.written() < kAll) {
    const std::size_t part =
        std::min<std::uint64_t>(kAll - log.written(), 1 + random() % (kSegmentBytes / 3));
    log.write(bytes(log.written(), part), {});
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 4);
  const std::uint64_t kept_again = kSegmentBytes * 4;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t offset = random() % kAll;
    const LogText found = read(offset, 1 + random() % 100'000);
    const bool kept = offset < kSegmentBytes || offset >= kept_again;
    ASSERT_EQ(found.offset, kept ? offset : kept_again);
    ASSERT_FALSE(found.text.empty());
    ASSERT_EQ(found.text, bytes(found.offset, found.text.size()));
  }
  EXPECT_EQ(read(kSegmentBytes - 5, 100).text.size(), 5U) << "it ends where something is missing";
  EXPECT_EQ(read(kept_again + kSegmentBytes - 5, 100).text.size(), 100U)
      << "but goes on into the next segment";
}

TEST_F(LogSegmentsTest, NoMoreOfTheDiskIsTakenThanTheLimit) {
  constexpr std::int64_t kLimit = 300'000, kSegment = 300'000 / 4 / 4096 * 4096;
  LogWriter log(folder_, 0, kLimit);
  constexpr std::uint64_t kAll = 2'000'000;
  while (log.written() < kAll) log.write(bytes(log.written(), 1000), {});
  EXPECT_LE(kept_output(folder_), kLimit + 4096) << "with the directory itself";
  EXPECT_EQ(read(0, kAll).text, bytes(0, kSegment)) << "how it began";
  const LogText end = read(kAll - 1000, kAll);
  EXPECT_EQ(end.text, bytes(kAll - 1000, 1000)) << "how it ended";
}

TEST_F(LogSegmentsTest, NothingIsKeptWhereThereIsNoRoom) {
  LogWriter log(folder_, 0, kLeastOutput - 1);
  log.write(bytes(0, 1000), {});
  EXPECT_EQ(log.written(), 1000U);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(read(0, 100).text, "");
}

TEST_F(LogSegmentsTest, WhatCannotBeWrittenIsAGap) {
  // A limit of the process stands in for the end of a disk.
  LogWriter log(folder_, 0);
  log.write(bytes(0, 1000), Time{0});
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1500, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  log.write(bytes(1000, 2000), Time{0});
  log.write(bytes(3000, 500), Time{0} + microseconds(10));  // too soon to try again
  ::setrlimit(RLIMIT_FSIZE, &old);
  log.write(bytes(3500, 500), Time{0} + microseconds(20));
  log.write(bytes(4000, 500), Time{0} + seconds(2));
  EXPECT_EQ(log.written(), 4500U);
  EXPECT_EQ(read(0, 10'000).text, bytes(0, 1500));
  const LogText after = read(1500, 10'000);
  EXPECT_EQ(after.offset, 4000U);
  EXPECT_EQ(after.text, bytes(4000, 500));
}

}  // namespace
}  // namespace trainyard
