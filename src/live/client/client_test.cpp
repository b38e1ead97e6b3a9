#include "live/client/client.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include "live/server/sockets.h"
#include "live/server/testing.h"
#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::HasSubstr;

TEST_F(ServerTest, TheClientFindsTheDaemonOrSaysWhatToDo) {
  const ClientOptions here{folder.path, ""};
  EXPECT_THAT(Client::open(here).error().message,
              HasSubstr("no daemon answers at " + folder.path + "/socket (No such file"));
  EXPECT_THAT(Client::open({folder.path + "/none", ""}).error().message,
              HasSubstr("start one: trainyard serve"));
  start();
  auto client = Client::open(here);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->found().state, folder.path);
  EXPECT_EQ(client->get("/v1/cluster")->at("running"), 1);
  EXPECT_EQ(client->get("/v1/jobs/9").error().message, "there is no such job");
  EXPECT_EQ(
      client->stream("/v1/jobs/9/logs", [](std::string_view) { return true; }).error().message,
      "there is no such job");
}

/// It refuses a body without reading it: SIGPIPE would end the command.
TEST(Client, ADaemonThatHangsUpIsAnErrorAndNotTheEndOfTheCommand) {
  EXPECT_EXIT(
      {
        ::signal(SIGPIPE, SIG_DFL);
        const TemporaryDirectory folder;
        const auto listening = listen_on_unix(folder.path());
        std::jthread daemon([&] {
          for (pollfd waiting{listening->get(), POLLIN, 0}; ::poll(&waiting, 1, -1) > 0;) {
            const Descriptor caller(::accept(listening->get(), nullptr, nullptr));
            char first = 0;
            const std::string_view answer = "HTTP/1.1 429 Too Many\r\nContent-Length: 0\r\n\r\n";
            if (::read(caller.get(), &first, 1) == 1)
              (void)!::send(caller.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
          }
        });
        auto client = Client::open({folder.path(), ""});
        const auto answer = client->post("/v1/jobs", std::string(32 << 20, 'x'));
        std::fprintf(stderr, "%s", answer ? "answered" : answer.error().message.c_str());
        std::_Exit(answer ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Client, UrlsThatWouldShowTheTokenAreRefused) {
  ::setenv("TRAINYARD_TOKEN", "x", 1);
  const auto problem = [](const char* url) {
    const auto client = Client::open({"", url});
    return client ? "" : client.error().message;
  };
  for (const char* url : {"http://example.org:80", "http://127.0.0.1.example.org:80",
                          "http://127.example.org:80", "http://128.0.0.1:80", "http://127.1:80",
                          "http://localhost.example.org:80", "http://[::2]:80"})
    EXPECT_THAT(problem(url), HasSubstr("use https")) << url;
  for (const char* url : {"http://127.0.0.1:80", "http://127.9.8.7:80", "http://[::1]:80",
                          "http://localhost:80", "https://example.org:80"})
    EXPECT_EQ(problem(url), "") << url;
  for (const char* url : {"example.org", "https://example.org", "ftp://x:1", "https://x:0",
                          "https://:1", "https://x:99999", "https://x:1/path"})
    EXPECT_THAT(problem(url), HasSubstr("is not https://HOST:PORT")) << url;
  ::unsetenv("TRAINYARD_TOKEN");
  EXPECT_THAT(problem("https://x:1"), HasSubstr("TRAINYARD_TOKEN"));
}

TEST(Client, TheStateFolderIsFoundByTheEnvironment) {
  ::setenv("TRAINYARD_STATE", "/srv/yard", 1);
  EXPECT_EQ(*default_state_directory(), "/srv/yard");
  ::unsetenv("TRAINYARD_STATE");
  const bool is_root = ::geteuid() == 0;
  EXPECT_EQ(*default_state_directory() == kSystemState, is_root);
}

TEST(Client, TheSystemsDaemonIsLookedForBeforeOnesOwn) {
  EXPECT_EQ(daemon_directories().front(), kSystemState);
  EXPECT_EQ(daemon_directories().back(), *default_state_directory());
  ::setenv("TRAINYARD_STATE", "/srv/yard", 1);
  EXPECT_EQ(daemon_directories(), std::vector<std::string>{"/srv/yard"}) << "named: no other";
  ::unsetenv("TRAINYARD_STATE");
}

}  // namespace
}  // namespace trainyard
