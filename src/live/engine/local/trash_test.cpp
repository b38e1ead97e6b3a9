#include "live/engine/local/trash.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

class TrashTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "trainyard-trash-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] bool is_empty() const { return fs::is_empty(root_ + "/trash"); }

  RealSystem system_;
  std::string root_;
};

TEST_F(TrashTest, RemovesTreesAndFollowsNoLink) {
  fs::create_directories(root_ + "/kept/inner");
  std::ofstream(root_ + "/kept/inner/file") << "precious";
  const std::string tree = root_ + "/tree";
  fs::create_directories(tree + "/a/b/c");
  std::ofstream(tree + "/a/b/file") << "x";
  fs::create_directory_symlink(root_ + "/kept", tree + "/link");
  fs::create_directory_symlink(root_ + "/kept/inner", tree + "/a/b/c/link");
  fs::create_symlink("/nowhere", tree + "/a/dangling");
  ASSERT_EQ(::mkfifo((tree + "/a/fifo").c_str(), 0600), 0);
  fs::permissions(tree + "/a/b/c", fs::perms::none);
  Trash trash(system_, root_ + "/trash");
  trash.put(tree);
  EXPECT_FALSE(fs::exists(tree)) << "gone at once";
  trash.wait_until_empty();
  EXPECT_TRUE(is_empty());
  EXPECT_TRUE(fs::exists(root_ + "/kept/inner/file"));
}

TEST_F(TrashTest, WhatIsMountedWithinStays) {
  fs::create_directories(root_ + "/tree/job/inner");
  fs::create_directories(root_ + "/kept");
  std::ofstream(root_ + "/kept/file") << "precious";
  if (::mount((root_ + "/kept").c_str(), (root_ + "/tree/job/inner").c_str(), nullptr, MS_BIND,
              nullptr) != 0)
    GTEST_SKIP() << "nothing can be mounted here: " << std::strerror(errno);
  std::ofstream(root_ + "/tree/job/file") << "x";
  Trash trash(system_, root_ + "/trash");
  trash.put(root_ + "/tree");
  trash.wait_until_empty();
  EXPECT_TRUE(fs::exists(root_ + "/kept/file"));
  for (const auto& entry : fs::recursive_directory_iterator(root_ + "/trash"))
    if (entry.path().filename() == "inner") ::umount2(entry.path().c_str(), MNT_DETACH);
}

TEST_F(TrashTest, DepthDoesNotMatter) {
  // Deeper than a path can be long, or descriptors be open.
  const std::string tree = root_ + "/tree";
  fs::create_directory(tree);
  int folder = ::open(tree.c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < 5000; ++depth) {
    ASSERT_EQ(::mkdirat(folder, "deeper", 0700), 0);
    const int next = ::openat(folder, "deeper", O_RDONLY | O_DIRECTORY);
    ::close(folder);
    folder = next;
  }
  ::close(folder);
  Trash trash(system_, root_ + "/trash");
  trash.put(tree);
  trash.wait_until_empty();
  EXPECT_TRUE(is_empty());
}

TEST_F(TrashTest, ALinkIsThrownAwayAsALink) {
  fs::create_directory(root_ + "/kept");
  fs::create_directory_symlink(root_ + "/kept", root_ + "/link");
  Trash trash(system_, root_ + "/trash");
  trash.put(root_ + "/link");
  trash.put(root_ + "/never-existed");
  trash.wait_until_empty();
  EXPECT_TRUE(is_empty());
  EXPECT_TRUE(fs::exists(root_ + "/kept"));
  EXPECT_FALSE(fs::is_symlink(root_ + "/link"));
}

TEST_F(TrashTest, GoesOnWithWhatAnEarlierProcessLeft) {
  fs::create_directories(root_ + "/trash/1.1/a/b");
  std::ofstream(root_ + "/trash/1.1/a/file") << "x";
  Trash trash(system_, root_ + "/trash");
  trash.wait_until_empty();
  EXPECT_TRUE(is_empty());
}

}  // namespace
}  // namespace trainyard
