// A disk in memory, under SQLite (vfs.cpp): it loses what a file system may lose, and nothing else.
//
//  1. Whoever runs sees what was written last, synced or not; so does the next process when one was
//     killed.
//  2. When the power fails, what was synced is there. Of what was written since, each sector of
//  each
//     write is there or not, by lot; the same holds for a change of size, for a file that was made
//     and for one that was removed. Bytes that no write had touched are not harmed.
//  3. A write that a process was killed in has been done up to some sector.
//  4. A full disk takes a write up to the sector where it is full.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace trainyard {

class SimulatedDisk {
 public:
  explicit SimulatedDisk(std::uint64_t seed) : lots_(seed, 11) {}

  struct File {
    std::string name, now, synced;
    struct Change {
      std::size_t at = 0;
      std::string bytes;     // written there; or
      bool is_size = false;  // it was made `at` bytes long
    };
    std::vector<Change> pending;   // since it was synced, in order
    bool is_made = false;          // its name is on disk
    std::shared_ptr<void> shared;  // what processes share of it: locks, memory (vfs.cpp)
  };
  using FilePtr = std::shared_ptr<File>;

  enum class Outcome : std::uint8_t { ok, full, failed };

  [[nodiscard]] FilePtr find(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, FilePtr>& files() const { return files_; }
  FilePtr make(const std::string& name);
  void remove(const std::string& name);
  /// Somebody puts a file there, synced, in place of what there was.
  void install(const std::string& name, const std::string& bytes);
  Outcome write(File& file, std::size_t at, std::string_view bytes);
  Outcome resize(File& file, std::size_t size);
  Outcome sync(File& file);

  /// All that stands on it may be so many bytes.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t used() const;
  /// What others have written on it, out of our reach.
  void set_others(std::function<std::uint64_t()> others) { others_ = std::move(others); }

  /// Called before every write, change of size, sync and removal. False: the process dies in it.
  void set_watch(std::function<bool()> watch) { watch_ = std::move(watch); }
  /// The next sync fails, as on a disk with a bad sector.
  void fail_sync(bool fails = true) { fails_sync_ = fails; }
  [[nodiscard]] bool fails_sync() const { return fails_sync_; }

  /// The machine is off and on again.
  void lose_power();
  /// Of all that was done to it, in order.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  /// How many writes, syncs and so on there were.
  [[nodiscard]] std::uint64_t acts() const { return acts_; }

 private:
  bool goes_on(char what, const File& file, std::size_t at, std::size_t size);
  void apply_some(File& file);

  Random lots_;
  std::map<std::string, FilePtr> files_;
  std::map<std::string, FilePtr> removed_;  // whose names may still be on disk
  std::uint64_t capacity_ = std::uint64_t{1} << 40;
  std::function<std::uint64_t()> others_;
  std::function<bool()> watch_;
  bool fails_sync_ = false;
  std::uint64_t digest_ = 14695981039346656037ULL, acts_ = 0;
};

/// While it lives, SQLite's files are on this disk.
class SimulatedFiles {
 public:
  /// `sleep` is called with the microseconds that somebody waits for a lock.
  SimulatedFiles(SimulatedDisk& disk, std::uint64_t seed, std::function<void(int)> sleep);
  ~SimulatedFiles();
  SimulatedFiles(const SimulatedFiles&) = delete;
  SimulatedFiles& operator=(const SimulatedFiles&) = delete;

  /// From now on nothing that our process does has any effect: it is dead, and its objects only
  /// have to be put away. So are foreign ones, if the power has failed.
  void kill(bool foreign_too);
  /// They have been: what is opened from now on is a new process's.
  void bury();
  [[nodiscard]] bool is_dead() const;
  /// What is opened meanwhile belongs to a foreign process, which does not die with ours.
  void set_foreign(bool foreign);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace trainyard
