#include "live/system/private_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

class PrivateFile : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path) << "secret";
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }
  [[nodiscard]] std::string problem(bool follows_links = false) const {
    const auto text = read_private_file(path, 100, follows_links);
    return text ? "" : text.error().message;
  }
  TemporaryDirectory folder;
  std::string path = folder.path() + "/key";
};

TEST_F(PrivateFile, IsReadByItsOwner) {
  EXPECT_EQ(**read_private_file(path, 100, false), "secret");
  EXPECT_FALSE(read_private_file(folder.path() + "/none", 100, false)->has_value());
  EXPECT_FALSE(read_private_file(path, 5, false));
}

TEST_F(PrivateFile, IsRefusedWhereOthersCanUseIt) {
  for (const mode_t mode : {0644, 0640, 0604, 0620, 0602, 0660}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT(problem(), HasSubstr("type: chmod 600 '" + path + "'")) << mode;
  }
}

TEST_F(PrivateFile, IsRefusedWhereOthersCanReplaceIt) {
  for (const mode_t mode : {0777, 0770, 0757, 0722}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    EXPECT_THAT(problem(), HasSubstr("type: chmod go-w '" + folder.path() + "'")) << mode;
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  EXPECT_EQ(problem(), "") << "as in /tmp, where others cannot replace it";
}

TEST_F(PrivateFile, IsRefusedWhereItIsAnothers) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  EXPECT_THAT(problem(), HasSubstr("type: chown 0 "));
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder.path().c_str(), 65534, 65534), 0);
  EXPECT_THAT(problem(), HasSubstr("who could replace it"));
}

/// The folder that counts is the one where the file really is.
TEST_F(PrivateFile, LinksAreFollowedOnlyWhereThatIsAskedFor) {
  const TemporaryDirectory other;
  const std::string real = other.path() + "/real";
  std::filesystem::rename(path, real);
  std::filesystem::create_symlink(real, path);
  EXPECT_NE(problem(), "");
  EXPECT_EQ(problem(true), "");
  ASSERT_EQ(::chmod(other.path().c_str(), 0777), 0);
  EXPECT_THAT(problem(true), HasSubstr("chmod go-w '" + other.path()));
}

}  // namespace
}  // namespace trainyard
