#include "live/system/elsewhere.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "live/system/testing.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ElsewhereTest : public testing::Test {
 protected:
  std::string refusal(const std::string& target) {
    const auto done = keep_elsewhere(place, target);
    return done ? "" : done.error().message;
  }

  TemporaryDirectory directory;
  std::string place = directory.path() + "/runs", disk = directory.path() + "/disk",
              other = directory.path() + "/other";
};

TEST_F(ElsewhereTest, LeadsThereAndStaysSo) {
  fs::create_directory(place);
  ASSERT_EQ(refusal(disk), "");
  fs::create_directory(place + "/1.1");
  EXPECT_TRUE(fs::exists(disk + "/1.1"));
  EXPECT_EQ(refusal(disk), "") << "again";
  EXPECT_EQ(refusal(""), "") << "the option was left out: it is still found";
  EXPECT_TRUE(fs::exists(place + "/1.1"));
}

TEST_F(ElsewhereTest, WhatIsKeptIsNotLeftBehind) {
  fs::create_directories(place + "/1.1");
  EXPECT_THAT(refusal(disk), HasSubstr("holds what jobs have left; move it to"));
  fs::rename(place + "/1.1", disk + "/1.1");
  EXPECT_EQ(refusal(disk), "");
  EXPECT_THAT(refusal(other), HasSubstr("holds what jobs have left (in " + disk));
  fs::rename(disk + "/1.1", other + "/1.1");
  EXPECT_EQ(refusal(other), "");
  EXPECT_TRUE(fs::exists(place + "/1.1"));
  EXPECT_FALSE(fs::exists(disk + "/belongs-to"));
}

TEST_F(ElsewhereTest, FoldersOfUsersWithoutJobsAreLeftBehind) {
  fs::create_directories(place + "/u1000/jobs/1.1");
  fs::create_directories(place + "/u0/jobs");
  EXPECT_THAT(refusal(disk), HasSubstr("holds what jobs have left"));
  fs::remove(place + "/u1000/jobs/1.1");
  EXPECT_EQ(refusal(disk), "");
  EXPECT_TRUE(fs::is_symlink(place));
}

TEST_F(ElsewhereTest, ADiskThatIsNotMountedIsNoEmptyFolder) {
  ASSERT_EQ(refusal(disk), "");
  fs::rename(disk, directory.path() + "/unmounted");
  fs::create_directory(disk);
  EXPECT_THAT(refusal(disk), HasSubstr("is its file system not mounted?"));
  EXPECT_THAT(refusal(""), HasSubstr("is its file system not mounted?"));
  EXPECT_THAT(refusal(other), HasSubstr("is its file system not mounted?"));
  fs::remove(disk);
  EXPECT_THAT(refusal(other), HasSubstr("remove the link " + place));
  fs::remove(place);
  EXPECT_EQ(refusal(other), "");
}

TEST_F(ElsewhereTest, AnotherDaemonsFolderIsRefused) {
  ASSERT_EQ(refusal(disk), "");
  place = directory.path() + "/copy";
  EXPECT_THAT(refusal(disk), HasSubstr("belongs to " + directory.path() + "/runs"));
  fs::create_symlink(disk, place);
  EXPECT_THAT(refusal(""), HasSubstr("belongs to " + directory.path() + "/runs"));
}

}  // namespace
}  // namespace trainyard
