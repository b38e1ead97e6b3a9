// Callers who are slow, who are many, or who ask too often; and a thousand who only listen.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/server/rate_limit.h"
#include "live/server/testing.h"
#include "live/server/tokens.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

/// Sends a byte now and then until the server has had enough. True if it ended within the deadline.
bool trickle(RawClient& client, std::string_view bytes) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  for (std::size_t i = 0; std::chrono::steady_clock::now() < deadline; ++i) {
    if (!client.send(bytes.substr(i % bytes.size(), 1))) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

Descriptor connect_to_loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return socket;
}

TEST_F(ServerTest, AHeadThatTricklesInIsCutOff) {
  ServerOptions options;
  options.session.head = std::chrono::milliseconds(300);
  start(options);
  RawClient slow = connect();
  slow.send("GET /healthz HTTP/1.1\r\nX: ");
  EXPECT_TRUE(trickle(slow, "a"));
  EXPECT_EQ(slow.answer().status, 408);
  RawClient silent = connect();
  EXPECT_TRUE(silent.read_to_end()) << "who says nothing is not waited for";
}

TEST_F(ServerTest, ABodyThatTricklesInIsCutOff) {
  ServerOptions options;
  options.session.body = std::chrono::milliseconds(300);
  start(options);
  RawClient slow = connect();
  slow.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
  EXPECT_TRUE(trickle(slow, " "));
  EXPECT_EQ(slow.answer().status, 408);
  EXPECT_EQ(service.size(), 0U);
}

/// What is announced is counted before it comes, and is free again when it is not kept.
TEST_F(ServerTest, RequestsTakeNoMoreMemoryThanThereIs) {
  ServerOptions options;
  options.requests.memory = 3 * kSmallAnswer;
  options.requests.memory_patience = std::chrono::milliseconds(50);
  start(options);
  {
    RawClient listener = connect();
    listener.send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(listener.read_until("events follow"));
    RawClient large = connect();
    large.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n");
    const RawAnswer refused = large.answer();
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr("too much memory"));
    EXPECT_EQ(ask("GET", "/healthz").status, 200) << "what is small has room";
  }
  const std::string padded = std::string(35'000, ' ') + kJob;
  EXPECT_TRUE(eventually([&] { return ask("POST", "/v1/jobs", padded).status == 201; }));
}

TEST_F(ServerTest, ManyWhoAreSlowKeepNobodyElseWaiting) {
  ServerOptions options;
  start(options);
  std::vector<RawClient> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(connect());
    ASSERT_TRUE(slow.back().send("GET /healthz HTTP/1.1\r\nX: "));
  }
  EXPECT_EQ(ask("POST", "/v1/jobs", kJob).status, 201);
}

TEST_F(ServerTest, AConnectionTooManyIsTurnedAwayAtOnce) {
  ServerOptions options;
  options.daemon_uid = ::geteuid();
  options.admission.connections = 4;
  options.admission.reserved = 0;
  start(options);
  std::vector<RawClient> open;
  for (int i = 0; i < 4; ++i) {
    open.push_back(connect());
    ASSERT_EQ(open.back().ask("GET", "/healthz").status, 200);
  }
  RawClient late = connect();
  const RawAnswer answer = late.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(log.count(LogLevel::warning, "is refused: 4 are open"), 1U);
  EXPECT_THAT(answer.head, HasSubstr("Retry-After: 1"));
  EXPECT_EQ(open[0].ask("GET", "/healthz").status, 200);
  open.clear();
  // Their threads notice it in their own time.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int status = 503;
  while (status != 200 && std::chrono::steady_clock::now() < deadline)
    status = ask("GET", "/healthz").status;
  EXPECT_EQ(status, 200);
}

/// Opens as many connections as are taken, at most ten, and keeps them.
std::vector<RawClient> as_many_as_are_taken(const std::function<RawClient()>& dial) {
  std::vector<RawClient> open;
  while (open.size() < 10) {
    RawClient next = dial();
    if (next.ask("GET", "/healthz").status != 200) break;
    open.push_back(std::move(next));
  }
  return open;
}

/// Of a connection the kernel keeps who this thread was when it was made.
RawClient connect_as(uid_t uid, const std::string& folder) {
  const uid_t before = ::geteuid();
  EXPECT_EQ(::syscall(SYS_setresuid, -1, uid, -1), 0);
  RawClient client(folder);
  EXPECT_EQ(::syscall(SYS_setresuid, -1, before, -1), 0);
  return client;
}

TEST_F(ServerTest, NobodyTakesAllConnections) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  ASSERT_TRUE(TokenFile(folder.path).add("ci", Role::viewer, "root"));
  ServerOptions options;
  options.tcp = "127.0.0.1:0";
  options.admission.connections = 10;
  options.admission.reserved = 1;
  options.admission.of_one_user = 4;
  options.admission.strangers = 3;
  start(options);
  const auto greedy = [&] { return connect_as(65534, folder.path); };
  const auto other = [&] { return connect_as(65533, folder.path); };
  const auto through_tcp = [&] { return RawClient(connect_to_loopback(server->tcp_port())); };
  auto taken = as_many_as_are_taken(greedy);
  EXPECT_EQ(taken.size(), 4U);
  std::vector<RawClient> by_tcp;
  for (int i = 0; i < 3; ++i) {
    by_tcp.push_back(through_tcp());
    ASSERT_EQ(by_tcp.back().ask("GET", "/healthz").status, 200);
  }
  const auto of_other = as_many_as_are_taken(other);
  EXPECT_EQ(of_other.size(), 2U) << "what is left, but for the reserve";
  EXPECT_EQ(ask("GET", "/healthz").status, 200) << "an operator has the reserve";
  EXPECT_EQ(greedy().answer().status, 503);
  EXPECT_EQ(taken.at(0).ask("GET", "/healthz").status, 200);
  taken.clear();
  // Their threads notice it in their own time.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int status = 503;
  while (status != 200 && std::chrono::steady_clock::now() < deadline)
    status = greedy().ask("GET", "/healthz").status;
  EXPECT_EQ(status, 200) << "who has left is not counted";
}

std::string with_token(const std::string& token) {
  return "Authorization: Bearer " + token + "\r\n";
}

/// Idle ones without a token give way to who comes after them, and so to who has one.
TEST_F(ServerTest, StrangersKeepNobodyOut) {
  const auto token = TokenFile(folder.path).add("ci", Role::operator_, "root");
  ASSERT_TRUE(token);
  ServerOptions options;
  options.tcp = "127.0.0.1:0";
  options.admission.strangers = 20;
  options.admission.connections = options.admission.reserved + 40;
  options.session.stranger = std::chrono::hours(1);
  start(options);
  const auto through_tcp = [&] { return RawClient(connect_to_loopback(server->tcp_port())); };
  RawClient known = through_tcp();
  ASSERT_EQ(known.ask("GET", "/v1/cluster", "", with_token(*token)).status, 200);
  std::vector<RawClient> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(through_tcp());
    if (i % 10 != 0) continue;
    EXPECT_EQ(through_tcp().ask("GET", "/v1/cluster", "", with_token(*token)).status, 200);
  }
  EXPECT_EQ(known.ask("GET", "/v1/cluster", "", with_token(*token)).status, 200)
      << "who has shown a token does not give way";
  EXPECT_TRUE(idle.front().read_to_end()) << "the oldest was closed";
}

TEST_F(ServerTest, AStrangerHasLittleTime) {
  const auto token = TokenFile(folder.path).add("ci", Role::viewer, "root");
  ASSERT_TRUE(token);
  ServerOptions options;
  options.tcp = "127.0.0.1:0";
  options.session.stranger = std::chrono::milliseconds(200);
  start(options);
  RawClient silent(connect_to_loopback(server->tcp_port()));
  RawClient asked(connect_to_loopback(server->tcp_port()));
  EXPECT_EQ(asked.ask("GET", "/healthz").status, 200);
  EXPECT_TRUE(silent.read_to_end());
  EXPECT_TRUE(asked.read_to_end());
}

TEST_F(ServerTest, TheStreamsOfATokenEndWithIt) {
  TokenFile tokens(folder.path);
  const auto token = tokens.add("ci", Role::viewer, "root"),
             other = tokens.add("b", Role::viewer, "root");
  ASSERT_TRUE(token && other);
  ServerOptions options;
  options.tcp = "127.0.0.1:0";
  start(options);
  const auto listen = [&](const std::string& with) {
    RawClient client(connect_to_loopback(server->tcp_port()));
    client.send("GET /v1/events HTTP/1.1\r\nHost: x\r\n" + with_token(with) + "\r\n");
    EXPECT_TRUE(client.read_until("events follow"));
    return client;
  };
  RawClient revoked = listen(*token), kept = listen(*other);
  ASSERT_TRUE(tokens.remove("ci"));
  EXPECT_TRUE(revoked.read_until("\r\n0\r\n")) << "the stream is at its end";
  EXPECT_EQ(kept.received.find("\r\n0\r\n"), std::string::npos);
}

TEST_F(ServerTest, WhoOperatesTheDaemonIsNotHeldToTheShareOfAUser) {
  ServerOptions options;
  options.daemon_uid = ::geteuid();
  options.admission.connections = 6;
  options.admission.reserved = 1;
  options.admission.of_one_user = 2;
  start(options);
  EXPECT_EQ(as_many_as_are_taken([&] { return connect(); }).size(), 6U);
}

TEST_F(ServerTest, WhoAsksTooOftenIsToldWhenToComeBack) {
  ServerOptions options;
  options.requests.burst = 5;
  options.requests.per_second = 0.01;
  start(options);
  RawClient client = connect();
  for (int i = 0; i < 5; ++i) ASSERT_EQ(client.ask("GET", "/healthz").status, 200);
  const RawAnswer answer = client.ask("GET", "/healthz");
  EXPECT_EQ(answer.status, 429);
  EXPECT_THAT(answer.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(ask("GET", "/healthz").status, 429) << "also on another connection";
}

TEST(RateLimit, RefillsSteadilyAndCountsEachCallerApart) {
  RateLimit limit(2, 1);
  const Time now{1'000'000};
  EXPECT_EQ(limit.take("a", now).us, 0);
  EXPECT_EQ(limit.take("a", now).us, 0);
  EXPECT_NEAR(limit.take("a", now).seconds(), 1, 0.01);
  EXPECT_EQ(limit.take("b", now).us, 0);
  EXPECT_EQ(limit.take("a", now + seconds(1)).us, 0);
  EXPECT_GT(limit.take("a", now + seconds(1)).us, 0);
  for (int i = 0; i < 3; ++i) {
    const Duration wait = limit.take("a", now + hours(1));
    EXPECT_EQ(wait.us > 0, i == 2) << "never more than the burst";
  }
}

TEST(RateLimit, ADebtIsPaidBeforeTheNextRequest) {
  RateLimit limit(10, 1);
  const Time now{1'000'000};
  EXPECT_EQ(limit.take("a", now).us, 0);
  limit.charge("a", 99, now);
  EXPECT_NEAR(limit.take("a", now).seconds(), 91, 0.01);
  EXPECT_GT(limit.take("a", now + seconds(90)).us, 0);
  EXPECT_EQ(limit.take("a", now + seconds(92)).us, 0);
  EXPECT_EQ(limit.take("b", now).us, 0);
}

TEST_F(ServerTest, EachTaskOfAnArrayCountsAsARequest) {
  ServerOptions options;
  options.requests.burst = 20;
  options.requests.per_second = 0.01;
  start(options);
  const std::string array = R"({"command": ["true"], "name": "j", "array": "1-100"})";
  ASSERT_EQ(ask("POST", "/v1/jobs", array).status, 201);
  EXPECT_EQ(ask("GET", "/healthz").status, 429);
}

TEST(RateLimit, KeepsABoundedNumberOfCallers) {
  RateLimit limit(1, 1e-9);
  for (int i = 0; i < 20'000; ++i)
    ASSERT_EQ(limit.take("caller " + std::to_string(i), Time{1}).us, 0);
}

TEST_F(ServerTest, AThousandListenersAreHeldWhileRequestsAreAnswered) {
  start();
  std::vector<RawClient> listeners;
  for (int i = 0; i < 1000; ++i) {
    listeners.push_back(connect());
    ASSERT_TRUE(listeners.back().send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")) << i;
  }
  for (RawClient& listener : listeners) ASSERT_TRUE(listener.read_until(": events follow"));
  ASSERT_EQ(ask("POST", "/v1/jobs", kJob).status, 201);
  for (RawClient& listener : listeners) ASSERT_TRUE(listener.read_until("event: submitted"));
  EXPECT_EQ(ask("GET", "/v1/jobs/1").status, 200);
}

}  // namespace
}  // namespace trainyard
