// Callers who say they are somebody else: trust in what a client says of itself, tokens that are
// none, and what belongs to others.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "live/server/testing.h"
#include "live/server/tokens.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

/// Runs `act` in a process of that user: for who the kernel says is there. Its status, 0 for true.
bool as_user(uid_t uid, const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(uid) != 0 || ::setuid(uid) != 0) ::_exit(9);
    ::_exit(act() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class HostileIdentity : public ServerTest {
 protected:
  /// The status of an answer that another user gets.
  bool nobody_gets(int wanted, const std::string& method, const std::string& target,
                   const std::string& body = "", const std::string& headers = "") const {
    return as_user(kNobody, [&] { return ask(method, target, body, headers).status == wanted; });
  }
};

TEST_F(HostileIdentity, HeadersAndFieldsDoNotMakeAnOperator) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  start();
  const std::string forged =
      "REMOTE_ADDR: 127.0.0.1\r\nX-Forwarded-User: root\r\nX-Remote-User: root\r\nRemote-User: "
      "root\r\nUid: 0\r\nX-Trainyard-User: root\r\nCookie: user=root\r\nAuthorization: Basic "
      "cm9vdDo=\r\n";
  EXPECT_TRUE(nobody_gets(403, "POST", "/v1/machines/m0/close", "", forged));
  EXPECT_TRUE(nobody_gets(403, "PUT", "/v1/policy", R"({"policy": "las"})", forged));
  EXPECT_TRUE(nobody_gets(400, "GET", "/v1/jobs?uid=0", "", forged));
  EXPECT_TRUE(nobody_gets(400, "POST", "/v1/jobs", R"({"command": ["true"], "uid": 0})"));
  EXPECT_TRUE(nobody_gets(400, "POST", "/v1/jobs", R"({"command": ["true"], "user": "root"})"));
  EXPECT_EQ(service.size(), 0U);
  ASSERT_TRUE(nobody_gets(201, "POST", "/v1/jobs", kJob, forged));
  EXPECT_EQ(service.at(1).owner.uid, kNobody);
  EXPECT_EQ(service.at(1).owner.role, Role::user);
  EXPECT_EQ(ask("POST", "/v1/machines/m0/close").status, 200) << "root is an operator";
}

TEST_F(HostileIdentity, ATokenOnTheUnixSocketChangesNothing) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  const auto token = TokenFile(folder.path).add("boss", Role::operator_, "root");
  ASSERT_TRUE(token) << token.error().message;
  start();
  EXPECT_TRUE(nobody_gets(403, "POST", "/v1/machines/m0/close", "",
                          "Authorization: Bearer " + *token + "\r\n"));
}

TEST_F(HostileIdentity, WhatBelongsToOthersIsNeitherReadNorEnded) {
  if (!can_be_others()) GTEST_SKIP() << kCannotBeOthers;
  start();
  ASSERT_EQ(ask("POST", "/v1/jobs", R"({"command": ["true", "--password=hunter2"]})").status, 201);
  EXPECT_TRUE(nobody_gets(403, "GET", "/v1/jobs/1/logs"));
  EXPECT_TRUE(nobody_gets(403, "DELETE", "/v1/jobs/1"));
  EXPECT_TRUE(as_user(kNobody, [&] {
    const RawAnswer job = ask("GET", "/v1/jobs/1");
    return job.status == 200 && job.body.find("hunter2") == std::string::npos;
  }));
  EXPECT_EQ(service.at(1).life.state.phase, Phase::queued);
}

TEST_F(HostileIdentity, TheTokensAreNobodyElsesToRead) {
  ASSERT_TRUE(TokenFile(folder.path).add("a", Role::user, "root"));
  struct stat facts {};
  ASSERT_EQ(::stat((folder.path + "/tokens.json").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600U);
}

class HostileTcp : public ServerTest {
 protected:
  void SetUp() override {
    token = *TokenFile(folder.path).add("ci", Role::user, user_of(::geteuid(), 0).user);
    ServerOptions options;
    options.tcp = "127.0.0.1:0";
    start(options);
  }
  [[nodiscard]] RawClient dial() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server->tcp_port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return RawClient(std::move(socket));
  }
  [[nodiscard]] int status_with(const std::string& headers) const {
    return dial().ask("GET", "/v1/cluster", "", headers).status;
  }
  std::string token;
};

TEST_F(HostileTcp, OnlyTheTokenItselfLetsIn) {
  const std::string bearer = "Authorization: Bearer ";
  ASSERT_EQ(status_with(bearer + token + "\r\n"), 200);
  const std::string hash = TokenFile(folder.path).list()->at(0).sha256;
  std::string changed = token;
  changed.back() = changed.back() == '0' ? '1' : '0';
  for (const std::string& wrong :
       {std::string(), hash, "ty_" + hash, changed, token + "0", token.substr(0, token.size() - 1),
        token.substr(3), std::string("ci"), std::string("null"), token + " " + token})
    EXPECT_EQ(status_with(bearer + wrong + "\r\n"), 401) << wrong;
  EXPECT_EQ(status_with(""), 401);
  EXPECT_EQ(status_with("Authorization: Basic " + token + "\r\n"), 401);
  EXPECT_EQ(status_with("Authorization: bearer " + token + "\r\n"), 401);
  EXPECT_EQ(status_with(bearer + token + "\r\n" + bearer + "x\r\n"), 401) << "given twice";
  EXPECT_GE(log.count(LogLevel::warning, "from address 127.0.0.1 has no valid token"), 1U);
  EXPECT_EQ(dial().ask("GET", "/v1/cluster?token=" + token).status, 401);
}

TEST_F(HostileTcp, EveryRouteAsksForATokenButTwo) {
  EXPECT_EQ(dial().ask("GET", "/healthz").status, 200);
  EXPECT_EQ(dial().ask("GET", "/v1/openapi.json").status, 200);
  for (const char* path : {"/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/logs", "/v1/jobs/1/why",
                           "/v1/cluster", "/v1/policy", "/v1/history", "/v1/events", "/metrics"})
    EXPECT_EQ(dial().ask("GET", path).status, 401) << path;
  EXPECT_EQ(dial().ask("POST", "/v1/jobs", kJob).status, 401);
  EXPECT_EQ(service.size(), 0U);
}

TEST_F(HostileTcp, ARoleIsAllThatATokenGives) {
  const std::string headers = "Authorization: Bearer " + token + "\r\n";
  EXPECT_EQ(dial().ask("POST", "/v1/machines/m0/close", "", headers).status, 403);
  EXPECT_EQ(dial().ask("POST", "/v1/jobs", kJob, headers).status, 201);
  const std::string viewer =
      *TokenFile(folder.path).add("eye", Role::viewer, user_of(::geteuid(), 0).user);
  const std::string sees = "Authorization: Bearer " + viewer + "\r\n";
  EXPECT_EQ(dial().ask("GET", "/v1/jobs", "", sees).status, 200);
  EXPECT_EQ(dial().ask("POST", "/v1/jobs", kJob, sees).status, 403);
  EXPECT_EQ(dial().ask("GET", "/v1/jobs/1/logs", "", sees).status, 403);
}

TEST_F(HostileTcp, ARemovedTokenLetsNobodyInAnyMore) {
  const std::string headers = "Authorization: Bearer " + token + "\r\n";
  RawClient client = dial();
  ASSERT_EQ(client.ask("GET", "/v1/cluster", "", headers).status, 200);
  ASSERT_TRUE(TokenFile(folder.path).remove("ci"));
  EXPECT_EQ(client.ask("GET", "/v1/cluster", "", headers).status, 401) << "on the same connection";
}

TEST_F(HostileTcp, TokensThatOthersMayReadLetNobodyIn) {
  ::chmod((folder.path + "/tokens.json").c_str(), 0644);
  ASSERT_TRUE(TokenFile(folder.path).list().error().message.find("others may use it") !=
              std::string::npos);
  const auto late = std::filesystem::last_write_time(folder.path + "/tokens.json");
  std::filesystem::last_write_time(folder.path + "/tokens.json", late + std::chrono::seconds(1));
  EXPECT_EQ(status_with("Authorization: Bearer " + token + "\r\n"), 401);
}

TEST_F(ServerTest, TcpIsRefusedWithoutATokenOrInTheOpen) {
  const auto problem = [&](const std::string& tcp) {
    ServerOptions options;
    options.state_directory = folder.path;
    options.tcp = tcp;
    const auto started = HttpServer::start(service, options);
    return started ? "" : started.error().message;
  };
  EXPECT_THAT(problem("127.0.0.1:0"), HasSubstr("without a token"));
  ASSERT_TRUE(TokenFile(folder.path).add("ci", Role::user, "root"));
  for (const char* open :
       {"0.0.0.0:0", "[::]:0", "10.1.2.3:0", "128.0.0.1:0", "[::ffff:127.0.0.1]:0"})
    EXPECT_THAT(problem(open), HasSubstr("others could read tokens")) << open;
  for (const char* wrong : {"127.0.0.1", ":80", "127.0.0.1:99999", "example.org:80", "127.1:80"})
    EXPECT_NE(problem(wrong), "") << wrong;
  EXPECT_EQ(problem("127.0.0.1:0"), "");
}

}  // namespace
}  // namespace trainyard
