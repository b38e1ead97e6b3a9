// Asks the daemon: finds it, sends requests over its Unix socket or to a URL, and turns what goes
// wrong into a sentence for the person at the terminal.
//
// What is sent may be secret (a job's environment), so it goes only to a socket that root listens
// on, or the user who asks, or the owner of the folder that was named with --state.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trainyard {

struct ClientOptions {
  std::string state;    // the daemon's state folder; empty: the first of daemon_directories()
  std::string server;   // "https://HOST:PORT" instead, with the token in TRAINYARD_TOKEN
  std::string token{};  // for `server`; empty: that of TRAINYARD_TOKEN
  std::chrono::seconds patience{60};  // for an answer, or for the next part of one
  /// Texts in answers as they are, for programs. For people each is made visible (visible_text.h).
  bool is_exact = false;
};

/// Where the daemon that serves the whole machine keeps its state.
constexpr std::string_view kSystemState = "/var/lib/trainyard";

/// Where `serve` keeps its state: TRAINYARD_STATE; or kSystemState for root; or trainyard below
/// XDG_STATE_HOME or ~/.local/state.
Expected<std::string> default_state_directory();

/// Where a command looks for a daemon if nobody has set TRAINYARD_STATE, in this order: the
/// system's, then the user's own.
std::vector<std::string> usual_directories();

/// Where it looks now: TRAINYARD_STATE alone if it is set, else the usual ones.
std::vector<std::string> daemon_directories();

/// One thread at a time, but for stop().
class Client {
 public:
  /// Fails if no daemon answers at any of the places; the error names them.
  static Expected<Client> open(const ClientOptions& options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  /// The answer, parsed; what the daemon refuses is an error with its message.
  Expected<nlohmann::json> get(const std::string& path);
  Expected<nlohmann::json> post(const std::string& path, const nlohmann::json& body);
  Expected<nlohmann::json> put(const std::string& path, const nlohmann::json& body);
  Expected<nlohmann::json> remove(const std::string& path);

  /// An answer that comes in parts, each given to `take` until it returns false. Ends well when the
  /// daemon ends it.
  Expected<void> stream(const std::string& path, const std::function<bool(std::string_view)>& take);
  /// From another thread: ends a stream.
  void stop();

  /// Opens another one to the same daemon, also when an earlier choice answers again.
  [[nodiscard]] const ClientOptions& found() const;

 private:
  struct Wire;
  explicit Client(std::unique_ptr<Wire> wire);
  Expected<nlohmann::json> ask(const char* method, const std::string& path,
                               const std::string& body);
  std::unique_ptr<Wire> wire_;
};

/// What became of the last request of this process that failed; `none` before the first.
enum class Trouble { none, invalid, refused, not_found, no_daemon };
Trouble last_trouble();

/// Whether the daemon's name for a state is one that a job stays in.
bool is_end_state(std::string_view state);

/// As it may stand in a URL's query or path.
std::string url_encoded(std::string_view text);

}  // namespace trainyard
