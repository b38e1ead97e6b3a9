#include "live/flow_agent/daemon_feed.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace trainyard {
namespace {

constexpr int kRestMs = 1000;
constexpr std::size_t kLongestLine = std::size_t{4} << 20;
/// The daemon says something every ten seconds.
constexpr std::chrono::seconds kPatience{25};

ClientOptions with_patience(ClientOptions options) {
  options.patience = kPatience;
  options.is_exact = true;
  return options;
}

void signal_to(const Descriptor& event) {
  const std::uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof one);
}

}  // namespace

DaemonFeed::DaemonFeed(ClientOptions client, std::string machine,
                       std::function<void(std::string)> note)
    : options_(with_patience(std::move(client))),
      path_(fmt::format("/v1/flows?machine={}&follow=true", url_encoded(machine))),
      note_(std::move(note)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      end_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

DaemonFeed::~DaemonFeed() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    if (client_ != nullptr) client_->stop();
  }
  signal_to(end_);
  thread_.join();
}

std::optional<std::string> DaemonFeed::take() {
  std::uint64_t count = 0;
  (void)!::read(wake_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(last_, std::nullopt);
}

void DaemonFeed::run() {
  do {
    const auto heard = listen();
    say(heard ? "the daemon has ended the connection" : heard.error().message);
  } while (rest());
}

Expected<void> DaemonFeed::listen() {
  auto client = Client::open(options_);
  if (!client) return tl::make_unexpected(client.error());
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) return {};
    client_ = &*client;
  }
  begun_.clear();
  auto heard = client->stream(path_, [this](std::string_view part) { return hear(part); });
  const std::lock_guard lock(mutex_);
  client_ = nullptr;
  return heard;
}

bool DaemonFeed::hear(std::string_view part) {
  begun_ += part;
  if (begun_.size() > kLongestLine) return false;
  const std::size_t end = begun_.rfind('\n');
  if (end != std::string::npos) {
    say("");
    const std::size_t before = end == 0 ? std::string::npos : begun_.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::lock_guard lock(mutex_);
    last_ = begun_.substr(begin, end - begin);
    begun_.erase(0, end + 1);
    signal_to(wake_);
  }
  const std::lock_guard lock(mutex_);
  return !is_ending_;
}

void DaemonFeed::say(std::string what) {
  if (std::exchange(said_, what) != what) note_(std::move(what));
}

/// A moment, before it connects again; false when it ends.
bool DaemonFeed::rest() {
  pollfd wait{end_.get(), POLLIN, 0};
  (void)::poll(&wait, 1, kRestMs);
  const std::lock_guard lock(mutex_);
  return !is_ending_;
}

}  // namespace trainyard
