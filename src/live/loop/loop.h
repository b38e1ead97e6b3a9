// The scheduler's thread. A turn of it, each step only after the one before:
//  1. What callers asked for is checked, and written down in one transaction.
//  2. It takes effect in the yard, as does what the engine reports; the policy decides.
//  3. What that changed is written down in a second one: facts, and what is intended.
//  4. The new state is shown (snapshot.h), streams get their events, and callers their answers.
//  5. The engine acts on what was intended.
// So nothing is acknowledged or begun that is not on disk, many callers share a transaction, and
// who has been answered sees what they did.
//
// When the disk is full, what ends jobs is written into space that was kept for it
// (system/disk_reserve.h); new jobs are refused, and nothing is started, until there is room.
//
// If (1) cannot be written, these callers are refused, and nothing has changed. If (3) cannot, the
// loop stays there: what was decided is not done, new work is refused, what runs goes on, and the
// same is tried again every second.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "live/loop/births.h"
#include "live/loop/event_feed.h"
#include "live/loop/live_state.h"
#include "live/loop/machines.h"
#include "live/loop/old_runs.h"
#include "live/loop/retention.h"
#include "live/loop/runs.h"
#include "live/loop/snapshot.h"

namespace trainyard {

/// Something that a caller asks to be changed.
struct Command {
  bool adds = false;  // new jobs, which have to wait when the disk is full
  /// Checks it, and says what is to be written down; or refuses.
  std::function<Answer<void>(JournalChange&)> stage;
  /// It is written down: the records are entered into the book as they were.
  std::function<void()> enter;
  /// All that was asked for in this turn is entered.
  std::function<void()> take_effect;
};

class Loop {
 public:
  Loop(LiveState& state, Gate& gate, Runs& runs, Machines& machines, Births& births,
       OldRuns& old_runs, Retention& retention, EventFeed& feed);
  /// Ends the thread; what was asked for and not taken in is refused.
  ~Loop();

  /// Shows what there is, and begins.
  void begin();
  /// Where the system has no threads: one turn, and when the next is due at the latest.
  void take_turn();
  [[nodiscard]] Time next_deadline() const;

  // --- From any other thread ---------------------------------------------------------------------
  /// Returns when the command has taken effect and that is shown, or when it was refused.
  Answer<void> ask(Command command);
  /// Has the scheduler's thread look something up that no snapshot has, after its next turn.
  Answer<void> look_up(std::function<void()> question);
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const { return shown_.get(); }

 private:
  template <class What>
  struct Waiting {
    What what;
    std::promise<Answer<void>> done;
  };
  using Commands = std::vector<Waiting<Command>>;
  using Questions = std::vector<Waiting<std::function<void()>>>;

  template <class What>
  Answer<void> wait_for(std::vector<Waiting<What>>& queue, What what);
  void wake() const;
  void run();
  void turn(Commands& commands, Questions& questions);
  void take_in(Commands& commands, bool adds, std::vector<Answer<void>>& answers);
  Expected<void> commit(const JournalChange& change, bool adds);
  void look_at_clock();
  void look_at_disk();
  void hear_engine();
  [[nodiscard]] bool may_decide() const;
  [[nodiscard]] bool may_admit() const;
  void decide();
  [[nodiscard]] std::vector<JobRecord> newborn_records() const;
  void keep_learnt();
  bool write_down();
  void note_journal_failure(const Error& error);
  void show();
  void act();
  void tidy();
  void wait_for_something();

  LiveState& state_;
  Gate& gate_;
  Runs& runs_;
  Machines& machines_;
  Births& births_;
  OldRuns& old_runs_;
  Retention& retention_;
  EventFeed& feed_;

  std::mutex asked_mutex_;
  Commands commands_;
  Questions questions_;
  int wake_ = -1;  // an eventfd
  std::atomic<bool> ending_ = false;

  Time next_tidying_, next_look_at_disk_;
  Time next_keeping_ = Time::never();  // of what the policy has learnt, since it last decided
  std::string last_failure_;           // of writing down, while it fails
  std::vector<LiveEvent> told_;        // on disk, and published when what they changed is shown
  LastSnapshot shown_;
  std::jthread thread_;
};

}  // namespace trainyard
