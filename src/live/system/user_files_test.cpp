#include "live/system/user_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "live/system/silent_mount.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

constexpr off_t kLimit = 100;

class UserFilesTest : public testing::Test {
 protected:
  /// What hangs ends the test instead of waiting for it.
  void SetUp() override {
    ::chmod(root_.path().c_str(), 0711);
    ASSERT_TRUE(own_.make(::geteuid(), ::getegid()));
    ::alarm(60);
  }
  void TearDown() override { ::alarm(0); }

  void write(const std::string& text) { std::ofstream(path()) << text; }
  [[nodiscard]] std::string path(const char* name = "saved") const {
    return own_.told_to_user(name);
  }
  [[nodiscard]] std::optional<std::string> read() const {
    const auto file = own_.open("saved", ::geteuid(), kLimit);
    return file ? file->read() : std::nullopt;
  }

  TemporaryDirectory root_;
  UserDirectory own_{root_.path(), "job"};
};

TEST_F(UserFilesTest, APlainFileIsRead) {
  EXPECT_FALSE(own_.open("saved", ::geteuid(), kLimit));
  write("");
  EXPECT_TRUE(own_.open("saved", ::geteuid(), kLimit)->is_empty());
  write("done");
  const auto file = own_.open("saved", ::geteuid(), kLimit);
  EXPECT_FALSE(file->is_empty());
  EXPECT_EQ(file->read(), "done");
  write("more than before");
  EXPECT_EQ(file->read(), "more") << "as many bytes as it had";
  EXPECT_NE(own_.open("saved", ::geteuid(), kLimit)->version(), file->version());
  EXPECT_FALSE(own_.open("saved", ::geteuid() + 1, kLimit)) << "another user's";
  EXPECT_FALSE(own_.open("../saved", ::geteuid(), kLimit));
}

TEST_F(UserFilesTest, NoTrickIsFollowed) {
  const std::string other = path("other");
  std::ofstream(other) << "1";
  const auto refused = [&](const char* trick) {
    EXPECT_FALSE(read()) << trick;
    fs::remove_all(path());
  };
  fs::create_symlink(other, path());
  refused("a symbolic link");
  fs::create_hard_link(other, path());
  refused("a second name of some file");
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  refused("a FIFO that nobody writes to");
  fs::create_directory(path());
  refused("a directory");
  write(std::string(kLimit + 1, ' '));
  refused("a large file");
  write("");
  ASSERT_EQ(::truncate(path().c_str(), off_t{1} << 40), 0);
  refused("a terabyte of nothing");
  write("1");
  EXPECT_TRUE(read()) << "or the tricks were not what was refused";
}

/// Opening the file would take 45 s, in which the kernel waits for the lease.
TEST_F(UserFilesTest, ALeaseIsNotWaitedFor) {
  write("1");
  const Descriptor held(::open(path().c_str(), O_RDWR | O_CLOEXEC));
  ::signal(SIGIO, SIG_IGN);
  if (::fcntl(held.get(), F_SETLEASE, F_WRLCK) != 0)
    GTEST_SKIP() << "there are no leases here: " << std::strerror(errno);
  EXPECT_FALSE(read());
  ::fcntl(held.get(), F_SETLEASE, F_UNLCK);
  EXPECT_TRUE(read());
}

TEST_F(UserFilesTest, AMountThatNeverAnswersIsNotEntered) {
  write("1");
  SilentMount mount(own_.told_to_user());
  if (!mount.is_there()) GTEST_SKIP() << "nothing can be mounted here: " << mount.why_not();
  EXPECT_FALSE(read());
  EXPECT_TRUE(own_.make(::geteuid() + 1, ::getegid())) << "it exists, and is left as it is";
  EXPECT_FALSE(own_.move_to(root_.path() + "/gone"));
  mount.end();
  EXPECT_EQ(read(), "1");
}

TEST_F(UserFilesTest, AHalfMadeDirectoryIsGivenToItsUser) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  ASSERT_TRUE(own_.make(65534, 65534));
  struct stat about {};
  ASSERT_EQ(::lstat(own_.told_to_user().c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, 65534U);
}

/// Swaps the file for a FIFO, a link, a large file and back, as fast as it can.
[[noreturn]] void swap_for_ever(const std::string& path, uid_t user) {
  if (user != 0 && (::setgid(user) != 0 || ::setuid(user) != 0)) ::_exit(1);
  const std::string next = path + ".next";
  for (int turn = 0;; ++turn) {
    ::unlink(next.c_str());
    if (turn % 4 == 0) ::mkfifo(next.c_str(), 0600);
    if (turn % 4 == 1) std::ignore = ::symlink("/proc/self/status", next.c_str());
    if (turn % 4 == 2) std::ofstream(next) << std::string(2 * kLimit, 'x');
    if (turn % 4 == 3) std::ofstream(next) << "1";
    ::rename(next.c_str(), path.c_str());
  }
}

TEST_F(UserFilesTest, AFileThatIsSwappedAllTheTimeIsNeverWaitedFor) {
  const uid_t user = can_be_others() ? 65534 : ::geteuid();
  ASSERT_TRUE(own_.make(user, user));
  const pid_t attacker = ::fork();
  if (attacker == 0) swap_for_ever(path(), user);
  int seen = 0;
  for (int look = 0; look < 20'000 || seen == 0; ++look) {
    const auto file = own_.open("saved", user, kLimit);
    if (!file) continue;
    const auto text = file->read();
    ASSERT_TRUE(text && (text->empty() || *text == "1" || *text == std::string(text->size(), 'x')));
    ++seen;
  }
  ::kill(attacker, SIGKILL);
  ::waitpid(attacker, nullptr, 0);
}

}  // namespace
}  // namespace trainyard
