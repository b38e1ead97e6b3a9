#include "live/engine/local/gpu_claims.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t kNobody = 65534;

/// This process is another user's for a while.
class AsNobody {
 public:
  AsNobody() { EXPECT_EQ(::seteuid(kNobody), 0); }
  ~AsNobody() { EXPECT_EQ(::seteuid(0), 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

std::vector<std::int32_t> numbers(const Expected<GpuClaims>& claims) {
  EXPECT_TRUE(claims) << claims.error().message;
  std::vector<std::int32_t> all;
  if (claims)
    for (const Gpu& gpu : claims->ours()) all.push_back(gpu.number);
  return all;
}

/// A machine with a /run of its own, and GPUs that no other test has.
class GpuClaimsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "trainyard-run-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    run_ = name;
    ASSERT_EQ(::chmod(run_.c_str(), 0755), 0);
  }
  void TearDown() override { std::filesystem::remove_all(run_); }

  static std::vector<Gpu> some_gpus(std::int32_t count) {
    std::vector<Gpu> gpus;
    for (std::int32_t i = 0; i < count; ++i)
      gpus.push_back({i, "H100", fmt::format("GPU-test-{}-{}", ::getpid(), i)});
    return gpus;
  }
  [[nodiscard]] Expected<GpuClaims> take(const std::vector<Gpu>& gpus, const char* state) const {
    return GpuClaims::take(gpus, state, run_);
  }

  std::string run_;
};

/// Only root can be other users.
class GpuClaimsOfRoot : public GpuClaimsTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be other users";
    GpuClaimsTest::SetUp();
  }
  void TearDown() override {
    if (!run_.empty()) GpuClaimsTest::TearDown();
  }
};

TEST_F(GpuClaimsTest, AGpuIsOneDaemonsAtATime) {
  const auto gpus = some_gpus(3);
  {
    const auto first = take({gpus[1]}, "/one");
    EXPECT_THAT(numbers(first), ElementsAre(1));
    const auto second = take(gpus, "/two");
    EXPECT_THAT(numbers(second), ElementsAre(0, 2)) << "the rest goes on";
    EXPECT_THAT(second->left_out(),
                ElementsAre(HasSubstr(fmt::format("GPU 1 (H100, {}) is held by process {} of user",
                                                  gpus[1].uuid, ::getpid()))));
  }
  EXPECT_THAT(numbers(take(gpus, "/two")), ElementsAre(0, 1, 2)) << "claims vanish";
}

TEST_F(GpuClaimsTest, ARunOutlivesItsDaemonAndItsClaimWithIt) {
  const auto gpus = some_gpus(2);
  std::vector<Descriptor> run;
  {
    const auto first = take(gpus, "/one");
    const std::vector<std::int32_t> used{1};
    auto claims = first->for_run(used);
    ASSERT_TRUE(claims);
    run = std::move(*claims);
    EXPECT_THAT(first->for_run(used).error().message, HasSubstr("its last run is not gone yet"));
  }
  const auto other = take(gpus, "/two");
  EXPECT_THAT(numbers(other), ElementsAre(0));
  EXPECT_THAT(other->left_out(), ElementsAre(HasSubstr("GPU 1")));
  EXPECT_THAT(numbers(take({gpus[1]}, "/one")), ElementsAre(1)) << "the same state directory";
  run.clear();
  EXPECT_THAT(numbers(take({gpus[1]}, "/three")), ElementsAre(1));
}

TEST_F(GpuClaimsTest, WithoutAUuidTheNumberDoes) {
  const std::vector<Gpu> nameless{{63, "old", ""}};
  const auto first = take(nameless, "/one");
  ASSERT_THAT(numbers(first), ElementsAre(63));
  EXPECT_THAT(numbers(take(nameless, "/two")), IsEmpty());
}

TEST_F(GpuClaimsOfRoot, NoNameOfAUserKeepsRootFromAGpu) {
  const auto gpus = some_gpus(2);
  std::vector<GpuClaims> of_nobody;
  std::vector<Descriptor> run;
  {
    const AsNobody nobody;
    of_nobody.push_back(take(gpus, "/x").value());
    const std::vector<std::int32_t> first{0};
    run = of_nobody[0].for_run(first).value();
  }
  const auto root = take(gpus, "/one");
  EXPECT_THAT(numbers(root), ElementsAre(0, 1));
  const auto named = HasSubstr(fmt::format("was claimed before by process {} of user", ::getpid()));
  EXPECT_THAT(root->shared(), ElementsAre(named, named, named)) << "the daemon twice, and a run";
  const std::vector<std::int32_t> both{0, 1};
  EXPECT_TRUE(root->for_run(both));
}

TEST_F(GpuClaimsOfRoot, AUserLeavesOutWhatRootHasAndWhatARunOfRootHas) {
  const auto gpus = some_gpus(3);
  std::optional<GpuClaims> root = take({gpus[0], gpus[1]}, "/one").value();
  const std::vector<std::int32_t> first{0};
  auto run = root->for_run(first).value();
  {
    const AsNobody nobody;
    const auto users = take(gpus, "/x");
    EXPECT_THAT(numbers(users), ElementsAre(2));
    EXPECT_THAT(users->left_out(), ElementsAre(HasSubstr("GPU 0"), HasSubstr("root's daemon")));
  }
  root.reset();
  {
    const AsNobody nobody;
    EXPECT_THAT(numbers(take(gpus, "/x")), ElementsAre(1, 2)) << "the run lives";
  }
  run.clear();
  const AsNobody nobody;
  EXPECT_THAT(numbers(take(gpus, "/x")), ElementsAre(0, 1, 2));
}

TEST_F(GpuClaimsOfRoot, AUserStartsNothingMoreOnAGpuThatRootHasClaimedSince) {
  const auto gpus = some_gpus(2);
  const AsNobody nobody;
  auto users = take(gpus, "/x").value();
  EXPECT_THAT(users.give_way_to_root(), IsEmpty());
  ASSERT_EQ(::seteuid(0), 0);
  auto root = take({gpus[0]}, "/one");
  EXPECT_THAT(root->give_way_to_root(), IsEmpty());
  ASSERT_EQ(::seteuid(kNobody), 0);
  const std::vector<std::int32_t> first{0}, second{1};
  EXPECT_THAT(users.for_run(first).error().message, HasSubstr("is root's daemon's now"));
  EXPECT_TRUE(users.for_run(second));
  EXPECT_THAT(users.give_way_to_root(), ElementsAre(HasSubstr("GPU 0")));
  EXPECT_TRUE(users.for_run(first)) << "what is left is numbered anew";
}

TEST_F(GpuClaimsOfRoot, NobodyElseCanOpenTheLocks) {
  const auto gpus = some_gpus(1);
  const auto root = take(gpus, "/one");
  const std::string folder = run_ + "/trainyard/gpus", file = folder + "/" + gpus[0].uuid;
  const AsNobody nobody;
  for (const int how : {O_RDONLY, O_WRONLY})
    EXPECT_LT(::open((file + ".daemon").c_str(), how), 0) << "it could lock it";
  EXPECT_LT(::open((file + ".other").c_str(), O_CREAT | O_WRONLY, 0600), 0);
  EXPECT_NE(::unlink((file + ".daemon").c_str()), 0);
}

TEST_F(GpuClaimsOfRoot, ADirectoryThatIsNotRootsIsRefused) {
  const auto gpus = some_gpus(1);
  const auto refused = [&](const char* why) {
    const auto taken = take(gpus, "/one");
    ASSERT_FALSE(taken);
    EXPECT_THAT(taken.error().message, HasSubstr(why));
    std::filesystem::remove_all(run_ + "/trainyard");
  };
  std::filesystem::create_symlink("/tmp", run_ + "/trainyard");
  refused("Not a directory");
  std::filesystem::create_directory(run_ + "/trainyard");
  ASSERT_EQ(::chown((run_ + "/trainyard").c_str(), kNobody, 0), 0);
  refused("it belongs to user 65534, not to root");
  std::filesystem::create_directories(run_ + "/trainyard/gpus");
  ASSERT_EQ(::chmod((run_ + "/trainyard/gpus").c_str(), 0777), 0);
  refused("its mode 0777 lets others write");
  EXPECT_THAT(numbers(take(gpus, "/one")), ElementsAre(0));
}

TEST_F(GpuClaimsOfRoot, AStrangerOnARunsNameKeepsNoJobOfAUserFromStarting) {
  const auto gpus = some_gpus(1);
  const std::vector<std::int32_t> first{0};
  ASSERT_EQ(::seteuid(1234), 0);
  const auto stranger = take(gpus, "/one");
  auto squatted = stranger->for_run(first);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_TRUE(squatted);
  const AsNobody nobody;
  const auto run = stranger->for_run(first);
  EXPECT_TRUE(run) << run.error().message;
}

}  // namespace
}  // namespace trainyard
