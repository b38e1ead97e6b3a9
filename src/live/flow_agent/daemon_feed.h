// Hears the daemon in a thread of its own, and connects again for as long as it lives. Only the
// last line counts: each is the whole state.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "live/client/client.h"
#include "live/system/files.h"

namespace trainyard {

class DaemonFeed {
 public:
  /// `note` is told, in that thread, when it is connected ("") and why not, when that changes.
  DaemonFeed(ClientOptions client, std::string machine, std::function<void(std::string)> note);
  ~DaemonFeed();

  /// Readable when there is a line.
  [[nodiscard]] int descriptor() const { return wake_.get(); }
  /// The last line that came since; none if none did.
  [[nodiscard]] std::optional<std::string> take();

 private:
  void run();
  Expected<void> listen();
  bool hear(std::string_view part);
  void say(std::string what);
  bool rest();

  const ClientOptions options_;
  const std::string path_;
  const std::function<void(std::string)> note_;
  const Descriptor wake_, end_;
  std::mutex mutex_;
  std::optional<std::string> last_;
  Client* client_ = nullptr;  // while it listens
  bool is_ending_ = false;
  std::string begun_, said_ = "-";  // a part of a line; what was noted last
  std::thread thread_;
};

}  // namespace trainyard
