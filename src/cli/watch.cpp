// trainyard watch: the cluster and the queue, drawn again whenever something happens.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "cli/answer_text.h"
#include "cli/client.h"
#include "cli/terminal.h"
#include "live/book/job_words.h"

namespace trainyard::cli {
namespace {

using nlohmann::json;

constexpr int kOftenEnough = 200;    // milliseconds between two frames, at least
constexpr int kSeldomEnough = 2000;  // and at most: ages grow even when nothing happens

/// The terminal for one's own use, given back with all that was on it.
class Screen {
 public:
  Screen() {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    std::ignore = print("\x1b[?1049h\x1b[?25l");
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() {
    std::ignore = print("\x1b[?25h\x1b[?1049l");
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  /// The frame from the top, each line cut to the width and cleared behind.
  static Expected<void> draw(std::string_view frame) {
    winsize size{};
    ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    const std::size_t rows = size.ws_row == 0 ? 24 : size.ws_row;
    const std::size_t columns = size.ws_col == 0 ? 80 : size.ws_col;
    std::string text = "\x1b[H";
    for (std::size_t row = 0; row + 1 < rows && !frame.empty(); ++row) {
      const std::size_t end = std::min(frame.find('\n'), frame.size());
      text += clipped(frame.substr(0, end), columns) + "\x1b[K\r\n";
      frame.remove_prefix(std::min(end + 1, frame.size()));
    }
    return print(text + "\x1b[J");
  }

 private:
  termios before_{};
};

Expected<std::string> frame(Client& client) {
  const auto cluster = client.get("/v1/cluster");
  if (!cluster) return tl::make_unexpected(cluster.error());
  const auto page = client.get("/v1/jobs?fold=true&state=" + unfinished_state_names(","));
  if (!page) return tl::make_unexpected(page.error());
  return fmt::format("{} running, {} queued\n\n{}\n{}", cluster->at("running").get<std::size_t>(),
                     cluster->at("queued").get<std::size_t>(), machine_table(*cluster),
                     job_table(page->at("jobs")));
}

/// Listens to the events in a thread of its own, and counts them.
class Bell {
 public:
  explicit Bell(const ClientOptions& options) : thread_([this, options] { listen(options); }) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() {
    stopping_ = true;
    thread_.join();
  }
  [[nodiscard]] std::uint64_t rings() const { return rings_; }

 private:
  void listen(const ClientOptions& options) {
    while (!stopping_) {
      // A part at least every heartbeat; the daemon going away ends it too.
      if (auto client = Client::open(options)) {
        const std::jthread stopper([&](const std::stop_token& done) {
          while (!stopping_ && !done.stop_requested())
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          client->stop();
        });
        std::ignore = client->stream("/v1/events", [&](std::string_view) {
          ++rings_;
          return !stopping_;
        });
      }
      for (int i = 0; i < 20 && !stopping_; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> rings_ = 0;
  std::thread thread_;
};

/// Whether the person wants to leave, asked for so long.
bool leaves_within(int milliseconds) {
  pollfd entry{STDIN_FILENO, POLLIN, 0};
  if (::poll(&entry, 1, milliseconds) <= 0) return false;
  char key = 0;
  const ssize_t got = ::read(STDIN_FILENO, &key, 1);
  constexpr char kControlC = 3, kControlD = 4;
  return got <= 0 || key == 'q' || key == kControlC || key == kControlD;
}

Expected<void> watch_terminal(Client& client, const ClientOptions& options) {
  const Screen screen;
  const Bell bell(options);
  for (;;) {
    const std::uint64_t seen = bell.rings();
    const auto text = frame(client);
    auto drawn = Screen::draw((text ? *text : text.error().message) + "\nPress q to leave.");
    if (!drawn) return drawn;
    int waited = 0;
    do {
      if (leaves_within(kOftenEnough)) return {};
      waited += kOftenEnough;
    } while (bell.rings() == seen && waited < kSeldomEnough);
  }
}

Expected<void> watch(const AskOptions& options) {
  auto client = Client::open(options.client);
  if (!client) return tl::make_unexpected(client.error());
  if (options.json()) {
    auto cluster = client->get("/v1/cluster"), page = client->get("/v1/jobs");
    if (!cluster) return tl::make_unexpected(cluster.error());
    if (!page) return tl::make_unexpected(page.error());
    return print_json({{"cluster", *std::move(cluster)}, {"jobs", page->at("jobs")}});
  }
  const auto first = frame(*client);
  if (!first) return tl::make_unexpected(first.error());
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return print(*first);
  return watch_terminal(*client, client->found());
}

}  // namespace

void add_watch_command(Command& program) {
  const auto options = std::make_shared<AskOptions>();
  Command& command =
      add_daemon_command(program, "watch", "Shows machines and queue as they change; q leaves.",
                         "trainyard watch\ntrainyard watch | head", *options);
  command.action = [options] { return watch(*options); };
}

}  // namespace trainyard::cli
