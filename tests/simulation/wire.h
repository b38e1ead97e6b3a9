// What lies between clients' bytes and the routes, without sockets and threads: the real sessions,
// admission, tokens, rate limits, memory budget and audit, on connections in memory and by the
// simulated clocks. Some connections are held open by those who mean harm: strangers that send half
// a head, and eve, who reads no answers.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "live/server/server_handler.h"
#include "machine.h"

namespace trainyard {

class Wire {
 public:
  Wire(SimulatedMachine& machine, std::uint64_t seed, std::vector<Identity> users);
  ~Wire();

  struct Request {
    Identity who;
    std::string method, target, body{};
  };
  struct Answer {
    int status = 0;  // 0: none came
    std::string body{};
    bool is_whole = true;  // else the request never came whole, or had no valid token
  };
  /// A client connects by a way that is drawn, sends this, and reads the answer. Some requests are
  /// cut off or have a token that is not valid: nothing may come of these.
  Answer ask(const Request& request);
  /// Somebody means harm.
  void make_trouble();
  /// What was answered as it never should be; empty if nothing was.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] std::string folder() const;

 private:
  struct Server;
  struct Line;  // an open connection

  std::shared_ptr<Server> server();
  std::shared_ptr<Line> connect(Server& server, const std::optional<Identity>& user);
  /// All that is said until it waits for more, or is over.
  std::string hear(Line& line) const;
  void sweep(Server& server);
  void flood(Server& server);
  Answer send(const Request& request, const std::string& headers,
              const std::optional<Identity>& user, bool is_cut);
  [[nodiscard]] std::optional<Identity> find(const std::string& name) const;
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
  }

  SimulatedMachine& machine_;
  Random lots_;
  std::vector<Identity> users_;
  std::map<std::string, std::string> tokens_;  // by user
  std::string revoked_;
  std::string expired_;
  std::shared_ptr<Server> server_;
  std::uint64_t daemon_ = 0;  // whose server that is
  std::string complaint_;
};

}  // namespace trainyard
