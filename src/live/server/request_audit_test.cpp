#include "live/server/request_audit.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "live/server/testing.h"
#include "live/server/tokens.h"

namespace trainyard {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AuditedServer : public ServerTest {
 protected:
  [[nodiscard]] std::vector<AuditLine> lines() const {
    std::vector<AuditLine> all;
    const auto found = read_audit(folder.path, [&](const AuditLine& line) { all.push_back(line); });
    EXPECT_THAT(found->problems, IsEmpty());
    return all;
  }
};

TEST_F(AuditedServer, EveryChangeIsAskedForAndHasItsOutcome) {
  start();
  ASSERT_EQ(ask("POST", "/v1/jobs", kJob).status, 201);
  ASSERT_EQ(ask("GET", "/v1/jobs/1").status, 200);
  ASSERT_EQ(ask("DELETE", "/v1/jobs/1").status, 200);
  ASSERT_EQ(ask("POST", "/v1/machines/none/close").status, 404);
  ASSERT_EQ(ask("PUT", "/v1/policy", R"({"policy": "las", "settings": ["a.b=1"]})").status, 200);
  const auto all = lines();
  ASSERT_THAT(all, SizeIs(8)) << "what is only looked at is not there";
  EXPECT_EQ(all[0].entry.outcome, "asked");
  EXPECT_EQ(all[0].entry.act, "POST /v1/jobs");
  EXPECT_EQ(all[0].entry.via, "socket");
  EXPECT_EQ(all[0].entry.uid, ::geteuid());
  EXPECT_EQ(all[1].entry.outcome, "done");
  EXPECT_EQ(all[1].entry.object, "job 1");
  EXPECT_EQ(all[1].entry.of, 1U);
  EXPECT_EQ(all[3].entry.act, "DELETE /v1/jobs/1");
  EXPECT_EQ(all[5].entry.outcome, "refused");
  EXPECT_THAT(all[5].entry.why, HasSubstr("no such machine"));
  EXPECT_EQ(all[7].entry.object, "policy las a.b=1");
}

TEST_F(AuditedServer, TheTokenAndTheAddressAreNamed) {
  const auto token = TokenFile(folder.path).add("ci", Role::viewer, "root");
  ServerOptions options;
  options.tcp = "127.0.0.1:0";
  start(options);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server->tcp_port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  RawClient client(std::move(socket));
  ASSERT_EQ(client.ask("DELETE", "/v1/jobs/1").status, 401);
  ASSERT_EQ(
      client.ask("DELETE", "/v1/jobs/1", "", "Authorization: Bearer " + *token + "\r\n").status,
      403);
  const auto all = lines();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].entry.user, "");
  EXPECT_EQ(all[0].entry.from, "127.0.0.1");
  EXPECT_EQ(all[1].entry.user, "root");
  EXPECT_EQ(all[1].entry.via, "token ci");
  EXPECT_EQ(all[1].entry.outcome, "refused");
}

/// Refusals cost nothing, so somebody could fill the disk with them.
TEST_F(AuditedServer, RefusalsAreBoundedAndCounted) {
  start();
  RawClient client = connect();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.ask("DELETE", "/v1/jobs/9").status, 404);
  EXPECT_LE(lines().size(), 2 * RequestAudit::kBurst + 20);
  ASSERT_EQ(client.ask("POST", "/v1/jobs", kJob).status, 201);
  const auto all = lines();
  EXPECT_EQ(all.back().entry.object, "job 1") << "what succeeds is there";
  std::uint64_t counted = 0;
  for (const AuditLine& line : all)
    counted += line.entry.left_out + (line.entry.outcome == "refused" ? 1 : 0);
  EXPECT_EQ(counted, 1000U);
}

TEST_F(AuditedServer, WithoutAnAuditOnlyWhatEndsJobsGoesOn) {
  start();
  ASSERT_EQ(ask("POST", "/v1/jobs", kJob).status, 201);
  system.fail_at("audit.append", "no space left on device");
  const RawAnswer refused = ask("POST", "/v1/jobs", kJob);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.error(), HasSubstr("cannot be recorded now: no space left"));
  EXPECT_EQ(service.size(), 1U);
  EXPECT_EQ(ask("PUT", "/v1/policy", R"({"policy": "las"})").status, 503);
  EXPECT_EQ(ask("DELETE", "/v1/jobs/1").status, 200);
  EXPECT_EQ(service.at(1).life.state.phase, Phase::cancelled);
  system.heal();
  ASSERT_EQ(ask("POST", "/v1/jobs", kJob).status, 201);
  EXPECT_EQ(lines().at(2).entry.left_out, 4U) << "lines that could not be written are counted";
}

}  // namespace
}  // namespace trainyard
