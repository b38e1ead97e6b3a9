// Room that is kept free for the trial jobs to come (queue.trial_rooms), as far as that is worth
// more to them than it costs those who wait.
//
// To make room takes as long as a job takes to leave. A trial job that comes meanwhile waits, for w
// on the average, and a second of it is worth queue.trial_worth; one that finds room free starts at
// once, and nobody is paused for it. A room that one takes is there again after b: when it ends, or
// when others have freed as much. So the n-th room is needed by a trial job that comes within b of
// n - 1 others, and is kept from a job of g GPUs as long as
//
//   worth x w x (trial jobs a second) x P(n - 1 or more come within b)  >=  1 + g x p
//
// On the right is what it costs to hold it back for a second: one second of its own, and what the
// price p of a GPU-second (economy/gpu_price.h) makes of its GPUs. Who comes later is not
// counted, as where the shortest go first most of those pass the queue. What is on the left is
// learnt: w from the trial jobs that had to wait, b from how long they run and from what others
// free, how often they come from the last kLast of them, or from a silence of more than four times
// as long; how many come within b is taken to be Poisson's. Nothing is kept before a trial job has
// had to wait, and never so much that a job could not have what it needs beside it if all were
// free.
//
// A job without GPUs counts as one of one.
//
// A room is one that each of the last kLast fits in; those are left out that ask for more than all
// that may be kept, an eighth of the GPUs, CPUs and memory. Where there are whole rooms enough
// anyway, a job starts wherever it fits. Otherwise rooms are kept on the machines that have most of
// one free: others may not start there, unless they leave as much of it as there is. The rest of
// the cluster is theirs. Each kind of GPU that trial jobs ask for has rooms of its own.
//
// Example: a trial job comes every 20 s, runs for a minute, and had to wait for 30 s, which counts
// 100 times; others free a room every minute; 301 wait for 672 GPUs. A job of 4 GPUs that is held
// back costs 1 + 300 x 4 / 672 = 2.8 a second; a room that is needed saves 100 x 30 / 20 = 150. It
// is there again after 30 s, within which come 1.5 on the average: 4 or more with a probability of
// 0.066, which makes 9.8; 5 or more with one of 0.0186, 2.79; 6 or more with one of 0.0045, 0.67.
// So 6 rooms are kept from it.
#pragma once

#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "policy/extend.h"

namespace trainyard {

class TrialRooms {
 public:
  static constexpr std::size_t kLast = 64;
  static constexpr std::int32_t kMostPart = 8;  // an eighth
  static constexpr std::int32_t kMost = 64;     // rooms
  static constexpr double kSilence = 4;         // times the usual
  /// Who waited for longer waited for something else than a pause.
  static constexpr Duration kLongestWait = minutes(10);

  explicit TrialRooms(PolicyContext& context);

  /// After the rights have taken note of it.
  void on_phase(JobId job, Phase from, Phase to);

  /// What is free may be something else than before.
  void begin_round();
  /// Whether this job would take kept room if it started there, when these have left.
  [[nodiscard]] bool would_be_taken(JobId job, const Placement& there,
                                    std::span<const JobId> leave);
  /// The machines on which room is kept from this job, and those to be avoided anyhow.
  [[nodiscard]] const Avoid& kept_from(JobId job, const Avoid* avoided);
  /// When to ask again for a job that is held back, if nothing happens until then.
  [[nodiscard]] Time next_look() const;
  /// "room for 2 trial jobs of up to 4 GPUs is kept free"; empty: nothing is kept from this job.
  [[nodiscard]] std::string describe(JobId job) const;

  /// By the names of kinds.
  void save_learnt(Learnt& learnt) const;
  void recall(const Learnt& learnt, Time now);

 private:
  /// Of a whole cluster: more than Resources can say.
  struct Amounts {
    std::int64_t gpus = 0, milli_cpus = 0, memory_mib = 0;
  };
  struct Room {
    Resources each;
    std::int32_t workers = 0;

    [[nodiscard]] std::int64_t gpus() const { return std::int64_t{workers} * each.gpus; }
    /// How many of these there are in so much.
    [[nodiscard]] std::int64_t times_in(const Amounts& all) const;
  };
  struct Arrival {
    Time at;
    Room room;
  };
  /// What is long ago counts less.
  struct RecentMean {
    double sum_s = 0, count = 0;

    void add(Duration time) {
      if (count >= 2 * kLast) sum_s /= 2, count /= 2;
      sum_s += time.seconds(), count += 1;
    }
    [[nodiscard]] double seconds() const { return count == 0 ? 0 : sum_s / count; }
  };
  struct Freed {
    Time at;
    std::int32_t gpus = 0;
  };
  struct Site {
    MachineId machine = kNoMachine;
    double rooms = 0;  // of one worker, that are free there, in parts as well
  };
  struct OfKind {
    KindId kind = kAnyKind;
    std::deque<Arrival> last;  // the oldest first
    RecentMean waits;          // of those that had to wait
    RecentMean runs;           // from their first start on
    Room room;                 // of no workers: none is to be kept
    bool has_sites = false;    // in this round
    std::vector<Site> sites;   // the most rooms first
  };

  [[nodiscard]] OfKind& of(KindId kind);
  void take_arrival(OfKind& of, const Arrival& arrival) const;
  void take_end(JobId job);
  [[nodiscard]] double back_after_s(const OfKind& of) const;
  [[nodiscard]] std::int32_t kept(const OfKind& of, JobId from) const;
  [[nodiscard]] double cost_of_holding(JobId job) const;
  [[nodiscard]] std::int64_t most_beside(JobId job, const Room& room) const;
  template <class Visit>
  void each_site(JobId from, Visit visit);
  void find_sites(OfKind& of) const;
  [[nodiscard]] bool are_enough(const OfKind& of, std::int32_t workers) const;
  [[nodiscard]] Resources free_then(MachineId machine) const;

  const Yard& yard_;
  const TrialRights& rights_;
  const Worth& worth_;
  const GpuPrice& gpu_price_;
  Time began_{std::numeric_limits<std::int64_t>::min()};  // what came until then is known
  Amounts all_;                                           // of the cluster
  Amounts at_most_;                                       // may be kept
  std::vector<std::int64_t> gpus_of_kind_;                // of the cluster
  std::vector<OfKind> kinds_;
  std::deque<Freed> freed_;  // by the last kLast others that ended, the oldest first
  Avoid avoid_;
  std::vector<std::pair<MachineId, Resources>> free_then_;
};

}  // namespace trainyard
