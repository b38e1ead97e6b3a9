#include "live/flow_agent/flow_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trainyard {
namespace {

/// Control groups come and go, and nothing tells of it.
constexpr Duration kLookForGroups = microseconds(250'000);
constexpr Duration kRetry = seconds(1), kRetryAtMost = seconds(30);

}  // namespace

/// Root is never marked: ssh, file systems and the agent itself may be root's.
JobMark packets_of(const HostFlows::Job& job, const FlowKernel& kernel, const FlowHost& host) {
  JobMark mark;
  for (const std::string& name : job.cgroups)
    if (const auto number = kernel.find_cgroup(name)) mark.cgroups.push_back({name, *number});
  if (host.marks_users && mark.cgroups.empty() && job.user.value_or(0) != 0) mark.user = job.user;
  return mark;
}

FlowAgent::FlowAgent(FlowKernel& kernel, std::string machine, const FlowHost& host, double floor,
                     Tell tell)
    : kernel_(kernel),
      machine_(std::move(machine)),
      host_(host),
      tell_(std::move(tell)),
      floor_(floor) {}

void FlowAgent::hear(std::string_view line, Time now) {
  auto flows = parse_host_flows(line);
  if (flows && flows->machine != machine_)
    flows = fail("is about machine '{}', and this is '{}'", flows->machine, machine_);
  if (!flows) {
    if (std::exchange(last_unread_, flows.error().message) != flows.error().message)
      tell_(Level::warning, "the daemon's state cannot be used: " + flows.error().message);
    return;
  }
  last_unread_.clear();
  heard_ = now - flows->age;
  valid_until_ = heard_ + flows->valid_for;
  flows_ = *std::move(flows);
}

/// The last class of the policy is the last one here, however many either has.
std::size_t FlowAgent::class_here(std::size_t flow_class) const {
  return flow_class + 1 == flows_->classes ? host_.classes() - 1
                                           : std::min(flow_class, host_.classes() - 1);
}

Marks FlowAgent::wanted(Time now) const {
  Marks marks;
  if (!is_valid(now)) return marks;
  for (const HostFlows::Job& job : flows_->jobs) {
    JobMark mark = packets_of(job, kernel_, host_);
    mark.flow_class = class_here(job.flow_class);
    if (mark.is_told()) marks.emplace(fmt::format("{}_{}", job.job, job.run), std::move(mark));
  }
  return marks;
}

void FlowAgent::tick(Time now) {
  if (const bool valid = is_valid(now); std::exchange(was_valid_, valid) != valid)
    tell_(valid ? Level::info : Level::warning,
          valid ? "the daemon vouches for the state: jobs are marked by their classes"
                : "the daemon has vouched for nothing of late: no job is marked, all share alike");
  if (!kernel_.is_alive() && !marked_.empty()) {
    marked_.clear();
    fail_until_later("no job is marked: the process that held the marks has ended", now);
  }
  if (now >= retry_)
    if (Marks next = wanted(now); next != marked_) change_marks(std::move(next), now);
  if (now >= retry_floor_ && is_valid(now) && flows_->floor != floor_) change_floor(now);
}

void FlowAgent::change_marks(Marks next, Time now) {
  if (const auto done = kernel_.mark(next); !done) {
    marked_.clear();
    return fail_until_later("no job is marked: " + done.error().message, now);
  }
  for (const auto& [name, mark] : next) {
    const auto was = marked_.find(name);
    if (was != marked_.end() && was->second.flow_class != mark.flow_class) ++class_changes_;
  }
  marked_ = std::move(next);
  if (!problem_.empty()) tell_(Level::info, "the kernel takes changes again");
  problem_.clear();
  retry_after_ = {};
}

void FlowAgent::change_floor(Time now) {
  const auto done = kernel_.keep_floor(flows_->floor);
  const std::string problem = done ? "" : "the queue keeps its floor: " + done.error().message;
  if (std::exchange(floor_problem_, problem) != problem && !problem.empty())
    tell_(Level::warning, problem);
  if (done) {
    floor_ = flows_->floor;
  } else {
    ++failures_;
    retry_floor_ = now + kRetryAtMost;
  }
}

void FlowAgent::fail_until_later(const std::string& problem, Time now) {
  ++failures_;
  if (std::exchange(problem_, problem) != problem) tell_(Level::warning, problem);
  retry_after_ = std::clamp(retry_after_ * 2, kRetry, kRetryAtMost);
  retry_ = now + retry_after_;
}

Time FlowAgent::next_tick(Time now) const {
  if (now < retry_) return retry_;
  return flows_ && is_valid(now) ? std::min(now + kLookForGroups, valid_until_)
                                 : now + kLookForGroups;
}

FlowAgent::Status FlowAgent::status(Time now) const {
  return {.heard = flows_ ? std::optional(heard_) : std::nullopt,
          .is_valid = is_valid(now),
          .jobs = flows_ ? flows_->jobs.size() : 0,
          .marked = marked_.size(),
          .class_changes = class_changes_,
          .failures = failures_,
          .problem = problem_.empty() ? floor_problem_ : problem_};
}

}  // namespace trainyard
