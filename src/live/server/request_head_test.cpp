#include "live/server/request_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard {
namespace {

using testing::HasSubstr;

const std::string kLine = "GET / HTTP/1.1\r\n", kHost = "Host: x\r\n", kEnd = "\r\n";

/// 200 for a head that is taken.
int status_of(const std::string& text) {
  HeadScanner scanner;
  if (scanner.scan(text) == HeadScanner::State::broken) return 400;
  const auto head = parse_head(text);
  return head ? 200 : head.error().status;
}

TEST(RequestHead, IsTakenApart) {
  const auto head = parse_head(
      "POST /v1/jobs/a%20b?limit=3&user=a%2Bb+c&follow&x= HTTP/1.1\r\nHost: h:80\r\n"
      "Content-Length:\t 12 \r\nX-Empty:\r\nLast-Event-ID: 7\r\nConnection: Close\r\n\r\n");
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->path, "/v1/jobs/a b");
  EXPECT_EQ(head->query, (std::multimap<std::string, std::string>{
                             {"limit", "3"}, {"user", "a+b c"}, {"follow", ""}, {"x", ""}}));
  EXPECT_EQ(head->body_bytes, 12U);
  EXPECT_EQ(head->value("last-event-id"), "7");
  EXPECT_EQ(head->value("x-empty"), "");
  EXPECT_EQ(head->count("x-empty"), 1U);
  EXPECT_TRUE(head->has_body);
  EXPECT_FALSE(head->keeps_alive || head->is_http10 || head->expects_continue);
}

struct Case {
  const char* what;
  std::string head;
  int status;
};
void PrintTo(const Case& judged, std::ostream* out) {
  *out << judged.what;
}

class Heads : public testing::TestWithParam<Case> {};

TEST_P(Heads, AreJudged) {
  EXPECT_EQ(status_of(GetParam().head), GetParam().status) << GetParam().what;
}

std::string with(const std::string& fields) {
  return kLine + kHost + fields + kEnd;
}
std::string asking(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\n" + kHost + kEnd;
}

INSTANTIATE_TEST_SUITE_P(Fields, Heads,
                         testing::ValuesIn(std::vector<Case>{
                             {"plain", with(""), 200},
                             {"a blank before the colon", with("Content-Length : 5\r\n"), 400},
                             {"a tab before the colon", with("Content-Length\t: 5\r\n"), 400},
                             {"a folded line", with("X: a\r\n b\r\n"), 400},
                             {"a line folded with a tab", with("X: a\r\n\tb\r\n"), 400},
                             {"a blank before the first field", kLine + " " + kHost + kEnd, 400},
                             {"no colon", with("X\r\n"), 400},
                             {"no name", with(": a\r\n"), 400},
                             {"NUL in a value", with(std::string("X: a\0b\r\n", 8)), 400},
                             {"NUL in a name", with(std::string("X\0: a\r\n", 7)), 400},
                             {"DEL in a value", with("X: \x7f\r\n"), 400},
                             {"an escape in a value", with("X: \x1b[2J\r\n"), 400},
                             {"bytes beyond ASCII in a value", with("X: \xc3\xa9\r\n"), 200},
                             {"bytes beyond ASCII in a name", with("\xc3\xa9: 1\r\n"), 400},
                             {"a bare LF at the end of a line", with("X: a\nY: b\r\n"), 400},
                             {"a bare CR in a value", with("X: a\rb\r\n"), 400},
                             {"CR CR LF", with("X: a\r\r\n"), 400},
                             {"only LFs", "GET / HTTP/1.1\nHost: x\n\n", 400},
                             {"100 fields",
                              [] {
                                std::string many;
                                for (int i = 0; i < 99; ++i) many += "X: 1\r\n";
                                return with(many);
                              }(),
                              200},
                             {"101 fields",
                              [] {
                                std::string many;
                                for (int i = 0; i < 100; ++i) many += "X: 1\r\n";
                                return with(many);
                              }(),
                              431},
                             {"no Host", kLine + kEnd, 400},
                             {"no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 200},
                             {"two Hosts", with(kHost), 400},
                             {"a Host that is none", kLine + "Host: a b\r\n\r\n", 400},
                             {"a list of Hosts", kLine + "Host: a,b\r\n\r\n", 400},
                             {"another Expect", with("Expect: 200-ok\r\n"), 417},
                         }));

INSTANTIATE_TEST_SUITE_P(
    Lengths, Heads,
    testing::ValuesIn(std::vector<Case>{
        {"one", with("Content-Length: 5\r\n"), 200},
        {"differing ones", with("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
        {"the same twice", with("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
        {"a list", with("Content-Length: 5, 5\r\n"), 400},
        {"negative", with("Content-Length: -5\r\n"), 400},
        {"with a plus", with("Content-Length: +5\r\n"), 400},
        {"hexadecimal", with("Content-Length: 0x5\r\n"), 400},
        {"empty", with("Content-Length:\r\n"), 400},
        {"huge", with("Content-Length: 99999999999999999999999\r\n"), 400},
        {"chunked alone", with("Transfer-Encoding: chunked\r\n"), 200},  // refused later, with 411
        {"both", with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
        {"both, the other way", with("transfer-encoding: x\r\ncontent-length: 5\r\n"), 400},
    }));

INSTANTIATE_TEST_SUITE_P(Targets, Heads,
                         testing::ValuesIn(std::vector<Case>{
                             {"absolute form", asking("http://h:80/healthz?x=1"), 200},
                             {"absolute form without a path", asking("https://h"), 200},
                             {"absolute form with a user", asking("http://u@h/"), 400},
                             {"absolute form without a host", asking("http:///x"), 400},
                             {"another scheme", asking("ftp://h/"), 400},
                             {"asterisk form", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
                             {"authority form", "CONNECT h:80 HTTP/1.1\r\nHost: x\r\n\r\n", 501},
                             {"NUL, encoded", asking("/v1/jobs%00"), 400},
                             {"NUL in the query, encoded", asking("/v1/jobs?user=%00"), 400},
                             {"a slash, encoded", asking("/v1/jobs%2F1"), 400},
                             {"a slash, encoded in lower case", asking("/v1/jobs%2f1"), 400},
                             {"a slash in the query, encoded", asking("/v1/jobs?name=a%2Fb"), 200},
                             {"a percent sign alone", asking("/v1/%"), 400},
                             {"half an encoding", asking("/v1/%4"), 400},
                             {"an encoding that is none", asking("/v1/%zz"), 400},
                             {"a sign in an encoding", asking("/v1/%+1"), 400},
                             {"a fragment", asking("/v1#x"), 400},
                             {"a tab", asking("/v1\tx"), 400},
                             {"beyond ASCII", asking("/\xc3\xa9"), 400},
                             {"8 KiB", asking("/" + std::string(8191, 'a')), 200},
                             {"more than 8 KiB", asking("/" + std::string(8192, 'a')), 414},
                             {"brackets", asking("/v1/jobs/12_[3-5]"), 200},
                         }));

INSTANTIATE_TEST_SUITE_P(
    Lines, Heads,
    testing::ValuesIn(std::vector<Case>{
        {"nothing", "\r\n", 400},
        {"an empty line first", kEnd + with(""), 400},
        {"no version", "GET /\r\nHost: x\r\n\r\n", 400},
        {"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"a blank at the end", "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
        {"a blank at the beginning", " GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"another version", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400},
        {"a version in lower case", "GET / http/1.1\r\nHost: x\r\n\r\n", 400},
        {"NUL in the line", std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 27), 400},
        {"a method in lower case", "get / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
        {"an unknown method", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
        {"a method that is no token", "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    }));

/// The end of a head is where it is, however it comes.
TEST(HeadScanner, FindsTheEndByteByByte) {
  const std::string text = with("X: a\r\n") + "GET /next";
  HeadScanner scanner;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    const auto state = scanner.scan(std::string_view(text).substr(0, i));
    if (state == HeadScanner::State::incomplete) continue;
    EXPECT_EQ(state, HeadScanner::State::complete);
    EXPECT_EQ(scanner.size(), i);
    EXPECT_EQ(text.substr(i), "GET /next");
    return;
  }
  FAIL() << "no end";
}

}  // namespace
}  // namespace trainyard
