// What an agent decides, apart from how the kernel is told (linux_flow_kernel.h) and how the daemon
// is heard (daemon_feed.h): one thread, no clock of its own, so that tests can try every order of
// events.
//
// It fails open. Packets of jobs are marked only while the daemon vouches for the state: when what
// was heard last is older than it says that it is valid, when the kernel refuses a change, or when
// this process ends, nothing is marked, all jobs are in the last class, and that is fair sharing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "live/flow_agent/flow_rules.h"
#include "live/flow_agent/host_flows.h"

namespace trainyard {

/// What the kernel does for an agent.
class FlowKernel {
 public:
  virtual ~FlowKernel() = default;

  /// The number of a control group; none if it is not there.
  [[nodiscard]] virtual std::optional<std::uint64_t> find_cgroup(const std::string& name) const = 0;
  /// Marks the packets of these jobs and of no others. After an error none are marked.
  virtual Expected<void> mark(const Marks& marks) = 0;
  /// What the last class keeps of the interface. After an error it is what it was.
  virtual Expected<void> keep_floor(double floor) = 0;
  /// True if what was marked last still is: the process that holds the marks lives.
  [[nodiscard]] virtual bool is_alive() = 0;
};

/// What tells the packets of this job from others here, in the first class: its control groups or
/// its user. Neither: they cannot be marked.
JobMark packets_of(const HostFlows::Job& job, const FlowKernel& kernel, const FlowHost& host);

class FlowAgent {
 public:
  enum class Level : std::uint8_t { info, warning };
  using Tell = std::function<void(Level, const std::string&)>;

  /// For this machine. `floor` is what its queue begins with.
  FlowAgent(FlowKernel& kernel, std::string machine, const FlowHost& host, double floor, Tell tell);

  /// A line of the daemon's. One that cannot be read changes nothing.
  void hear(std::string_view line, Time now);
  /// Has the kernel do what follows from what was heard, and from which control groups there are.
  void tick(Time now);
  /// When to tick again at the latest.
  [[nodiscard]] Time next_tick(Time now) const;

  [[nodiscard]] const Marks& marked() const { return marked_; }
  struct Status {
    std::optional<Time> heard;  // when the daemon last vouched for the state
    bool is_valid = false;      // it still does
    std::size_t jobs = 0, marked = 0;
    std::uint64_t class_changes = 0, failures = 0;
    std::string problem;  // what the kernel refused last, while it does
  };
  [[nodiscard]] Status status(Time now) const;

 private:
  [[nodiscard]] bool is_valid(Time now) const { return flows_ && now < valid_until_; }
  [[nodiscard]] Marks wanted(Time now) const;
  void change_marks(Marks next, Time now);
  void change_floor(Time now);
  void fail_until_later(const std::string& problem, Time now);
  [[nodiscard]] std::size_t class_here(std::size_t flow_class) const;

  FlowKernel& kernel_;
  const std::string machine_;
  const FlowHost host_;
  const Tell tell_;
  std::optional<HostFlows> flows_;
  Time heard_, valid_until_;
  bool was_valid_ = false;
  double floor_;
  Marks marked_;
  Time retry_;  // marks are not changed before
  Duration retry_after_;
  Time retry_floor_;
  std::uint64_t class_changes_ = 0, failures_ = 0;
  std::string problem_, floor_problem_, last_unread_;
};

}  // namespace trainyard
