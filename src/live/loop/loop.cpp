#include "live/loop/loop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>

#include "live/loop/report_order.h"

namespace trainyard {
namespace {

constexpr Duration kRetry = seconds(1);  // of a journal that could not be written
constexpr Duration kBetweenKeeping = minutes(5);
constexpr Duration kAfterEnds = seconds(5), kWhileUntidy = microseconds(100'000);

Refusal not_recorded(const Error& error) {
  return {
      Refusal::Kind::unavailable,
      fmt::format("nothing can be recorded now, so nothing new is accepted: {}", error.message)};
}

const Refusal kDiskFull{Refusal::Kind::unavailable,
                        "the disk of the daemon's state directory is full, so no new job is "
                        "accepted; jobs can be cancelled"};
const Refusal kEnding{Refusal::Kind::unavailable, "the daemon is ending"};

void add_seconds(double& sum, std::chrono::steady_clock::time_point since) {
  sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

}  // namespace

Loop::Loop(LiveState& state, Gate& gate, Runs& runs, Machines& machines, Births& births,
           OldRuns& old_runs, Retention& retention, EventFeed& feed)
    : state_(state),
      gate_(gate),
      runs_(runs),
      machines_(machines),
      births_(births),
      old_runs_(old_runs),
      retention_(retention),
      feed_(feed),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw std::runtime_error("no eventfd can be had");
}

Loop::~Loop() {
  {
    const std::lock_guard lock(asked_mutex_);
    ending_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  for (auto& waiting : commands_) waiting.done.set_value(tl::make_unexpected(kEnding));
  for (auto& waiting : questions_) waiting.done.set_value(tl::make_unexpected(kEnding));
  ::close(wake_);
}

void Loop::begin() {
  next_tidying_ = state_.now() + seconds(10);
  show();
  if (state_.system.has_threads()) thread_ = std::jthread([this] { run(); });
}

// --- What is asked for ---------------------------------------------------------------------------

void Loop::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

template <class What>
Answer<void> Loop::wait_for(std::vector<Waiting<What>>& queue, What what) {
  std::future<Answer<void>> done;
  {
    const std::lock_guard lock(asked_mutex_);
    if (ending_) return tl::make_unexpected(kEnding);
    queue.push_back({std::move(what), {}});
    done = queue.back().done.get_future();
  }
  wake();
  const auto is_done = [&] {
    return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  while (!state_.system.has_threads() && !is_done()) state_.system.await_turn();
  return done.get();
}

Answer<void> Loop::ask(Command command) {
  return wait_for(commands_, std::move(command));
}

Answer<void> Loop::look_up(std::function<void()> question) {
  return wait_for(questions_, std::move(question));
}

// --- A turn --------------------------------------------------------------------------------------

void Loop::run() {
  while (!ending_) {
    take_turn();
    wait_for_something();
  }
  keep_learnt();
  write_down();
}

void Loop::take_turn() {
  Commands commands;
  Questions questions;
  {
    const std::lock_guard lock(asked_mutex_);
    commands.swap(commands_);
    questions.swap(questions_);
  }
  turn(commands, questions);
}

void Loop::turn(Commands& commands, Questions& questions) {
  if (!state_.counters.accepting) write_down();
  look_at_clock();
  look_at_disk();
  if (state_.counters.accepting) state_.follow_flow_agents();
  std::vector<Answer<void>> answers(commands.size());
  for (const bool adds : {false, true}) take_in(commands, adds, answers);
  if (may_admit()) gate_.admit_some();
  hear_engine();
  runs_.settle_loads();
  runs_.end_those_out_of_time();
  if (may_decide()) decide();
  runs_.take_orders();
  if (state_.now() >= next_keeping_) keep_learnt();
  if (state_.counters.accepting) state_.take_promises();
  retention_.keep_time();
  const bool written = write_down();
  show();
  for (std::size_t i = 0; i < commands.size(); ++i) commands[i].done.set_value(answers[i]);
  for (auto& question : questions) {
    question.what();
    question.done.set_value({});
  }
  if (!written) return;
  act();
  if (!state_.happened.empty()) {  // what could not be started
    write_down();
    show();
  }
  state_.forget_ended_jobs();
  retention_.erase_old([this](const JournalChange& change) { return commit(change, false); });
  if (state_.now() >= next_tidying_ && commands.empty() && !state_.counters.disk_full) tidy();
}

bool Loop::may_decide() const {
  return state_.counters.accepting && !state_.counters.disk_full &&
         state_.decisions.is_now(state_.now());
}

bool Loop::may_admit() const {
  return state_.counters.accepting && !state_.counters.disk_full && gate_.has_to_admit();
}

/// Those that add jobs, or the others, in one transaction.
void Loop::take_in(Commands& commands, bool adds, std::vector<Answer<void>>& answers) {
  const auto is_of_these = [&](const auto& command) { return command.what.adds == adds; };
  if (std::ranges::none_of(commands, is_of_these)) return;
  // What a start has found, or the others have led to, goes first: events are told by number. So
  // do times that were moved: all of them are on disk, or none.
  const bool has_news = !state_.happened.empty() || !state_.settings.empty();
  if (state_.counters.accepting && has_news) write_down();
  JournalChange change;
  const std::int64_t sequence = state_.last_sequence;
  const JobNumber number = state_.last_number;
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!is_of_these(commands[i])) continue;
    answers[i] = adds && state_.counters.disk_full ? tl::make_unexpected(kDiskFull)
                                                   : commands[i].what.stage(change);
    if (answers[i]) taken.push_back(i);
  }
  if (taken.empty()) return;
  const Expected<void> done =
      state_.counters.accepting ? commit(change, adds) : Expected<void>(fail("{}", last_failure_));
  if (!done) {
    state_.last_sequence = sequence, state_.last_number = number;
    for (const std::size_t i : taken) answers[i] = tl::make_unexpected(not_recorded(done.error()));
    return;
  }
  std::ranges::move(change.events, std::back_inserter(told_));
  for (const std::size_t i : taken) commands[i].what.enter();
  state_.book.entered();
  for (const std::size_t i : taken) commands[i].what.take_effect();
}

/// What adds jobs has no right to the space that is kept for their end.
Expected<void> Loop::commit(const JournalChange& change, bool adds) {
  const auto begin = std::chrono::steady_clock::now();
  Expected<void> done = state_.journal.commit(change);
  while (!done && state_.reserve.give()) {
    if (!std::exchange(state_.counters.disk_full, true))
      state_.system.log().write(LogLevel::error,
                                "the disk of the state directory is full: new jobs are refused and "
                                "nothing is started until there is room; jobs can be cancelled");
    if (adds) break;
    done = state_.journal.commit(change);
  }
  add_seconds(state_.counters.commit_seconds, begin);
  if (done) ++state_.counters.journal_commits;
  if (!done && !(adds && state_.counters.disk_full)) note_journal_failure(done.error());
  return done;
}

void Loop::look_at_clock() {
  if (!state_.counters.accepting)
    return;  // what happened under the old time is to be written first
  const Duration moved = state_.follow_wall_clock();
  retention_.hear_clock(moved);
  if (next_tidying_ != Time::never()) next_tidying_ = next_tidying_ + moved;
  next_look_at_disk_ = next_look_at_disk_ + moved;
  if (next_keeping_ != Time::never()) next_keeping_ = next_keeping_ + moved;
}

/// Whether there is room again.
void Loop::look_at_disk() {
  if (state_.reserve.is_whole() || state_.now() < next_look_at_disk_) return;
  next_look_at_disk_ = state_.now() + kRetry;
  state_.reserve.refill();
  if (!state_.reserve.is_whole() || !std::exchange(state_.counters.disk_full, false)) return;
  state_.decisions.is_due = true;
  state_.system.log().write(LogLevel::info, "the disk of the state directory has room again");
}

void Loop::hear_engine() {
  for (const EngineReport& report : in_order(state_.engine.poll())) {
    if (const auto* run = std::get_if<RunReport>(&report)) runs_.hear(*run);
    if (const auto* machine = std::get_if<MachineReport>(&report)) machines_.hear(*machine);
    if (const auto* cluster = std::get_if<ClusterReport>(&report)) machines_.hear(*cluster);
    if (const auto* birth = std::get_if<BirthReport>(&report)) births_.hear(*birth);
  }
  machines_.settle();
  births_.settle();
  old_runs_.settle();
  runs_.try_again();
}

void Loop::decide() {
  state_.decisions.is_due = false;
  const auto begin = std::chrono::steady_clock::now();
  state_.decisions.policy_wake = state_.yard.decide(state_.now());
  add_seconds(state_.counters.decision_seconds, begin);
  ++state_.counters.decisions;
  next_keeping_ = std::min(next_keeping_, state_.now() + kBetweenKeeping);
  state_.counters.refused_plans = state_.yard.refused();
  state_.update_book();
}

/// As the journal is to have them, with all that was reported of them.
std::vector<JobRecord> Loop::newborn_records() const {
  std::vector<JobRecord> records;
  for (const auto& [number, payload] : state_.newborn)
    put_payload(records.emplace_back(state_.book.at(number)).spec, payload);
  return records;
}

/// A while after a decision, and at the end: a kill in between costs what was learnt since.
void Loop::keep_learnt() {
  next_keeping_ = Time::never();
  state_.keep_learnt();
}

/// True when all that happened and all that is intended is on disk.
bool Loop::write_down() {
  state_.unfold_changed();
  JournalChange change;
  std::vector<JobRecord> newborn = newborn_records();
  for (const JobRecord& job : newborn) change.submitted.push_back(&job);
  for (const JobNumber number : state_.book.changed())
    (state_.unfolding.contains(number) ? change.unfolded : change.changed)
        .push_back(&state_.book.at(number));
  change.whole = state_.folded.whole();
  change.events = state_.happened;
  change.settings = state_.settings;
  Counters& counters = state_.counters;
  if (!counters.accepting)  // also when there is nothing else to write: whether it can be
    change.settings.emplace_back("recovered", std::to_string(state_.now().us));
  if (change.empty()) return true;
  if (!commit(change, false)) return false;
  if (!std::exchange(counters.accepting, true))
    state_.system.log().write(LogLevel::info, "the journal can be written again");
  state_.unfolding.clear(), state_.folded.forget_whole();
  if (std::ranges::any_of(change.changed, [](const JobRecord* job) { return job->has_ended(); }))
    next_tidying_ = std::min(next_tidying_, state_.now() + kAfterEnds);
  state_.book.written();
  state_.newborn.clear(), state_.newborn_numbers.clear(), state_.settings.clear();
  std::ranges::move(std::exchange(state_.happened, {}), std::back_inserter(told_));
  return true;
}

/// It is tried again until it works; operators are told once.
void Loop::note_journal_failure(const Error& error) {
  ++state_.counters.journal_failures;
  last_failure_ = error.message;
  if (std::exchange(state_.counters.accepting, false))
    state_.system.log().write(
        LogLevel::error,
        fmt::format("the journal cannot be written, so nothing new is accepted: {}",
                    error.message));
}

void Loop::act() {
  for (const auto& next : std::exchange(state_.acts, {})) next();
}

/// A little at a time, while nobody asks for anything.
void Loop::tidy() {
  const auto more = state_.journal.tidy();
  next_tidying_ = more && *more ? state_.now() + kWhileUntidy : Time::never();
}

Time Loop::next_deadline() const {
  if (!state_.counters.accepting) return state_.now() + kRetry;
  if (may_admit()) return state_.now();
  Time next = std::min({retention_.next(), next_keeping_, runs_.next_load()});
  if (!state_.counters.disk_full) next = std::min(next, next_tidying_);
  if (!state_.counters.disk_full) next = std::min(next, state_.decisions.next());
  for (const JobNumber number : state_.book.holding())
    next = std::min(next, runs_.limit_of(state_.book.at(number)));
  for (const auto& [number, until] : state_.resting) next = std::min(next, until);
  if (!state_.reserve.is_whole()) next = std::min(next, next_look_at_disk_);
  const Time steady = state_.system.steady_clock();
  if (const Time ends = state_.flow_agents.ends(steady); ends != Time::never())
    next = std::min(next, state_.now() + (ends - steady));
  return next;
}

void Loop::wait_for_something() {
  const Time now = state_.now();
  const Duration patience =
      std::min(feed_.wake(state_.system.steady_clock()), next_deadline() - now);
  pollfd waits[] = {{wake_, POLLIN, 0}, {state_.engine.descriptor(), POLLIN, 0}};
  const std::int64_t ms = std::clamp<std::int64_t>((patience.us + 999) / 1000, 0, 3'600'000);
  (void)::poll(waits, 2, static_cast<int>(ms));
  std::uint64_t count = 0;
  (void)!::read(wake_, &count, sizeof count);
}

// --- What is shown -------------------------------------------------------------------------------

/// While something is not on disk, jobs and machines stay as they were last shown.
void Loop::show() {
  const auto last = shown_.get();
  auto next = std::make_shared<Snapshot>(*last);
  next->jobs = state_.book.on_disk();
  if (state_.counters.accepting) {
    next->running = state_.book.holding().size();
    if (!state_.touched.empty()) {
      auto machines = std::make_shared<Snapshot::Machines>(*last->machines);
      machines->resize(state_.cluster->machines.size());
      for (const MachineId machine : std::exchange(state_.touched, {}))
        (*machines)[index(machine)] = std::make_shared<MachineView>(machines_.view(machine));
      next->machines = std::move(machines);
      next->cluster = state_.cluster;
    }
    if (*last->flow_terms != state_.yard.flow_terms())
      next->flow_terms = std::make_shared<FlowTerms>(state_.yard.flow_terms());
    if (*last->policy != state_.policy) next->policy = std::make_shared<PolicyView>(state_.policy);
  }
  state_.counters.in_memory = state_.yard.yard().jobs();
  next->kept = state_.kept;
  next->at = state_.now(), next->at_steady = state_.system.steady_clock();
  next->counters = state_.counters;
  shown_.set(std::move(next));
  feed_.publish(std::exchange(told_, {}));
}

}  // namespace trainyard
