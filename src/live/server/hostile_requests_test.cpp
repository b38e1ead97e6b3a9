// Requests that are malformed, huge, or meant to be read differently by two readers; whatever
// comes, the answer is right and the server goes on.
#include <gmock/gmock.h>

#include <random>

#include "live/server/testing.h"

namespace trainyard {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class HostileRequests : public ServerTest {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.session.head = std::chrono::milliseconds(2000);
    start(options);
  }
  void TearDown() override { EXPECT_EQ(ask("GET", "/healthz").status, 200) << "it goes on"; }
  /// The answer to these bytes, after which the connection is closed or nothing more comes.
  [[nodiscard]] RawAnswer reply_to(const std::string& bytes) const {
    RawClient client = connect();
    client.send(bytes);
    return client.answer();
  }
};

TEST_F(HostileRequests, BytesThatAreNoRequest) {
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 16),
        std::string("GET /v1/jobs\r\n\r\n")})
    EXPECT_EQ(reply_to(bytes).status, 400) << bytes;
  EXPECT_EQ(reply_to("BREW /v1/jobs HTTP/1.1\r\n\r\n").status, 501);
}

TEST_F(HostileRequests, PathsThatAreNone) {
  for (const char* path : {"/", "/v1", "/v1/", "/v1/jobs/", "//v1/jobs", "/v1/jobs/1/", "/V1/jobs",
                           "/v1/jobs/1/logs/x", "/../../etc/passwd", "/v1/../v1/x", "/%2e%2e/x",
                           "/v1/machines//close"})
    EXPECT_EQ(ask("GET", path).status, 404) << path;
  for (const char* path : {"/v1/jobs/0", "/v1/jobs/-1", "/v1/jobs/1e3", "/v1/jobs/0x1",
                           "/v1/jobs/99999999999999999999", "/v1/jobs/1%20", "/v1/jobs/%31%00",
                           "/v1/jobs%00", "/v1%2fjobs", "/v1/jobs/1%2Flogs", "*"})
    EXPECT_EQ(ask("GET", path).status, 400) << path;
  EXPECT_EQ(ask("GET", "/v1/jobs/1' OR '1'='1").status, 400);
}

TEST_F(HostileRequests, MethodsThatAPathDoesNotHave) {
  const RawAnswer answer = ask("PUT", "/v1/jobs");
  EXPECT_EQ(answer.status, 405);
  EXPECT_THAT(answer.head, HasSubstr("Allow: POST, GET"));
  EXPECT_EQ(ask("DELETE", "/v1/cluster").status, 405);
}

TEST_F(HostileRequests, ParametersThatAreWrong) {
  for (const char* query :
       {"limit=0", "limit=1001", "limit=-1", "limit=ten", "limit=1&limit=2", "before=-1",
        "class=gang", "state=gone", "state=queued,,x", "users=ada", "user=%00", "limit="})
    EXPECT_EQ(ask("GET", std::string("/v1/jobs?") + query).status, 400) << query;
  EXPECT_THAT(ask("GET", "/v1/jobs?limt=3").error(), HasSubstr("did you mean 'limit'?"));
  for (const char* query : {"offset=-1", "worker=x", "run=4294967296", "follow=maybe"})
    EXPECT_EQ(ask("GET", std::string("/v1/jobs/1/logs?") + query).status, 400) << query;
  EXPECT_EQ(ask("GET", "/v1/events", "", "Last-Event-ID: -3\r\n").status, 400);
}

TEST_F(HostileRequests, JsonThatIsNone) {
  EXPECT_THAT(ask("POST", "/v1/jobs", "{\"command\": [").error(), HasSubstr("not JSON: byte 14"));
  EXPECT_EQ(ask("POST", "/v1/jobs", std::string(200'000, '[')).status, 400);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(ask("POST", "/v1/jobs", R"({"command": ["x"], "gpus": )" + deep + "}").status, 400);
  EXPECT_EQ(ask("PUT", "/v1/policy", R"({"policy": )" + deep + "}").status, 400);
  EXPECT_EQ(ask("POST", "/v1/jobs", R"({"command": ["x"], "cpus": 1e999})").status, 400);
  EXPECT_EQ(ask("POST", "/v1/jobs", "\xff\xfe").status, 400);
  EXPECT_EQ(ask("POST", "/v1/jobs", std::string("{\"command\":[\"a\0b\"]}", 19)).status, 400);
  EXPECT_EQ(ask("POST", "/v1/jobs").status, 411) << "no body";
  EXPECT_EQ(service.size(), 0U);
}

TEST_F(HostileRequests, AFaultInsideIsNotTold) {
  const RawAnswer answer = ask("POST", "/v1/jobs", R"({"command": ["x"], "name": "throw"})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.head + answer.body, Not(HasSubstr("secret internals")));
}

TEST_F(HostileRequests, BodiesThatAreTooLarge) {
  RawClient client = connect();
  client.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 4194305\r\n\r\n");
  EXPECT_EQ(client.answer().status, 413) << "at once, before any of it was sent";
  RawClient eager = connect();
  eager.send("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 6000000\r\n\r\n");
  eager.send(std::string(6'000'000, 'x'));
  EXPECT_EQ(eager.answer().status, 413);
  EXPECT_EQ(ask("POST", "/v1/jobs", std::string(4'194'304, ' ')).status, 400) << "the most";
}

TEST_F(HostileRequests, BodiesOfUnclearLength) {
  const std::string begin = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(reply_to(begin + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n").status,
            411);
  EXPECT_EQ(reply_to(begin + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}").status, 415);
  for (const char* length : {"-1", "1e3", "+5", "0x10", "17.0", "99999999999999999999", "5, 5"})
    EXPECT_EQ(reply_to(begin + "Content-Length: " + length + "\r\n\r\n{}").status, 400) << length;
  EXPECT_EQ(reply_to(begin + "Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}").status, 400);
  EXPECT_EQ(service.size(), 0U);
}

TEST_F(HostileRequests, ARequestHiddenInABodyIsNotServed) {
  const std::string hidden = "DELETE /v1/jobs/1 HTTP/1.1\r\nHost: x\r\n\r\n";
  ask("POST", "/v1/jobs", kJob);
  for (const std::string& outer :
       {"GET /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(hidden.size()) +
            "\r\n\r\n",
        std::string(
            "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        std::string("PUT /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n")}) {
    RawClient client = connect();
    client.send(outer + hidden);
    EXPECT_GE(client.answer().status, 400);
    EXPECT_TRUE(client.read_to_end()) << "the connection is closed";
    EXPECT_EQ(client.received, "") << "and nothing else is answered";
  }
  EXPECT_EQ(service.at(1).life.state.phase, Phase::queued);
}

TEST_F(HostileRequests, HeadsThatAreTooLong) {
  EXPECT_THAT(reply_to("GET /" + std::string(40'000, 'a') + " HTTP/1.1\r\n\r\n").status,
              AnyOf(414, 431));
  EXPECT_EQ(reply_to("GET /" + std::string(9'000, 'a') + " HTTP/1.1\r\n\r\n").status, 414);
  std::string many = "GET /healthz HTTP/1.1\r\n";
  for (int i = 0; i < 4000; ++i) many += "X-" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(reply_to(many + "\r\n").status, 431);
  EXPECT_EQ(reply_to("GET /healthz HTTP/1.1\r\nX: " + std::string(50'000, 'a')).status, 431);
}

TEST_F(HostileRequests, RangesAreNotServed) {
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 1500; ++i) ranges += ",0-";
  const RawAnswer answer = ask("GET", "/v1/openapi.json", "", ranges + "\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_LT(answer.body.size(), 100'000U);
}

TEST_F(HostileRequests, LinesCannotBePutIntoAnswers) {
  const RawAnswer answer =
      ask("GET", "/v1/jobs?limit=1%0d%0aSet-Cookie:%20a=b%0d%0a%0d%0a<script>");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.head, Not(HasSubstr("Set-Cookie")));
  EXPECT_THAT(answer.head, HasSubstr("X-Content-Type-Options: nosniff"));
}

TEST_F(HostileRequests, RandomBytesAndHalvesOfRequests) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole =
      "POST /v1/jobs?x=%41 HTTP/1.1\r\nHost: x\r\nContent-Length: 21\r\n"
      "Last-Event-ID: 3\r\n\r\n{\"command\": [\"true\"]}";
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole.substr(0, random() % whole.size());
    for (std::size_t changes = random() % 8; changes > 0 && !bytes.empty(); --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    RawClient client = connect();
    client.send(bytes);  // and hang up
  }
}

}  // namespace
}  // namespace trainyard
