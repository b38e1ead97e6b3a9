#include "live/system/held_port.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <set>

namespace trainyard {
namespace {

struct ServerSocket {
  Descriptor socket;
  int why = 0;  // errno of the first call that failed
};

ServerSocket listen_on(int port, bool reuse, const char* address) {
  ServerSocket server{Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  const int on = reuse ? 1 : 0;
  ::setsockopt(server.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address, &name.sin_addr);
  if (::bind(server.socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(server.socket.get(), 1) != 0)
    server.why = errno;
  return server;
}

TEST(HeldPort, TheJobListensAndOthersDoNot) {
  const auto held = hold_port(7);
  ASSERT_TRUE(held) << held.error().message;
  for (const char* address : {"0.0.0.0", "127.0.0.1"}) {
    EXPECT_EQ(listen_on(held->number, false, address).why, EADDRINUSE);
    const ServerSocket job = listen_on(held->number, true, address);
    EXPECT_EQ(job.why, 0) << address;
    EXPECT_EQ(listen_on(held->number, true, address).why, EADDRINUSE) << "the job listens";
  }
}

/// Draws owners that come and go. The seed is printed when it fails.
TEST(HeldPort, NoTwoHoldersEverHaveTheSame) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<HeldPort> held;
  for (int step = 0; step < 2000; ++step) {
    if (!held.empty() && random() % 3 == 0) {
      std::swap(held[random() % held.size()], held.back());
      held.pop_back();
      continue;
    }
    auto port = hold_port(random() % 50);  // few numbers, so that many want the same port
    if (!port) continue;
    ASSERT_GE(port->number, kFirstJobPort);
    ASSERT_LT(port->number, kFirstJobPort + kJobPorts);
    for (const HeldPort& other : held) ASSERT_NE(other.number, port->number);
    held.push_back(std::move(*port));
  }
  EXPECT_GT(held.size(), 100U);
}

TEST(HeldPort, OneThatIsInUseIsNotGiven) {
  const int wanted = hold_port(500)->number;
  const ServerSocket other = listen_on(wanted, true, "127.0.0.1");
  ASSERT_EQ(other.why, 0);
  const auto held = hold_port(500);
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_NE(held->number, wanted);
}

TEST(HeldPort, IsFreeWhenTheLastCopyIsClosed) {
  auto held = hold_port(900);
  ASSERT_TRUE(held) << held.error().message;
  Descriptor copy(::dup(held->socket.get()));
  held->socket.reset();
  EXPECT_EQ(listen_on(held->number, false, "0.0.0.0").why, EADDRINUSE);
  copy.reset();
  EXPECT_EQ(listen_on(held->number, false, "0.0.0.0").why, 0);
}

/// In a network namespace of its own, so that no port of the machine is taken.
TEST(HeldPort, TakesAnyOtherWhenAllOfItsOwnAreInUse) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::unshare(CLONE_NEWNET) != 0) ::_exit(77);
    std::vector<HeldPort> all;
    for (int i = 0; i < kJobPorts; ++i) {
      auto port = hold_port(0);
      if (!port) ::_exit(1);
      all.push_back(std::move(*port));
    }
    const auto other = hold_port(0);
    if (!other) ::_exit(2);
    const bool is_of_its_own =
        other->number >= kFirstJobPort && other->number < kFirstJobPort + kJobPorts;
    if (is_of_its_own || other->number == 0) ::_exit(3);
    ::_exit(listen_on(other->number, true, "0.0.0.0").why == 0 ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no network namespace can be made here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace trainyard
