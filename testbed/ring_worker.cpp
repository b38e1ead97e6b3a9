// A worker of a stand-in job: computing is a sleep, and the bytes of a ring all-reduce are sent for
// real, over TCP, from the namespace of its host to that of the next worker.
//
//   trainyard-ring-worker PLAN      RANK is in the environment, as Trainyard sets it
//
// PLAN is JSON, the same for all workers of the job:
//
//   {"namespaces": ["tyj1-h0", ...], "addresses": ["10.77.0.1", ...], "port": 20000,
//    "iterations": 150, "compute_s": 0.1, "chunk_bytes": 39833, "jitter": 0.05, "seed": 7,
//    "curve": {"limit": 0.8, "a": 90, "b": 1.4}, "noise": 0.05, "log": "/tmp/job0.log"}
//
// An iteration computes, then sends and takes one chunk in each of the 2 (W - 1) steps of the ring.
// Rank 0 appends the time of each iteration's end to the log, the first line being when it began,
// and reports its accuracy after every hundredth of the run, by the curve and with noise. All run
// in real time, so that other load on this machine does not count.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "live/system/files.h"

using namespace trainyard;

namespace {

constexpr int kPriority = 10;  // of SCHED_FIFO: above what starts it
constexpr int kStuckMs = 120000;
constexpr int kConnectTries = 1200;
constexpr useconds_t kBetweenTriesUs = 25'000;

[[noreturn]] void die(const std::string& what) {
  fmt::print(stderr, "ring worker: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void sleep_until(double at) {
  const double whole = std::floor(at);
  const timespec time{static_cast<time_t>(whole), static_cast<long>((at - whole) * 1e9)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

struct Plan {
  std::vector<std::string> namespaces, addresses;
  int port = 0, iterations = 0;
  double compute_s = 0, jitter = 0, limit = 0, a = 0, b = 0, noise = 0;
  std::size_t chunk_bytes = 0;
  std::uint64_t seed = 0;
  std::string log;
};

Plan read_plan(const char* path) {
  const auto text = read_small_file(path);
  if (!text) die(text.error().message);
  const auto json = nlohmann::json::parse(*text);
  const auto& curve = json.at("curve");
  return {json.at("namespaces"), json.at("addresses"),   json.at("port"),
          json.at("iterations"), json.at("compute_s"),   json.at("jitter"),
          curve.at("limit"),     curve.at("a"),          curve.at("b"),
          json.at("noise"),      json.at("chunk_bytes"), json.at("seed"),
          json.at("log")};
}

sockaddr_in address(const std::string& host, int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &where.sin_addr) != 1) die(host);
  return where;
}

/// Connections to the next worker of the ring and from the one before.
struct Ring {
  Descriptor next, before;
};

Ring join(const Plan& plan, std::size_t rank) {
  const std::size_t next = (rank + 1) % plan.addresses.size();
  const int on = 1;
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in here = address(plan.addresses[rank], plan.port + static_cast<int>(rank));
  const sockaddr_in there = address(plan.addresses[next], plan.port + static_cast<int>(next));
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(listener.get(), 4) != 0)
    die("listen");
  Ring ring;
  for (int tries = 0; !ring.next; ++tries) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0)
      ring.next = std::move(socket);
    else if (tries == kConnectTries)
      die("connect");
    else
      ::usleep(kBetweenTriesUs);
  }
  ring.before = Descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!ring.before) die("accept");
  ::setsockopt(ring.next.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(ring.next.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(ring.before.get(), F_SETFL, O_NONBLOCK);
  return ring;
}

/// Sends so many bytes to the next worker while as many come from the one before.
void exchange(const Ring& ring, std::vector<char>& bytes, std::size_t count) {
  std::size_t sent = 0, taken = 0;
  const auto failed = [](ssize_t done) { return done == 0 || (done < 0 && errno != EAGAIN); };
  while (sent < count || taken < count) {
    pollfd waits[] = {{sent < count ? ring.next.get() : -1, POLLOUT, 0},
                      {taken < count ? ring.before.get() : -1, POLLIN, 0}};
    if (::poll(waits, 2, kStuckMs) <= 0) die("stuck");
    if (waits[0].revents != 0) {
      const ssize_t done = ::send(ring.next.get(), bytes.data(), count - sent, MSG_NOSIGNAL);
      if (failed(done)) die("send");
      sent += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
    }
    if (waits[1].revents != 0) {
      const ssize_t done = ::recv(ring.before.get(), bytes.data(), count - taken, 0);
      if (failed(done)) die("recv");
      taken += static_cast<std::size_t>(std::max<ssize_t>(done, 0));
    }
  }
}

void enter(const std::string& name) {
  const Descriptor there(::open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!there || ::setns(there.get(), CLONE_NEWNET) != 0) die(name);
  // A control group of version 1 for the CPU has no time for such processes; that of the network is
  // of version 2, and stays.
  (void)write_to("/sys/fs/cgroup/cpu/cgroup.procs", "0");
  const sched_param priority{kPriority};
  if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) die("SCHED_FIFO");
}

/// What rank 0 tells, to the study and to the daemon.
class Teller {
 public:
  explicit Teller(const Plan& plan)
      : plan_(plan),
        noise_(plan.seed, 1),
        log_(std::fopen(plan.log.c_str(), "we")),
        report_(std::getenv("TRAINYARD_REPORT")) {
    if (log_ == nullptr || report_ == nullptr) die(plan.log);
  }

  void begun() const { fmt::print(log_, "{:.6f}\n", now()); }

  void iteration(int done) {
    fmt::print(log_, "{:.6f}\n", now());
    if (done < due_ && done < plan_.iterations) return;
    due_ = done + plan_.iterations / 100.0;
    const double share = done / static_cast<double>(plan_.iterations);
    const double accuracy = plan_.limit - 1 / (plan_.a * share + plan_.b);
    const std::string text =
        fmt::format(R"({{"step": {}, "total": {}, "accuracy": {:.6f}}})", done, plan_.iterations,
                    accuracy * noise_.normal(1, plan_.noise));
    if (const auto ok = replace_file(report_, text, 0644); !ok) die(ok.error().message);
  }

  void ended() const { std::fclose(log_); }

 private:
  const Plan& plan_;
  Random noise_;
  std::FILE* log_;
  const char* report_;
  double due_ = 1;
};

void work(const Plan& plan, std::size_t rank) {
  const Ring ring = join(plan, rank);
  std::vector<char> bytes(std::max<std::size_t>(plan.chunk_bytes, 1));
  const std::size_t steps = 2 * (plan.addresses.size() - 1);
  for (std::size_t i = 0; i < steps; ++i) exchange(ring, bytes, 1);  // all are there
  Random random(plan.seed, 2 + rank);
  std::optional<Teller> teller;
  if (rank == 0) teller.emplace(plan);
  if (teller) teller->begun();
  double begin = now();
  for (int done = 1; done <= plan.iterations; ++done) {
    sleep_until(begin + plan.compute_s * (1 + plan.jitter * random.uniform(-1, 1)));
    for (std::size_t i = 0; i < steps; ++i) exchange(ring, bytes, plan.chunk_bytes);
    begin = now();
    if (teller) teller->iteration(done);
  }
  if (teller) teller->ended();
}

}  // namespace

int main(int argc, char** argv) {
  const char* rank = std::getenv("RANK");
  if (argc != 2 || rank == nullptr) return 2;
  const Plan plan = read_plan(argv[1]);
  const auto at = static_cast<std::size_t>(std::atoi(rank));
  enter(plan.namespaces.at(at));
  work(plan, at);
  return 0;
}
