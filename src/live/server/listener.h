// Accepts connections and serves them, a thread each. Who may connect is decided by Admission, what
// a connection says and hears by its HttpSession; here are the sockets, the threads and the
// waiting.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "live/server/admission.h"
#include "live/server/connection.h"
#include "live/server/elastic_threads.h"
#include "live/server/http_session.h"
#include "live/system/log.h"

namespace trainyard {

/// A socket that listens, and who is at the other end of its connections.
struct Endpoint {
  Descriptor socket;
  /// Of a connection's socket, for a Unix socket; nobody for others.
  std::function<std::optional<Identity>(int)> peer;
  std::optional<TlsContext> tls;
};

class Listener {
 public:
  /// `admission` and `context` must outlive it.
  Listener(std::vector<Endpoint> endpoints, Admission& admission, SessionContext& context);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  /// Ends all connections, also those in use, and waits for their threads.
  ~Listener();

 private:
  void accept_all(const Endpoint& endpoint);
  void accept_one(const Endpoint& endpoint, Descriptor socket, Peer peer);
  void serve(Connection& connection, HttpSession& session) const;
  /// One step of a session: sends, produces or receives. Returns false if the client is gone.
  bool step(Connection& connection, HttpSession& session) const;
  void end(Admission::Id connection);

  std::vector<Endpoint> endpoints_;
  Admission& admission_;
  SessionContext& context_;
  Descriptor stop_;  // becomes readable when it is time to stop
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::map<Admission::Id, std::shared_ptr<Connection>> live_;  // to be ended, one or all
  std::vector<std::thread> accepting_;
  ElasticThreads threads_;  // last: waits for its work before the rest goes
};

}  // namespace trainyard
