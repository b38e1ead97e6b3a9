#include "live/server/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "live/server/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

TEST(Tokens, AreMadeFoundListedAndRemoved) {
  const TemporaryFolder folder;
  TokenFile file(folder.path);
  EXPECT_TRUE(file.list()->empty());
  const auto token = file.add("ci", Role::operator_, "root");
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->size(), 3U + 64);
  EXPECT_NE(*token, *file.add("other", Role::user, "root"));
  TokenCheck check(file);
  EXPECT_EQ(*check.count(), 2U);
  const auto bearer = check.find(*token);
  ASSERT_TRUE(bearer);
  EXPECT_EQ(bearer->token_name, "ci");
  EXPECT_EQ(bearer->identity.user, "root");
  EXPECT_EQ(bearer->identity.role, Role::operator_);
  ASSERT_TRUE(file.remove("ci"));
  EXPECT_FALSE(check.find(*token));
  EXPECT_FALSE(file.remove("ci"));
}

TEST(Tokens, WhatIsWrongIsSaid) {
  const TemporaryFolder folder;
  TokenFile file(folder.path);
  ASSERT_TRUE(file.add("ci", Role::user, "root"));
  EXPECT_THAT(file.add("ci", Role::user, "root").error().message, HasSubstr("already"));
  EXPECT_THAT(file.add("a b", Role::user, "root").error().message, HasSubstr("is not a name"));
  EXPECT_THAT(file.add("x", Role::user, "no-such-user").error().message, HasSubstr("no user"));
  EXPECT_THAT(parse_role("admin").error().message, HasSubstr("viewer, user and operator"));
}

/// The races of a state folder that somebody else could write to.
TEST(Tokens, LinksAndFilesOfOthersAreNotFollowed) {
  const TemporaryFolder folder, elsewhere;
  TokenFile file(folder.path), other(elsewhere.path);
  ASSERT_TRUE(other.add("ci", Role::operator_, "root"));
  std::filesystem::create_symlink(other.path(), file.path());
  EXPECT_FALSE(file.list());
  EXPECT_FALSE(file.add("x", Role::user, "root"));
  std::filesystem::remove(file.path());
  // A link where the new text would be written first must not be written through.
  std::ofstream(elsewhere.path + "/victim") << "precious";
  std::filesystem::create_symlink(elsewhere.path + "/victim", file.path() + ".new");
  ASSERT_TRUE(file.add("x", Role::user, "root"));
  std::string text;
  std::ifstream(elsewhere.path + "/victim") >> text;
  EXPECT_EQ(text, "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(file.path()));
}

TEST(Tokens, AFileThatIsBrokenLetsNobodyIn) {
  const TemporaryFolder folder;
  TokenFile file(folder.path);
  const auto token = file.add("ci", Role::user, "root");
  TokenCheck check(file);
  ASSERT_TRUE(check.find(*token));
  for (const char* text : {"", "{}", "[1]", "[{}]", R"([{"name":"ci","role":"god","user":"root"}])",
                           R"([{"name":"ci","role":"user","user":"root","sha256":""}])"}) {
    std::ofstream(file.path()) << text;
    EXPECT_FALSE(check.find(*token)) << text;
    EXPECT_FALSE(check.find("")) << text;
    EXPECT_FALSE(check.count()) << text;
  }
}

}  // namespace
}  // namespace trainyard
