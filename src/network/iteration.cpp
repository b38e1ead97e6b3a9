// The iteration model: every iteration of every job is played (shared_network.h).
//
// An iteration in steps: quiet computing and most of the latency; the first part of the bytes, as
// the gradients become ready; the wait for the end of computing; the rest of the bytes; the rest of
// the latency. Where computing is over when it begins to send, all bytes are one part.
//
// With `steps`, the last half of a transfer's last step goes before other transfers of its class.
// That is the mean of what real queues do: the packets of a step queue together, first come, first
// served, so a transfer ends between none and all of a step sooner than by its fair share.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "base/grow.h"
#include "base/random.h"
#include "network/fair_share.h"
#include "network/shared_network.h"
#include "perf/speed.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kStream = 301;
constexpr double kNever = std::numeric_limits<double>::infinity();

class IterationNetwork final : public SharedNetwork {
 public:
  IterationNetwork(const Links& links, const NetworkOptions& options, const FlowRules& rules,
                   std::uint64_t seed)
      : links_(links),
        options_(options),
        rules_(rules),
        seed_(seed),
        share_(links.capacities(), {.floor = rules.floor, .loss = options.loss}),
        senders_(links.capacities().size()) {}

  void join(Time now, Arrival arrival) override;
  void leave(Time now, JobId job) override;
  void set_class(Time now, JobId job, FlowClass flow) override;
  Time run_until(Time limit) override;
  void take(std::vector<Pace>& paces) override {
    paces.insert(paces.end(), paces_.begin(), paces_.end());
    paces_.clear();
  }
  [[nodiscard]] std::vector<LinkLoad> loads() const override { return loads_of(links_, share_); }
  [[nodiscard]] const Links& links() const override { return links_; }

 private:
  enum class Step : std::uint8_t { absent, quiet, waiting, first, held, rest, closing };

  struct Runner {
    Arrival arrival;
    Random random{0};
    Step step = Step::absent;
    Step after_wait = Step::absent;  // what it sends when the network lets it
    std::uint32_t version = 0;       // of its next event: earlier ones are void
    double part = 1;                 // of an iteration: the last one may be a part only
    double compute_end = 0;
    double left = 0, done = 0;  // iterations
    double next_report = 0;
    double reported_at = 0, reported = 0;  // when it was last heard of, with how many done
    // While it sends:
    FlowId flow{};
    double bytes = 0, rate = 0, since = 0;
    bool is_ending = false;  // in the last half of its last step
  };

  struct Happening {
    double at = 0;
    std::uint64_t sequence = 0;
    JobId job = kNoJob;
    std::uint32_t version = 0;

    friend bool operator>(const Happening& a, const Happening& b) {
      return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
  };

  Runner& runner(JobId job) { return runners_[index(job)]; }
  [[nodiscard]] FlowClass class_of(const Runner& runner) const;
  [[nodiscard]] double last_half_step(const Runner& runner) const;
  void expect_sent(JobId job);
  void begin_to_end(JobId job);
  void expect(JobId job, double at);
  void advance(double until, bool stops_at_reports);
  void happen(JobId job);
  void begin_iteration(JobId job);
  void end_iteration(JobId job);
  void ask_to_send(JobId job, Step step, double bytes);
  [[nodiscard]] bool may_send(const Runner& asking) const;
  void send(JobId job, Step step);
  void part_is_sent(JobId job);
  void stop_sending(JobId job);
  void admit_waiting();
  void settle();

  const Links& links_;
  NetworkOptions options_;
  FlowRules rules_;
  std::uint64_t seed_;
  FairShare share_;
  double now_ = 0;                           // s
  std::vector<Runner> runners_;              // by job
  std::vector<JobId> job_of_;                // by flow
  std::vector<std::vector<JobId>> senders_;  // by link, where their number is limited
  std::vector<JobId> waiting_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> ahead_;
  std::uint64_t sequence_ = 0;
  std::vector<Pace> paces_;
};

void IterationNetwork::expect(JobId job, double at) {
  ++runner(job).version;
  if (at < kNever) ahead_.push({at, sequence_++, job, runner(job).version});
}

void IterationNetwork::join(Time now, Arrival arrival) {
  advance((now - Time{}).seconds(), false);
  arrival.work.flow.links = ways_up(arrival.work.flow);
  const JobId job = arrival.job;
  grow_to(runners_, index(job), 0);
  Runner& runner = this->runner(job);
  const std::uint32_t version = runner.version;
  runner = {.arrival = std::move(arrival), .random = Random(seed_, kStream + index(job))};
  runner.version = version;
  runner.left = runner.arrival.iterations;
  runner.next_report = runner.arrival.first_report;
  runner.reported_at = now_;
  begin_iteration(job);
  settle();
}

void IterationNetwork::leave(Time now, JobId job) {
  advance((now - Time{}).seconds(), false);
  Runner& runner = this->runner(job);
  if (runner.step == Step::absent) return;  // it was over just before
  if (runner.step == Step::waiting) std::erase(waiting_, job);
  if (runner.step == Step::first || runner.step == Step::rest) stop_sending(job);
  runner.step = Step::absent;
  ++runner.version;
  std::erase_if(paces_, [&](const Pace& pace) { return pace.job == job; });
  settle();
}

void IterationNetwork::set_class(Time now, JobId job, FlowClass flow) {
  advance((now - Time{}).seconds(), false);
  Runner& runner = this->runner(job);
  runner.arrival.flow = flow;
  if (rules_.at_most > 0) return;
  if (runner.step == Step::first || runner.step == Step::rest)
    share_.set_class(runner.flow, class_of(runner));
  settle();
}

Time IterationNetwork::run_until(Time limit) {
  if (limit == Time::never() && ahead_.empty()) return limit;
  advance(limit == Time::never() ? kNever : (limit - Time{}).seconds(), true);
  if (paces_.empty()) return limit;
  return std::min(limit, Time{static_cast<std::int64_t>(std::ceil(now_ * 1e6))});
}

void IterationNetwork::advance(double until, bool stops_at_reports) {
  while (!ahead_.empty() && ahead_.top().at <= until) {
    if (stops_at_reports && !paces_.empty()) return;
    now_ = ahead_.top().at;
    for (; !ahead_.empty() && ahead_.top().at <= now_;) {
      const Happening next = ahead_.top();
      ahead_.pop();
      if (next.version == runner(next.job).version) happen(next.job);
    }
    settle();
  }
  if (until < kNever && (!stops_at_reports || paces_.empty())) now_ = std::max(now_, until);
}

void IterationNetwork::happen(JobId job) {
  const Runner& runner = this->runner(job);
  const double bytes = runner.arrival.work.flow.bytes * runner.part;
  switch (runner.step) {
    case Step::quiet: {
      const bool has_computed = runner.compute_end <= now_;
      ask_to_send(job, has_computed ? Step::rest : Step::first,
                  has_computed ? bytes : bytes * (1 - kNeverHidden));
      break;
    }
    case Step::first:
    case Step::rest:
      last_half_step(runner) > 0 && !runner.is_ending ? begin_to_end(job) : part_is_sent(job);
      break;
    case Step::held:
      ask_to_send(job, Step::rest, bytes * kNeverHidden);
      break;
    case Step::closing:
      end_iteration(job);
      break;
    case Step::absent:
    case Step::waiting:
      break;
  }
}

void IterationNetwork::begin_iteration(JobId job) {
  Runner& runner = this->runner(job);
  const IterationWork& work = runner.arrival.work;
  runner.part = std::min(1.0, runner.left);
  double compute_s = work.compute_s * runner.part;
  if (options_.jitter > 0)
    compute_s *= runner.random.truncated_normal(1, options_.jitter, 0.1, 1.9);
  runner.compute_end = now_ + compute_s;
  runner.step = Step::quiet;
  expect(job, now_ + (1 - work.overlap) * compute_s +
                  (1 - kNeverHidden) * work.flow.fixed_s * runner.part);
}

void IterationNetwork::end_iteration(JobId job) {
  constexpr double kLittle = 1e-9;  // of an iteration
  Runner& runner = this->runner(job);
  runner.done += runner.part;
  runner.left -= runner.part;
  const bool is_over = runner.left <= kLittle;
  if (is_over || runner.done + kLittle >= runner.next_report) {
    const double pace = (now_ - runner.reported_at) / (runner.done - runner.reported);
    paces_.push_back({job, pace, runner.done, is_over});
    runner.reported_at = now_;
    runner.reported = runner.done;
    while (runner.next_report <= runner.done + kLittle)
      runner.next_report += std::max(runner.arrival.report_every, kLittle);
  }
  if (!is_over) return begin_iteration(job);
  runner.step = Step::absent;
  ++runner.version;
}

void IterationNetwork::ask_to_send(JobId job, Step step, double bytes) {
  Runner& runner = this->runner(job);
  runner.bytes = bytes;
  runner.after_wait = step;
  if (may_send(runner)) return send(job, step);
  runner.step = Step::waiting;
  ++runner.version;
  waiting_.push_back(job);
}

bool IterationNetwork::may_send(const Runner& asking) const {
  if (rules_.at_most == 0) return true;
  for (const LinkUse& use : asking.arrival.work.flow.links) {
    const std::vector<JobId>& there = senders_[index(use.link)];
    if (there.size() >= static_cast<std::size_t>(rules_.at_most)) return false;
    if (!rules_.by_size) continue;
    for (const JobId other : there) {
      const Runner& its = runners_[index(other)];
      const double left = its.bytes - its.rate * (now_ - its.since);
      if (asking.bytes >= left / (2 * (1 + options_.loss))) return false;
    }
  }
  return true;
}

void IterationNetwork::send(JobId job, Step step) {
  Runner& runner = this->runner(job);
  const Flow& flow = runner.arrival.work.flow;
  const bool is_limited = rules_.at_most > 0;
  runner.step = step;
  runner.rate = 0;
  runner.since = now_;
  runner.is_ending = false;
  runner.flow = share_.add(flow.links, flow.most, is_limited ? kFirstFlow : class_of(runner));
  grow_to(job_of_, index(runner.flow), 0);
  job_of_[index(runner.flow)] = job;
  ++runner.version;  // settle says when it will have been sent
  if (is_limited)
    for (const LinkUse& use : flow.links) senders_[index(use.link)].push_back(job);
}

/// Where computing has ended meanwhile the rest goes right behind it.
void IterationNetwork::part_is_sent(JobId job) {
  Runner& runner = this->runner(job);
  const IterationWork& work = runner.arrival.work;
  if (runner.step == Step::first && runner.compute_end <= now_) {
    runner.step = Step::rest;
    runner.bytes = work.flow.bytes * runner.part * kNeverHidden;
    runner.since = now_;
    return expect(job, now_ + runner.bytes / runner.rate);
  }
  stop_sending(job);
  const bool is_first = runner.step == Step::first;
  runner.step = is_first ? Step::held : Step::closing;
  if (is_first) return expect(job, runner.compute_end);
  if (work.flow.fixed_s > 0)
    return expect(job, now_ + kNeverHidden * work.flow.fixed_s * runner.part);
  end_iteration(job);
}

void IterationNetwork::stop_sending(JobId job) {
  Runner& runner = this->runner(job);
  share_.remove(runner.flow);
  if (rules_.at_most == 0) return;
  for (const LinkUse& use : runner.arrival.work.flow.links) {
    std::vector<JobId>& there = senders_[index(use.link)];
    there.erase(std::ranges::find(there, job));
  }
  admit_waiting();
}

/// In the order of their classes; who is behind may pass who has to go on waiting.
void IterationNetwork::admit_waiting() {
  std::ranges::sort(waiting_, {},
                    [&](JobId job) { return std::pair(runner(job).arrival.flow, job); });
  std::erase_if(waiting_, [&](JobId job) {
    if (!may_send(runner(job))) return false;
    send(job, runner(job).after_wait);
    return true;
  });
}

void IterationNetwork::settle() {
  for (const FlowId flow : share_.settle()) {
    const JobId job = job_of_[index(flow)];
    Runner& runner = this->runner(job);
    runner.bytes = std::max(0.0, runner.bytes - runner.rate * (now_ - runner.since));
    runner.since = now_;
    runner.rate = share_.rate(flow);
    expect_sent(job);
  }
}

/// Two for each, where a step that was begun goes before those that come later. Classes from 127 on
/// are one then.
FlowClass IterationNetwork::class_of(const Runner& runner) const {
  if (options_.steps == 0) return runner.arrival.flow;
  const int twice = 2 * static_cast<int>(runner.arrival.flow) + (runner.is_ending ? 0 : 1);
  return FlowClass{static_cast<std::uint8_t>(std::min(twice, 255))};
}

/// In bytes; 0 where steps are not told apart.
double IterationNetwork::last_half_step(const Runner& runner) const {
  if (options_.steps == 0 || rules_.at_most > 0) return 0;
  return runner.arrival.work.flow.bytes * runner.part / (2 * options_.steps);
}

/// When all of it is sent at this rate, or all but what goes before others'.
void IterationNetwork::expect_sent(JobId job) {
  const Runner& runner = this->runner(job);
  const double until = runner.is_ending ? 0 : std::min(last_half_step(runner), runner.bytes);
  expect(job, runner.rate > 0 ? now_ + (runner.bytes - until) / runner.rate : kNever);
}

void IterationNetwork::begin_to_end(JobId job) {
  Runner& runner = this->runner(job);
  runner.bytes = std::max(0.0, runner.bytes - runner.rate * (now_ - runner.since));
  runner.since = now_;
  runner.is_ending = true;
  share_.set_class(runner.flow, class_of(runner));
  expect_sent(job);  // settle says it anew if its rate is another now
}

}  // namespace

std::unique_ptr<SharedNetwork> make_iteration_network(const Links& links,
                                                      const NetworkOptions& options,
                                                      const FlowRules& rules, std::uint64_t seed) {
  return std::make_unique<IterationNetwork>(links, options, rules, seed);
}

}  // namespace trainyard
