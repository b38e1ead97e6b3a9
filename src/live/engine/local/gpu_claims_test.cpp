#include "live/engine/local/gpu_claims.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// GPUs that no other test has.
std::vector<Gpu> some_gpus(std::int32_t count) {
  std::vector<Gpu> gpus;
  for (std::int32_t i = 0; i < count; ++i)
    gpus.push_back({i, "H100", fmt::format("GPU-test-{}-{}", ::getpid(), i)});
  return gpus;
}

std::vector<std::int32_t> numbers(const GpuClaims& claims) {
  std::vector<std::int32_t> all;
  for (const Gpu& gpu : claims.ours()) all.push_back(gpu.number);
  return all;
}

TEST(GpuClaims, AGpuIsOneDaemonsAtATime) {
  const auto gpus = some_gpus(3);
  {
    const auto first = GpuClaims::take({gpus[1]}, "/one");
    EXPECT_THAT(numbers(first), ElementsAre(1));
    const auto second = GpuClaims::take(gpus, "/two");
    EXPECT_THAT(numbers(second), ElementsAre(0, 2)) << "the rest goes on";
    EXPECT_THAT(second.left_out(),
                ElementsAre(HasSubstr(fmt::format("GPU 1 (H100, {}) is held by process {} of user",
                                                  gpus[1].uuid, ::getpid()))));
  }
  EXPECT_THAT(numbers(GpuClaims::take(gpus, "/two")), ElementsAre(0, 1, 2)) << "claims vanish";
}

TEST(GpuClaims, ARunOutlivesItsDaemonAndItsClaimWithIt) {
  const auto gpus = some_gpus(2);
  std::vector<Descriptor> run;
  {
    const auto first = GpuClaims::take(gpus, "/one");
    const std::vector<std::int32_t> used{1};
    auto claims = first.for_run(used);
    ASSERT_TRUE(claims);
    run = std::move(*claims);
    EXPECT_THAT(first.for_run(used).error().message, HasSubstr("its last run is not gone yet"));
  }
  const auto other = GpuClaims::take(gpus, "/two");
  EXPECT_THAT(numbers(other), ElementsAre(0));
  EXPECT_THAT(other.left_out(), ElementsAre(HasSubstr("GPU 1")));
  {
    const auto again = GpuClaims::take({gpus[1]}, "/one");
    EXPECT_THAT(numbers(again), ElementsAre(1)) << "the daemon of the same state directory";
  }
  run.clear();
  EXPECT_THAT(numbers(GpuClaims::take({gpus[1]}, "/three")), ElementsAre(1));
}

TEST(GpuClaims, AStrangerOnARunsNameKeepsNoJobFromStarting) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  const auto gpus = some_gpus(1);
  const auto claims = GpuClaims::take(gpus, "/one");
  const std::vector<std::int32_t> first{0};
  std::array<int, 2> ready{}, over{};
  ASSERT_EQ(::pipe(ready.data()) + ::pipe(over.data()), 0);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::close(over[1]);
    if (::setuid(65534) != 0) ::_exit(1);
    const auto squatted = claims.for_run(first);
    char byte = 0;
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(over[0], &byte, 1);  // until the test is over
    ::_exit(squatted ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto run = claims.for_run(first);
  EXPECT_TRUE(run) << run.error().message;
  ::close(over[1]);
  int status = 0;
  ::waitpid(stranger, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(GpuClaims, WithoutAUuidTheNumberDoes) {
  const std::vector<Gpu> nameless{{63, "old", ""}};
  const auto first = GpuClaims::take(nameless, "/one");
  ASSERT_THAT(numbers(first), ElementsAre(63));
  EXPECT_THAT(GpuClaims::take(nameless, "/two").ours(), IsEmpty());
}

}  // namespace
}  // namespace trainyard
