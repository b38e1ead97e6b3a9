#include "live/engine/local/account.h"

#include <gmock/gmock.h>
#include <pwd.h>
#include <unistd.h>

namespace trainyard {
namespace {

TEST(Account, TakesAGroupOnlyOfWhoIsInIt) {
  const passwd* us = ::getpwuid(::getuid());
  if (us == nullptr) GTEST_SKIP() << "we have no account here";
  const Identity owner{.user = us->pw_name, .uid = us->pw_uid, .gid = us->pw_gid};
  const auto own = account_of(owner);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->gid, owner.gid);
  EXPECT_THAT(own->groups, testing::Contains(owner.gid));
  constexpr gid_t kNoGroup = 1'999'999'999;
  const auto strange = account_of({.user = owner.user, .uid = owner.uid, .gid = kNoGroup});
  ASSERT_TRUE(strange);
  EXPECT_EQ(strange->gid, owner.gid);
  EXPECT_THAT(strange->groups, testing::Not(testing::Contains(kNoGroup)));
}

TEST(Account, ANumberWithoutOneHasTheGroupItCameWith) {
  constexpr uid_t kNobody = 1'999'999'999;
  if (::getpwuid(kNobody) != nullptr) GTEST_SKIP() << "the number has an account here";
  const auto account = account_of({.user = "1999999999", .uid = kNobody, .gid = 77});
  ASSERT_TRUE(account);
  EXPECT_EQ(account->uid, kNobody);
  EXPECT_EQ(account->groups, std::vector<gid_t>{77});
  EXPECT_EQ(account->home, "/");
}

TEST(Account, ANumberThatIsAnothersNowIsRefused) {
  if (::getpwuid(0) == nullptr) GTEST_SKIP() << "root has no account here";
  for (const char* before : {"0", "somebody-who-left"})
    EXPECT_FALSE(account_of({.user = before, .uid = 0, .gid = 0})) << before;
}

}  // namespace
}  // namespace trainyard
