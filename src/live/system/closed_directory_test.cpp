#include "live/system/closed_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <fstream>

#include "live/system/testing.h"

namespace trainyard {
namespace {

constexpr uid_t kAda = 65534, kBob = 65533;
constexpr gid_t kShared = 65532;

/// True if this user, of group kShared, can ask for a file's owner and times.
bool can_ask(uid_t user, const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct stat about {};
    const bool is_other = ::setgid(kShared) == 0 && ::setuid(user) == 0;
    ::_exit(is_other && ::stat(path.c_str(), &about) == 0 ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

class ClosedDirectory : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
    ::chmod(root_.path().c_str(), 0711);
  }

  TemporaryDirectory root_;
  std::string path_ = root_.path() + "/closed", file_ = path_ + "/file";
};

TEST_F(ClosedDirectory, OneUserPassesAndNoOther) {
  ASSERT_TRUE(make_closed_directory(path_, kAda, kShared));
  std::ofstream(file_) << "x";
  EXPECT_TRUE(can_ask(kAda, file_));
  if (!has_access_lists(path_)) GTEST_SKIP() << "this file system has no access lists";
  EXPECT_FALSE(can_ask(kBob, file_)) << "though their groups are the same";
}

TEST_F(ClosedDirectory, RightsThatACopyHasLostComeBack) {
  ASSERT_TRUE(make_closed_directory(path_, kAda, kShared));
  std::ofstream(file_) << "x";
  ::removexattr(path_.c_str(), "system.posix_acl_access");
  ::chmod(path_.c_str(), 0755);
  ASSERT_TRUE(can_ask(kBob, file_));
  ASSERT_TRUE(make_closed_directory(path_, kAda, kAda));
  EXPECT_FALSE(can_ask(kBob, file_));
  EXPECT_EQ(can_ask(kAda, file_), has_access_lists(path_));
}

TEST_F(ClosedDirectory, OneThatIsRightIsNotTouched) {
  ASSERT_TRUE(make_closed_directory(path_, kAda, kShared));
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(path_.c_str(), &before), 0);
  ASSERT_TRUE(eventually([&] {  // a later time is told apart
    std::ofstream(root_.path() + "/clock") << "x";
    return ::stat((root_.path() + "/clock").c_str(), &after) == 0 &&
           after.st_ctim.tv_nsec != before.st_ctim.tv_nsec;
  }));
  ASSERT_TRUE(make_closed_directory(path_, kAda, kShared));
  ASSERT_EQ(::stat(path_.c_str(), &after), 0);
  EXPECT_EQ(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
  EXPECT_EQ(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
}

TEST(OwnClosedDirectory, IsOursAlone) {
  const TemporaryDirectory root;
  const std::string path = root.path() + "/closed";
  ASSERT_TRUE(make_closed_directory(path, ::geteuid(), ::getegid()));
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777U, 0700U);
}

}  // namespace
}  // namespace trainyard
