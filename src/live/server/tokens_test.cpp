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
  const auto bearer = check.find(*token, Time{});
  ASSERT_TRUE(bearer);
  EXPECT_EQ(bearer->token_name, "ci");
  EXPECT_EQ(bearer->identity.user, "root");
  EXPECT_EQ(bearer->identity.role, Role::operator_);
  ASSERT_TRUE(file.remove("ci"));
  EXPECT_FALSE(check.find(*token, Time{}));
  EXPECT_FALSE(file.remove("ci"));
}

TEST(Tokens, WhatIsWrongIsSaid) {
  const TemporaryFolder folder;
  TokenFile file(folder.path);
  ASSERT_TRUE(file.add("ci", Role::user, "root"));
  EXPECT_THAT(file.add("ci", Role::user, "root").error().message, HasSubstr("already"));
  EXPECT_THAT(file.add("a b", Role::user, "root").error().message, HasSubstr("is not a name"));
  EXPECT_THAT(file.add("x", Role::user, "no-such-user").error().message, HasSubstr("no user"));
  EXPECT_THAT(parse_role("admin").error().message, HasSubstr("agent, viewer, user and operator"));
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
  ASSERT_TRUE(check.find(*token, Time{}));
  for (const char* text : {"", "{}", "[1]", "[{}]", R"([{"name":"ci","role":"god","user":"root"}])",
                           R"([{"name":"ci","role":"user","user":"root","sha256":""}])"}) {
    std::ofstream(file.path()) << text;
    EXPECT_FALSE(check.find(*token, Time{})) << text;
    EXPECT_FALSE(check.find("", Time{})) << text;
    EXPECT_FALSE(check.count()) << text;
  }
}

TEST(Tokens, ExpireAndSayWhenTheyWereUsed) {
  const TemporaryFolder folder;
  TokenFile file(folder.path);
  const Time made = Time{} + days(20'000), end = made + days(90);
  const auto token = file.add("ci", Role::user, "root", end),
             lasting = file.add("x", Role::user, "root");
  ASSERT_TRUE(token);
  EXPECT_EQ(file.list()->at(0).expires, end);
  EXPECT_EQ(file.list()->at(1).expires, std::nullopt);
  EXPECT_EQ(file.list()->at(0).last_used, std::nullopt);
  TokenCheck check(file);
  EXPECT_TRUE(check.find(*token, made + minutes(5)));
  EXPECT_EQ(file.list()->at(0).last_used, made + minutes(5));
  EXPECT_TRUE(check.find(*token, end - seconds(1)));
  const auto late = check.find(*token, end);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("the token ci expired at 2025-01-02T00:00:00Z"));
  EXPECT_EQ(file.list()->at(0).last_used, end - seconds(1)) << "a refusal is no use";
  EXPECT_TRUE(check.find(*lasting, end + days(10'000)));
  ASSERT_TRUE(file.remove("x"));
  EXPECT_EQ(file.list()->at(0).expires, end) << "kept when the file is written again";
}

}  // namespace
}  // namespace trainyard
