#include "live/server/http_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "live/system/kept_log.h"

namespace trainyard {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// Answers with what it was asked, and notes it.
class Echo : public RequestHandler {
 public:
  BegunRequest begin(const Peer& /*peer*/, const RequestHead& head) override {
    begun.push_back(head.path);
    if (head.path == "/refused") return {.reply = error_reply(403, "forbidden", "no")};
    return {.finish =
                [this, path = head.path](std::string body) {
                  finished.push_back(path + " " + body);
                  Reply reply{.type = "text/plain", .body = finished.back()};
                  if (path == "/parts")
                    reply.next_part = [n = 0](std::string& part) mutable {
                      part = "part" + std::to_string(++n);
                      return n < 2;
                    };
                  return reply;
                },
            .is_known = head.count("authorization") > 0};
  }
  std::vector<std::string> begun, finished;
};

class Session : public testing::Test {
 protected:
  HttpSession& open(std::optional<Identity> user = Identity{"ada", 1, 1}) {
    session.emplace(context, Peer{1, std::move(user), ""}, now);
    return *session;
  }
  /// All that it says until it waits for more, or is over.
  std::string said() {
    std::string text;
    while (!session->is_over()) {
      if (const auto out = session->output(); !out.empty()) {
        text += out.substr(0, 7);  // it is read slowly
        session->sent(std::min<std::size_t>(7, out.size()), now);
      } else if (session->is_streaming()) {
        session->produce(now);
      } else {
        break;
      }
    }
    return text;
  }
  std::string said_to(std::string_view bytes) {
    session->take(bytes, now);
    return said();
  }

  Time now{1'000'000};
  Echo handler;
  Admission admission{{}};
  ServerCounts counts{admission};
  KeptLog kept;
  SeldomLog log{kept};
  SessionContext context{handler, {}, log, counts};
  std::optional<HttpSession> session;
};

TEST_F(Session, AnswersRequestsOneAfterTheOther) {
  open();
  const std::string both = said_to(
      "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\nHost: "
      "x\r\n\r\n");
  EXPECT_THAT(both, HasSubstr("Content-Length: 5\r\n\r\n/a hiHTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(both, EndsWith("\r\n\r\n/b "));
  EXPECT_FALSE(session->is_over());
  EXPECT_THAT(said_to("HEAD /c HTTP/1.1\r\nHost: x\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(said_to("GET /parts HTTP/1.1\r\nHost: x\r\n\r\n"),
              EndsWith("\r\n\r\n5\r\npart1\r\n5\r\npart2\r\n0\r\n\r\n"));
  EXPECT_THAT(said_to("GET /d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(session->is_over());
}

TEST_F(Session, HalfARequestChangesNothing) {
  const std::string whole = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    open();
    EXPECT_EQ(said_to(whole.substr(0, size)), "");
    if (size % 2 == 0)
      session->end_of_input(now);
    else
      now = session->deadline(), session->expire(now);
    const std::string last = said();
    EXPECT_TRUE(session->is_over()) << size;
    if (!last.empty()) {
      EXPECT_THAT(last, StartsWith(size % 2 == 0 ? "HTTP/1.1 400" : "HTTP/1.1 408"));
    }
  }
  EXPECT_TRUE(handler.finished.empty());
}

/// Nothing behind a request that was not understood, or not read, is taken for a request.
TEST_F(Session, NothingIsServedAfterAnError) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
  for (const std::string& first :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GET / HTTP/1.1\nHost: x\n\n"),
        std::string("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n")}) {
    open();
    EXPECT_THAT(said_to(first + hidden), HasSubstr("Connection: close\r\n")) << first;
    EXPECT_TRUE(session->is_over() && session->has_unread()) << first;
  }
  EXPECT_EQ(std::ranges::count(handler.begun, "/hidden"), 0);
  open();
  EXPECT_THAT(said_to("GET /refused HTTP/1.1\r\nHost: x\r\n\r\n" + hidden), EndsWith("/hidden "))
      << "a refusal without a body is no reason to end";
}

TEST_F(Session, EveryWaitHasItsDeadline) {
  open();
  EXPECT_EQ(session->deadline(), now + seconds(10)) << "for the first byte";
  now = now + seconds(3);
  EXPECT_EQ(said_to("G"), "");
  EXPECT_EQ(session->deadline(), now + seconds(10)) << "for the rest of the head";
  const Time head = session->deadline();
  now = now + seconds(5);
  EXPECT_EQ(said_to("ET /a HTTP/1.1\r\nHost: x\r\n"), "");
  EXPECT_EQ(session->deadline(), head) << "however it trickles in";
  session->take("Content-Length: 2\r\n\r\n", now);
  EXPECT_EQ(session->deadline(), now + seconds(30)) << "for the body";
  session->take("xx", now);
  now = now + seconds(1);
  session->sent(1, now);
  EXPECT_EQ(session->deadline(), now + seconds(30)) << "for the answer to be read";
  said();
  EXPECT_EQ(session->deadline(), now + seconds(30)) << "for the next request";
  said_to("G");
  now = now + seconds(11);
  EXPECT_THAT(said_to("E"), HasSubstr("408")) << "late, though something came";
}

TEST_F(Session, AStrangerHasLittleTimeUntilATokenIsShown) {
  open(std::nullopt);
  EXPECT_EQ(session->deadline(), now + seconds(5));
  said_to("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(session->deadline(), now + seconds(5));
  said_to("GET /a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer y\r\n\r\n");
  EXPECT_EQ(session->deadline(), now + seconds(30));
}

TEST_F(Session, AClientThatWaitsToBeToldToGoOnIsTold) {
  open();
  EXPECT_EQ(
      said_to("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
      "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(said_to("hi"), EndsWith("/a hi"));
}

TEST_F(Session, AnOldClientGetsNoChunks) {
  open();
  const std::string text = said_to("GET /parts HTTP/1.0\r\n\r\n");
  EXPECT_THAT(text, EndsWith("\r\n\r\npart1part2"));
  EXPECT_TRUE(session->is_over());
}

TEST(Admission, StrangersGiveWayAndOthersDoNot) {
  Admission admission(
      {.connections = 6, .reserved = 1, .of_one_user = 2, .of_tcp = 1, .strangers = 2});
  const Identity ada{"ada", 1, 1}, root{"root", 0, 0, Role::operator_};
  const auto first = admission.admit({}), second = admission.admit({}), third = admission.admit({});
  EXPECT_EQ(third.gives_way, first.id);
  admission.leave(*first.id);
  EXPECT_TRUE(admission.recognise(*second.id, ada));
  EXPECT_FALSE(admission.recognise(*third.id, ada)) << "no room for one more with a token";
  EXPECT_TRUE(admission.recognise(*third.id, root)) << "but for an operator";
  EXPECT_EQ(admission.admit({}).gives_way, std::nullopt) << "there is no stranger left";
  EXPECT_TRUE(admission.admit(ada).id);
  EXPECT_TRUE(admission.admit(ada).id);
  EXPECT_FALSE(admission.admit(ada).id) << "as many as one user may have";
  EXPECT_FALSE(admission.admit(Identity{"bob", 2, 2}).id) << "what is left is reserved";
  EXPECT_TRUE(admission.admit(root).id);
  EXPECT_EQ(admission.open(), 6U);
}

TEST(Admission, OneBearerOfATokenKeepsNoOtherOut) {
  Admission admission({.of_tcp = 10, .of_one_bearer = 2});
  const Identity eve{"eve", 3, 3}, ada{"ada", 1, 1};
  EXPECT_TRUE(admission.recognise(*admission.admit({}).id, eve));
  EXPECT_TRUE(admission.recognise(*admission.admit({}).id, eve));
  EXPECT_FALSE(admission.recognise(*admission.admit({}).id, eve));
  EXPECT_TRUE(admission.recognise(*admission.admit({}).id, ada));
}

}  // namespace
}  // namespace trainyard
