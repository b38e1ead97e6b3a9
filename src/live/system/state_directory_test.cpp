#include "live/system/state_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "live/system/testing.h"

namespace trainyard {
namespace {

TEST(StateDirectory, BelongsToOneDaemonAtATime) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a/state";
  {
    const auto first = StateDirectory::take(path);
    ASSERT_TRUE(first) << first.error().message;
    const auto second = StateDirectory::take(path + "/../state");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, testing::HasSubstr("another daemon runs on this"));
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0711U);
  }
  EXPECT_TRUE(StateDirectory::take(path)) << "it is free when the first has ended";
}

TEST(StateDirectory, RefusesWhatIsNotItsOwn) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/file") << "x";
  EXPECT_FALSE(StateDirectory::take(directory.path() + "/file"));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a directory somebody else's";
  const std::string theirs = directory.path() + "/theirs";
  std::filesystem::create_directory(theirs);
  ASSERT_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
  const auto taken = StateDirectory::take(theirs);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, testing::HasSubstr("belongs to user 65534"));
}

}  // namespace
}  // namespace trainyard
