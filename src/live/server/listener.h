// Accepts connections and serves them, a thread each. httplib reads heads and writes answers;
// everything that has to do with time, numbers, encryption and who is there is done here and in
// Connection. The route of a request, its body and its caller's rights are for who answers.
#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "live/server/connection.h"
#include "live/server/elastic_threads.h"
#include "live/server/reply.h"
#include "live/system/log.h"

namespace trainyard {

struct ListenerLimits {
  std::size_t connections = 2048;  // when so many are open a new one is answered 503 and closed
  std::size_t reserved = 16;       // of them, for operators on the Unix socket
  std::size_t of_one_user = 1280;  // of them, by one user of the Unix socket who is no operator
  std::size_t of_tcp = 512;        // of them, by all who have shown a token over TCP
  std::size_t strangers = 128;     // of them, by all who have shown none: the oldest gives way
  ConnectionLimits each;
};

/// A socket that listens, and who is at the other end of its connections.
struct Endpoint {
  Descriptor socket;
  /// Of a connection's socket, for a Unix socket; nobody for others.
  std::function<std::optional<Identity>(int)> peer;
  std::optional<TlsContext> tls;
};

class Listener : private httplib::Server, public ServerStatus {
 public:
  using Answerer = std::function<Reply(Connection& connection, const httplib::Request& request)>;

  Listener(std::vector<Endpoint> endpoints, ListenerLimits limits, Log& log, Answerer answerer);
  /// From now on connections are accepted, so the answerer must be able to answer.
  void begin();
  /// Ends all connections, also those in use, and waits for their threads.
  ~Listener() override;

  [[nodiscard]] std::size_t connections() const override { return open_; }
  [[nodiscard]] std::array<std::uint64_t, 6> answers() const override;

 private:
  void accept_all(const Endpoint& endpoint);
  void accept_one(const Endpoint& endpoint, Descriptor socket, std::string address);
  /// Whether there is room for one more of these; if so it is counted until leave().
  bool admit(const std::optional<Identity>& peer);
  void leave(const std::optional<Identity>& peer);
  /// A connection that is served begins, and ends.
  void enter(Connection& connection);
  void leave(Connection& connection);
  /// It has shown a token. False: there is no room for one more of these.
  bool recognise(Connection& connection);
  void serve(Connection& connection);
  void answer(const httplib::Request& request, httplib::Response& response);
  void explain_failure(httplib::Response& response);
  void explain_silence(Connection& connection);
  void send(Reply reply, httplib::Response& response);

  std::vector<Endpoint> endpoints_;
  ListenerLimits limits_;
  SeldomLog log_;
  Answerer answerer_;
  Descriptor stop_;  // becomes readable when it is time to stop
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> open_ = 0;
  std::array<std::atomic<std::uint64_t>, 6> answers_{};
  std::mutex mutex_;
  std::set<Connection*> live_;         // to be ended at the end
  std::map<uid_t, std::size_t> held_;  // open connections of the Unix socket by user
  std::deque<Connection*> strangers_;  // over TCP, from the oldest on
  std::set<Connection*> recognised_;   // over TCP, with a token
  std::vector<std::thread> accepting_;
  ElasticThreads threads_;  // last: waits for its work before the rest goes
};

}  // namespace trainyard
