// The loop: what is asked for, what happens, what is decided, what is written down, what is done.
#include "live/loop/yardmaster.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "live/service/event_log.h"

namespace trainyard {
namespace {

constexpr Duration kRetry = seconds(1);         // of a journal that could not be written
constexpr Duration kBetweenNotices = {50'000};  // to those who wait for events
constexpr std::size_t kRecentEvents = 10'000;

Refusal unavailable(const Error& error) {
  return {
      Refusal::Kind::unavailable,
      fmt::format("nothing can be recorded now, so nothing new is accepted: {}", error.message)};
}

void add_seconds(double& sum, std::chrono::steady_clock::time_point since) {
  sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

Yardmaster::Yardmaster(System& system, Journal& journal, Engine& engine, YardmasterOptions options)
    : system_(system),
      journal_(journal),
      engine_(engine),
      options_(std::move(options)),
      wall_at_start_(std::max(system.wall_clock(), journal.last_time())),
      steady_at_start_(system.steady_clock()),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      yard_(engine.cluster()) {
  if (wake_ < 0) throw std::runtime_error("no eventfd can be had");
}

Expected<std::unique_ptr<Yardmaster>> Yardmaster::start(System& system, Journal& journal,
                                                        Engine& engine, YardmasterOptions options) {
  std::unique_ptr<Yardmaster> master(new Yardmaster(system, journal, engine, std::move(options)));
  if (auto ok = master->recover(); !ok) return tl::make_unexpected(ok.error());
  master->loop_ = std::jthread([raw = master.get()] { raw->run(); });
  return master;
}

Yardmaster::~Yardmaster() {
  {
    const std::lock_guard lock(asked_mutex_);
    ending_ = true;
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
  {
    const std::lock_guard lock(events_mutex_);
    events_come_.notify_all();
  }
  if (loop_.joinable()) loop_.join();
  const std::lock_guard lock(asked_mutex_);
  for (Command& command : asked_)
    command.done.set_value(
        tl::make_unexpected(Refusal{Refusal::Kind::unavailable, "the daemon is ending"}));
  ::close(wake_);
}

/// The wall clock as it was at the start, and what has passed since: setting it does not matter.
Time Yardmaster::now() const {
  return wall_at_start_ + (system_.steady_clock() - steady_at_start_);
}

Answer<void> Yardmaster::ask(Command command) {
  std::future<Answer<void>> done = command.done.get_future();
  {
    const std::lock_guard lock(asked_mutex_);
    if (ending_)
      return tl::make_unexpected(Refusal{Refusal::Kind::unavailable, "the daemon is ending"});
    asked_.push_back(std::move(command));
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
  return done.get();
}

void Yardmaster::run() {
  while (!ending_) {
    std::vector<Command> commands;
    {
      const std::lock_guard lock(asked_mutex_);
      commands.swap(asked_);
    }
    {
      const std::lock_guard lock(state_mutex_);
      turn(commands);
    }
    wait_for_something();
  }
}

void Yardmaster::turn(std::vector<Command>& commands) {
  if (!counters_.accepting) write_down();
  std::vector<Answer<void>> answers = take_in(commands);
  for (const RunReport& report : engine_.poll()) hear(report);
  end_those_out_of_time();
  if (counters_.accepting && (decide_ || now() >= policy_wake_) && now() >= no_decision_before_)
    decide();
  take_orders();
  const bool written = write_down();
  for (std::size_t i = 0; i < commands.size(); ++i) commands[i].done.set_value(answers[i]);
  if (!written) return;
  act();
  if (!happened_.empty()) write_down();  // what could not be started
  if (now() >= next_compaction_) compact();
}

std::vector<Answer<void>> Yardmaster::take_in(std::vector<Command>& commands) {
  std::vector<Answer<void>> answers;
  if (commands.empty()) return answers;
  JournalChange change;
  const std::int64_t sequence = last_sequence_;
  const JobNumber number = last_number_;
  for (Command& command : commands) answers.push_back(command.stage(change));
  const auto begin = std::chrono::steady_clock::now();
  const Expected<void> done =
      counters_.accepting ? journal_.commit(change) : Expected<void>(fail("{}", last_failure_));
  add_seconds(counters_.commit_seconds, begin);
  if (!done) {
    last_sequence_ = sequence, last_number_ = number;
    for (Answer<void>& answer : answers)
      if (answer) answer = tl::make_unexpected(unavailable(done.error()));
    note_journal_failure(done.error());
    return answers;
  }
  ++counters_.journal_commits;
  publish(std::move(change.events));
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (answers[i]) commands[i].take_effect();
  return answers;
}

void Yardmaster::decide() {
  decide_ = false;
  const auto begin = std::chrono::steady_clock::now();
  policy_wake_ = yard_.decide(now());
  add_seconds(counters_.decision_seconds, begin);
  ++counters_.decisions;
  counters_.refused_plans = yard_.refused();
  update_records();
}

/// The policy's, and the yard's own: who gets the room that was made for it starts without asking.
void Yardmaster::take_orders() {
  for (const LiveYard::Order& order : yard_.take_orders()) carry_out(order);
}

/// Has the records of jobs agree with the yard.
void Yardmaster::update_records() {
  yard_.take_changed([&](JobNumber number, const SavedJob& life) {
    JobRecord& job = jobs_.at(number);
    job.life = life;
    changed_.insert(number);
    if (holds_gpus(job.phase())) {
      holding_.insert(number);
    } else {
      holding_.erase(number);
    }
  });
}

/// True when all that happened and all that is intended is on disk.
bool Yardmaster::write_down() {
  JournalChange change;
  for (const JobNumber number : changed_) change.changed.push_back(&jobs_.at(number));
  change.events = happened_;
  if (!counters_.accepting)  // also when there is nothing else to write: whether it can be
    change.settings.emplace_back("recovered", std::to_string(now().us));
  if (change.empty()) return true;
  const auto begin = std::chrono::steady_clock::now();
  const Expected<void> done = journal_.commit(change);
  add_seconds(counters_.commit_seconds, begin);
  if (!done) {
    note_journal_failure(done.error());
    return false;
  }
  if (!std::exchange(counters_.accepting, true))
    system_.log().write(LogLevel::info, "the journal can be written again");
  ++counters_.journal_commits;
  changed_.clear();
  publish(std::exchange(happened_, {}));
  for (const JobNumber number : std::exchange(over_, {})) {
    const auto job = jobs_.find(number);
    --unfinished_of_[job->second.owner.uid];
    jobs_.erase(job);
  }
  return true;
}

/// It is tried again until it works; operators are told once.
void Yardmaster::note_journal_failure(const Error& error) {
  ++counters_.journal_failures;
  last_failure_ = error.message;
  if (std::exchange(counters_.accepting, false))
    system_.log().write(LogLevel::error,
                        fmt::format("the journal cannot be written, so nothing new is accepted: {}",
                                    error.message));
}

void Yardmaster::act() {
  for (const Act& next : std::exchange(acts_, {})) next();
}

Time Yardmaster::next_deadline() const {
  if (!counters_.accepting) return now() + kRetry;
  Time next = std::max(policy_wake_, no_decision_before_);
  if (decide_) next = std::min(next, no_decision_before_);
  next = std::min(next, next_compaction_);
  for (const JobNumber number : holding_) next = std::min(next, limit_of(jobs_.at(number)));
  return next;
}

void Yardmaster::wait_for_something() {
  Duration patience = hours(1);
  {
    const std::lock_guard lock(state_mutex_);
    patience = std::min(patience, next_deadline() - now());
  }
  {
    const std::lock_guard lock(events_mutex_);
    if (notice_due_ && now() - last_notice_ >= kBetweenNotices) {
      notice_due_ = false;
      last_notice_ = now();
      events_come_.notify_all();
    }
    if (notice_due_) patience = std::min(patience, kBetweenNotices);
  }
  pollfd waits[] = {{wake_, POLLIN, 0}, {engine_.descriptor(), POLLIN, 0}};
  const std::int64_t ms = std::clamp<std::int64_t>((patience.us + 999) / 1000, 0, 3'600'000);
  (void)::poll(waits, 2, static_cast<int>(ms));
  std::uint64_t count = 0;
  (void)!::read(wake_, &count, sizeof count);
}

// --- Events --------------------------------------------------------------------------------------

void Yardmaster::publish(std::vector<LiveEvent> events) {
  if (events.empty()) return;
  for (const LiveEvent& event : events) log_event(system_.log(), event);
  const std::lock_guard lock(events_mutex_);
  for (LiveEvent& event : events) {
    published_ = event.sequence;
    recent_.push_back(std::move(event));
  }
  while (recent_.size() > kRecentEvents) recent_.pop_front();
  notice_due_ = true;
}

std::int64_t Yardmaster::last_event() const {
  const std::lock_guard lock(events_mutex_);
  return published_;
}

Service::EventPage Yardmaster::events(const Identity& who, std::int64_t after, Duration patience) {
  constexpr std::size_t kAtOnce = 256;
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(patience.us);
  std::vector<LiveEvent> found;
  const auto take = [&](const LiveEvent& event) {
    after = event.sequence;
    const bool is_others = who.role != Role::operator_ && event.job != 0 && event.user != who.user;
    if (!is_others) found.push_back(event);
    if (is_others && !options_.private_jobs) found.push_back(public_part(event));
  };
  std::unique_lock lock(events_mutex_);
  while (found.empty() && !ending_) {
    if (published_ <= after) {
      if (events_come_.wait_until(lock, until) == std::cv_status::timeout) break;
      continue;
    }
    if (!recent_.empty() && recent_.front().sequence <= after + 1) {
      const auto skip = static_cast<std::size_t>(after + 1 - recent_.front().sequence);
      for (std::size_t i = skip; i < recent_.size() && found.size() < kAtOnce; ++i)
        take(recent_[i]);
      continue;
    }
    lock.unlock();
    const auto older = journal_.events(after, kAtOnce);
    lock.lock();
    if (!older || older->empty()) break;
    for (const LiveEvent& event : *older) take(event);
  }
  return {std::move(found), after};
}

}  // namespace trainyard
