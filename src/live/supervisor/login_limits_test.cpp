// With the real libpam and pam_limits, on a configuration of the test's own.
#include "live/supervisor/login_limits.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

class LoginLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root's daemon asks PAM";
    void* library = ::dlopen("libpam.so.0", RTLD_NOW);
    if (library == nullptr) GTEST_SKIP() << "there is no libpam here";
    ::dlclose(library);
    service_.folder = std::filesystem::temp_directory_path() / "trainyard-pam-XXXXXX";
    ASSERT_NE(::mkdtemp(service_.folder.data()), nullptr);
  }
  void TearDown() override {
    if (service_.name.empty() || ::geteuid() != 0) return;
    std::error_code none;
    std::filesystem::remove_all(service_.folder, none);
  }

  void configure(const std::string& limits, const std::string& modules = "") {
    std::ofstream(service_.folder + "/limits") << limits;
    std::ofstream(service_.folder + "/trainyard")
        << modules << "session required pam_limits.so conf=" << service_.folder << "/limits\n";
  }
  [[nodiscard]] Expected<LoginLimits> of(const std::string& user) const {
    return login_limits(
        user, [] { return false; }, service_);
  }

  LoginService service_;
};

TEST_F(LoginLimitsTest, AreThoseThatTheLoginWouldHave) {
  configure(
      "nobody soft nofile 2000\nnobody hard nofile 3000\nnobody - nproc 77\n"
      "nobody hard core 0\nnobody - priority 5\n@root - nproc 5\n");
  const auto login = of("nobody");
  ASSERT_TRUE(login) << login.error().message;
  EXPECT_EQ(login->limits[RLIMIT_NOFILE].rlim_cur, 2000U);
  EXPECT_EQ(login->limits[RLIMIT_NOFILE].rlim_max, 3000U);
  EXPECT_EQ(login->limits[RLIMIT_NPROC].rlim_max, 77U);
  EXPECT_EQ(login->limits[RLIMIT_CORE].rlim_max, 0U);
  EXPECT_EQ(login->nice, 5);
  EXPECT_NE(own_limits().limits[RLIMIT_NPROC].rlim_max, 77U) << "this process stays as it is";
}

TEST_F(LoginLimitsTest, HaveThoseOfTheDaemonAsTheirCeiling) {
  LoginLimits high, ceiling;
  high.limits[RLIMIT_NOFILE] = {RLIM_INFINITY, RLIM_INFINITY};
  ceiling.limits[RLIMIT_NOFILE] = {1024, 4096};
  EXPECT_EQ(within(high, ceiling).limits[RLIMIT_NOFILE].rlim_max, 4096U);
  EXPECT_EQ(within(high, ceiling).limits[RLIMIT_NOFILE].rlim_cur, 4096U);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  configure(fmt::format("nobody - nofile {}\n", before.rlim_max * 2));
  const auto login = of("nobody");
  ASSERT_TRUE(login) << login.error().message;
  EXPECT_EQ(login->limits[RLIMIT_NOFILE].rlim_max, before.rlim_max);
}

TEST_F(LoginLimitsTest, AreTheDaemonsOwnWherePamSaysNothing) {
  configure("");
  for (const auto& login : {of("nobody"), login_limits("nobody", [] { return false; },
                                                       {.folder = "/no/such", .name = "x"})}) {
    ASSERT_TRUE(login) << login.error().message;
    rlimit memory{};
    ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &memory), 0);
    EXPECT_EQ(login->limits[RLIMIT_MEMLOCK].rlim_max, memory.rlim_max);
    EXPECT_LE(login->limits[RLIMIT_NOFILE].rlim_cur, 1024U);
  }
  EXPECT_TRUE(asks_pam(service_));
  EXPECT_FALSE(asks_pam({.folder = "/no/such", .name = "x"}));
}

TEST_F(LoginLimitsTest, ASessionThatIsRefusedOrHangsIsAnError) {
  configure("", "session required pam_deny.so\n");
  EXPECT_THAT(of("nobody").error().message,
              testing::HasSubstr("PAM refuses a session of service trainyard"));
  configure("", "session required pam_exec.so /bin/sleep 5\n");
  int asked = 0;
  const auto hangs = login_limits(
      "nobody", [&] { return ++asked > 3; }, service_);
  EXPECT_THAT(hangs.error().message, testing::HasSubstr("PAM did not answer"));
}

}  // namespace
}  // namespace trainyard
