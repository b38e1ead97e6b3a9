// The machine that a daemon is on, simulated: its clocks, its disk, the cluster's processes, and
// the daemon itself, which is the real one but for its threads. It dies where it is told to, at a
// write or at a call of its engine, and comes up again.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "disk.h"
#include "live/engine/local/simulated_host.h"
#include "live/engine/memory/memory_engine.h"
#include "live/journal/journal.h"
#include "live/loop/yardmaster.h"
#include "live/system/kept_log.h"
#include "live/system/system.h"

namespace trainyard {

/// A directory of the real file system, for the few files that are not SQLite's.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Bytes that what is in it takes of the simulated disk.
  [[nodiscard]] std::uint64_t used() const;

 private:
  std::string path_;
};

class SimulatedMachine : public System {
 public:
  enum class Death : std::uint8_t { kill, power };

  /// Which engine the daemon has: the one in memory, on a cluster, or the local one, with
  /// supervisors that are simulated and files that are real.
  enum class Jobs : std::uint8_t { in_memory, in_processes };

  SimulatedMachine(std::uint64_t seed, Jobs jobs, const Cluster& cluster,
                   SchedulingOptions options);
  ~SimulatedMachine() override;

  // --- As the daemon sees it ---------------------------------------------------------------------
  [[nodiscard]] Time wall_clock() const override { return now_ + set_by_; }
  [[nodiscard]] Time steady_clock() const override { return now_ + steady_by_; }
  [[nodiscard]] std::string boot() const override { return "boot-" + std::to_string(boots_); }
  [[nodiscard]] Log& log() override { return log_; }
  Expected<void> before(std::string_view act) override;
  void after(std::string_view act) override;
  [[nodiscard]] bool has_threads() const override { return false; }
  void await_turn() override;
  [[nodiscard]] Disk disk(const std::string& path) const override;

  // --- Time --------------------------------------------------------------------------------------
  [[nodiscard]] Time now() const { return now_; }
  /// So much time passes; the daemon takes its turns when they are due.
  void pass(Duration time);
  /// Somebody sets the clock.
  void set_clock_by(Duration shift);
  /// How far the wall clock was from the truth then, and is now.
  [[nodiscard]] Duration set_by(Time at) const;
  [[nodiscard]] Duration set_by() const { return set_by_; }
  /// The machine is started anew: its steady clock begins at 0.
  void reboot();
  /// How long a daemon was up, in all, until then.
  [[nodiscard]] Duration up_until(Time at) const;

  // --- The daemon --------------------------------------------------------------------------------
  /// Why it did not come up; empty when it did.
  std::string begin();
  /// In good order.
  void end();
  [[nodiscard]] bool is_up() const { return master_ != nullptr && !is_dead(); }
  /// It has died, and nobody has put it away yet.
  [[nodiscard]] bool is_dead() const { return is_dead_; }
  [[nodiscard]] Yardmaster& master() { return *master_; }
  [[nodiscard]] Journal& journal() { return *journal_; }
  /// It dies at this write, sync or call of the engine from now on: the first is 1.
  void die_at(std::uint64_t point, Death death) { die_in_ = point, death_ = death; }
  void spare() { die_in_ = 0; }
  void put_away();
  /// What somebody does while a caller waits for an answer: a turn unless it says no.
  std::function<bool()> meanwhile;

  // --- Others ------------------------------------------------------------------------------------
  /// A foreign program opens the journal and does this; its connection stays open for so long.
  void meddle(const std::string& sql, Duration stays);
  void end_meddling();
  /// What a foreign program does, at once. It may die with the power, but not with the daemon.
  void as_foreign(const std::function<void()>& act);
  /// For the audit; null while others keep it locked.
  [[nodiscard]] std::unique_ptr<SQLite::Database> look_into_journal();
  [[nodiscard]] bool is_meddled_with() const { return foreign_ != nullptr; }

  /// Somebody fills the disk up to so many bytes, or makes room.
  void fill_disk(std::uint64_t free);
  void make_room() { others_ = 0; }
  [[nodiscard]] bool is_full() const { return others_ > 0; }
  /// The daemon has space kept for what ends jobs. Each start on a full disk takes some of it, and
  /// the last quarter is for starts alone.
  [[nodiscard]] bool has_reserve() const;
  [[nodiscard]] bool was_ever_full() const { return was_ever_full_; }
  /// From now on, once; and whether it did since the last daemon began.
  void fail_sync();
  [[nodiscard]] bool fails_sync() const { return fails_sync_; }

  [[nodiscard]] SimulatedDisk& files() { return disk_; }
  [[nodiscard]] bool is_local() const { return jobs_ == Jobs::in_processes; }
  [[nodiscard]] MemoryWorld& world() { return world_; }
  [[nodiscard]] SimulatedWorld& processes() { return processes_; }
  [[nodiscard]] Engine& engine() { return *engine_; }
  /// What runs and ran, whichever the engine is.
  [[nodiscard]] std::vector<MemoryWorld::Seen> runs();
  [[nodiscard]] std::vector<std::string> faults() const;
  /// The daemon goes on with a copy of the local engine's directory, on what may be another
  /// machine; while it is down.
  void copy_state();
  [[nodiscard]] KeptLog& kept_log() { return log_; }
  [[nodiscard]] std::uint64_t deaths() const { return deaths_; }
  /// How many daemons there were.
  [[nodiscard]] std::uint64_t daemons() const { return daemons_; }
  [[nodiscard]] const std::string& directory() const { return scratch_.path(); }
  [[nodiscard]] std::string path() const { return scratch_.path() + "/journal.db"; }

 private:
  /// Time as it is, whatever the clock says.
  struct TrueTime : System {
    explicit TrueTime(const SimulatedMachine& of) : machine(of) {}
    [[nodiscard]] Time wall_clock() const override { return machine.now_; }
    [[nodiscard]] Time steady_clock() const override { return machine.now_; }
    [[nodiscard]] std::string boot() const override { return machine.boot(); }
    [[nodiscard]] Disk disk(const std::string& path) const override { return machine.disk(path); }
    const SimulatedMachine& machine;
  };

  void end_life();
  bool reach_point();
  Expected<std::unique_ptr<Engine>> make_engine();
  [[nodiscard]] std::string state() const;
  [[nodiscard]] Time next_of_jobs();
  void sleep(int microseconds);

  ScratchDirectory scratch_;
  Time now_;
  Duration set_by_, steady_by_;
  std::vector<std::pair<Time, Duration>> settings_;  // of the wall clock: from then on it was so
  std::uint64_t boots_ = 0;
  struct Life {
    Time begin, end = Time::never();
  };
  std::vector<Life> lives_;  // of daemons
  bool fails_sync_ = false, was_ever_full_ = false;
  std::uint64_t others_ = 0;  // bytes of the disk
  KeptLog log_;
  SimulatedDisk disk_;
  SimulatedFiles files_;
  TrueTime true_time_;
  Jobs jobs_;
  MemoryWorld world_;
  SimulatedWorld processes_;
  SimulatedHost* host_ = nullptr;  // of the local engine
  Cluster machine_;                // that it is on
  int copies_ = 0;                 // of its directory
  Random lots_;
  SchedulingOptions options_;

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Yardmaster> master_;
  bool is_dead_ = false;
  std::uint64_t die_in_ = 0, deaths_ = 0, daemons_ = 0;
  Death death_ = Death::kill;

  std::unique_ptr<SQLite::Database> foreign_;
  Time foreign_ends_;
};

}  // namespace trainyard
