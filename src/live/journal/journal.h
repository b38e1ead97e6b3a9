// What survives the daemon: every job with its life, and what happened, in one SQLite database
// (STATE/journal.db, write-ahead log, synced at every commit; docs/journal.md has the tables).
//
//  1. What commit() returned without an error is on disk, all of it; what it refused is not, none
//     of it. The caller acknowledges, and acts, only after it.
//  2. A job's row is the fold of its events, written in the same transaction, so that the state is
//     rebuilt from the rows of unfinished jobs alone: a start takes the time that they take,
//     whatever has been finished before.
//  3. What others do to its files for a while (locks, readers that stay) is waited for or refused,
//     and over when they are; the write-ahead log does not grow with those who read.
//  4. A row that cannot be read, or whose checksum is wrong (row_sum.h), costs that job alone: it
//     is shown as failed. The specification of an array costs all its tasks that have not ended. A
//     setting is as if it had not been set, and an event is left out. The log names each such row.
//  5. A journal that was lost or shortened since is known by its head (journal_head.h), and no job
//     number is given a second time.
//  6. The format has a number. A newer one than ours is refused, nothing is touched.
//  7. Every commit keeps the time that the daemon has lived through (lived_time.h), and marks the
//     rows of jobs that end in it with that: their age counts from there.
//
// commit() and tidy() belong to one thread; the rest may be called from any.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "live/book/job_record.h"
#include "live/journal/checkpointer.h"
#include "live/journal/disk_use.h"
#include "live/journal/journal_head.h"
#include "live/journal/lived_time.h"
#include "live/service/service.h"
#include "live/system/system.h"

namespace trainyard {

/// What a job leaves behind when it has ended. Each is kept for a time of its own.
enum class Leftover : std::uint8_t {
  output,       // with its events; the row stays
  checkpoints,  // the work of its user
};

/// What becomes true together.
struct JournalChange {
  /// New ones. With an array's first task, whose specification names all of them, comes a mark that
  /// the others have no rows yet, unless they are here too.
  std::vector<const JobRecord*> submitted;
  std::vector<const JobRecord*> unfolded;  // tasks of arrays submitted before: their rows are new
  std::vector<JobNumber> whole;            // arrays all of whose tasks have rows
  std::vector<const JobRecord*> changed;   // the lives of known ones
  std::vector<const JobRecord*> buried;    // whose rows are damaged: they are written anew
  std::vector<LiveEvent> events;
  std::vector<std::pair<std::string, std::string>> settings;  // key, value
  Leftover erased_what{};
  std::vector<JobRecord> erased;  // jobs of which that is gone

  [[nodiscard]] bool empty() const {
    return submitted.empty() && unfolded.empty() && whole.empty() && changed.empty() &&
           buried.empty() && events.empty() && settings.empty() && erased.empty();
  }
};

class JournalSpace;

class Journal {
 public:
  /// Makes the database if there is none.
  static Expected<std::unique_ptr<Journal>> open(System& system, const std::string& path);
  ~Journal();

  Expected<void> commit(const JournalChange& change);

  /// Those that have not ended, by number. One whose row is damaged has failed, and says so.
  [[nodiscard]] Expected<std::vector<JobRecord>> unfinished() const;
  /// An array that was submitted, and whose other tasks have no rows yet.
  struct FoldedArray {
    JobNumber number = 0;
    /// As they were submitted. They have failed if the specification is damaged, or all rows that
    /// say whose the array is.
    std::vector<JobRecord> tasks;
  };
  [[nodiscard]] Expected<std::vector<FoldedArray>> folded() const;
  [[nodiscard]] Expected<std::optional<JobRecord>> find(JobNumber number) const;
  /// Those that have ended. (Nothing is folded: they do not wait.)
  [[nodiscard]] Expected<JobPage> find_ended(const JobFilter& filter) const;
  /// What was submitted under this number (JobRecord::submission). Empty once the job, or the last
  /// task of the array, has ended. Records are found without it.
  [[nodiscard]] Expected<JobPayload> payload(JobNumber submission) const;

  /// An array, as its tasks stand.
  struct ArrayTally {
    Identity owner;
    std::size_t unfinished = 0, not_done = 0;  // still to end; failed or cancelled
  };
  /// None when there is no array of this number.
  [[nodiscard]] Expected<std::optional<ArrayTally>> tally(JobNumber array) const;
  /// The number of the job that was born under this name; none: there was no such job.
  [[nodiscard]] Expected<std::optional<JobNumber>> born(const std::string& name) const;
  /// The numbers of the jobs that go by this name; none when there are none.
  [[nodiscard]] Expected<std::vector<JobNumber>> numbers(const JobName& name) const;
  /// Jobs that have ended, by number, of the filter's user: the next after this one, some hundred
  /// at most. None: there are no more. Holds up nobody.
  [[nodiscard]] Expected<std::vector<JobRecord>> ended_after(const JobFilter& of,
                                                             JobNumber after) const;
  /// At most `limit`, in order.
  [[nodiscard]] Expected<std::vector<LiveEvent>> events(std::int64_t after,
                                                        std::size_t limit) const;
  /// The last of a job, at most `limit`, in order.
  [[nodiscard]] Expected<std::vector<LiveEvent>> events_of(JobNumber job, std::size_t limit) const;

  // What a start asks for. It was read when the journal was opened, and follows what is committed;
  // it belongs to the same thread.
  /// Of all jobs that it has or is known to have had.
  [[nodiscard]] JobNumber last_number() const;
  [[nodiscard]] std::int64_t last_event() const { return known_.last_event; }
  [[nodiscard]] Time last_time() const { return known_.last_time; }
  [[nodiscard]] std::optional<std::string> setting(const std::string& key) const;
  /// Its row was damaged when the journal was opened.
  [[nodiscard]] bool is_setting_damaged(const std::string& key) const;
  /// What has been lost of it since it was last written, for people; empty: nothing.
  [[nodiscard]] const std::string& loss() const { return loss_; }

  /// What a user's jobs take of the disk; and those of all users, and how many these are. By the
  /// thread that commits.
  [[nodiscard]] Expected<DiskUse> disk_use(uid_t user);
  [[nodiscard]] Expected<AllDiskUse> disk_use_of_all();

  /// Where the system has no threads (checkpointer.h).
  void checkpoint() { checkpointer_.checkpoint(); }
  /// Tidies up a little: removes payloads of jobs that had ended under an older format, and gives
  /// free pages back to the file system where they are many. True: there is more to do.
  Expected<bool> tidy();

  /// Time that this daemon and those before it have lived through with this journal.
  [[nodiscard]] Duration lived() const { return lived_.now(); }
  /// Jobs that ended before both: by time lived, and by the wall clock.
  struct Age {
    Duration lived;
    Time wall;
  };
  /// Returns jobs of that age of which this is still there, the oldest first, `limit` at most. The
  /// age of a job whose row is damaged is not known: it is left out.
  [[nodiscard]] Expected<std::vector<JobRecord>> left_behind(Leftover what, Age before,
                                                             std::size_t limit) const;
  struct LeftCount {
    std::size_t all = 0, old = 0;  // jobs that have ended; those of that age
  };
  [[nodiscard]] Expected<LeftCount> count_left_behind(Leftover what, Age before) const;

  struct Tables;  // tables.h

 private:
  Journal(System& system, std::string path, std::unique_ptr<Tables> writing);
  static std::unique_ptr<Tables> open_to_write(const std::string& path);
  void bound_log();
  void recall();
  void recall_lived();
  void recall_head();
  void tell_damage(Tables& tables) const;
  void remember(const JournalChange& change);
  void write_head() const;
  template <class Work>
  auto read(Work work) const;
  [[nodiscard]] std::unique_ptr<Tables> take_reader() const;
  void put_back(std::unique_ptr<Tables> reader) const;

  System& system_;
  std::string path_;
  std::unique_ptr<Tables> writing_;
  std::unique_ptr<JournalSpace> space_;  // of writing_
  // Connections that read, made as they are needed: a long read holds up no other, nor the writer.
  mutable std::mutex reading_mutex_;
  mutable std::condition_variable reader_is_back_;
  mutable std::vector<std::unique_ptr<Tables>> readers_;  // that nobody uses now
  mutable std::size_t readers_made_ = 0;
  std::uintmax_t next_bound_;  // bytes of the write-ahead log at which it is emptied
  SeldomLog seldom_;
  LivedTime lived_;
  JournalHead head_;
  struct Known {
    JobNumber last_number = 0;
    std::int64_t last_event = 0;
    Time last_time;
    std::map<std::string, std::string> settings;
    std::set<std::string> damaged_settings;
  } known_;
  mutable std::mutex damage_mutex_;
  mutable std::set<std::string> told_damage_;
  std::string loss_;
  Checkpointer checkpointer_;
};

}  // namespace trainyard
