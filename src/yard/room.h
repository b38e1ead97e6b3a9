// Room for a gang: the loop that every preemption and every reservation shares. Jobs that could
// leave are offered one by one, in the order in which the caller would rather see them go; as soon
// as the whole gang fits into what is free and what they would free, the room is chosen and
// everyone who need not leave is spared. Nothing is changed; the caller puts it into its plan.
//
// Example: 8-GPU machines m0 (A holds 6, 2 free) and m1 (B and C hold 4 each). A gang of 4 workers
// of 1 GPU is offered B: 2 + 4 >= 4, it fits. m1 has the most slots (4) and takes all four workers;
// only B leaves. Offered A first: 2 + 6 on m0, and only A leaves.
#pragma once

#include <span>
#include <vector>

#include "yard/yard.h"

namespace trainyard {

/// How far apart the workers of a gang may be.
struct Reach {
  std::int32_t machines = 1;     // on so many at most
  std::size_t tier = kMaxTiers;  // all in one group of this tier of the network: machine, rack ...
};

class RoomFinder {
 public:
  explicit RoomFinder(const Yard& yard);

  /// Begins anew for this job.
  void begin(JobId waiter, Reach reach);

  /// Adds what this job holds to what could be had. True: the gang fits now, and room() and
  /// victims() are valid until the next begin().
  bool offer(JobId victim);
  /// The same for those who ask only whether it fits: neither room() nor victims() is valid.
  bool fits_with(JobId victim);

  /// Takes a room that the caller found by other means. Of several victims, those are spared whose
  /// room others of them make as well.
  void settle(JobId waiter, std::span<const Share> room, std::span<const JobId> victims);

  [[nodiscard]] const Placement& room() const { return room_; }
  [[nodiscard]] std::span<const JobId> victims() const { return victims_; }

 private:
  struct Candidate {
    MachineId machine;
    std::int32_t slots;  // workers that would fit
  };
  /// Ties by number.
  struct MostSlots {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.slots != b.slots ? a.slots > b.slots : a.machine < b.machine;
    }
  };

  void reset(JobId waiter);
  void count_as_freed(JobId victim);
  void consider(MachineId machine);
  [[nodiscard]] bool usable(MachineId machine) const;
  [[nodiscard]] std::uint32_t group_of(MachineId machine) const;
  [[nodiscard]] bool fits_in(std::uint32_t group);
  void list_candidates_of(std::uint32_t group);
  [[nodiscard]] std::uint32_t group_that_fits_with(JobId victim);
  void choose(std::uint32_t group);
  [[nodiscard]] bool is_needed(JobId victim) const;
  void spare_the_unneeded();

  const Yard& yard_;
  JobId waiter_ = kNoJob;
  const Shape* shape_ = nullptr;
  Reach reach_;

  std::vector<Resources> freed_;  // by machine; zero but for those in touched_
  std::vector<MachineId> touched_;
  std::vector<std::int32_t> candidate_of_;  // by machine: its place in candidates_, or -1
  std::vector<Candidate> candidates_;
  std::vector<Candidate> here_;       // those of the group that is looked at
  std::vector<std::int64_t> slots_;   // by group, of its candidates
  std::vector<std::int32_t> needed_;  // by machine: the room's workers there, while it is looked at

  Placement room_;
  std::vector<JobId> victims_;
};

}  // namespace trainyard
