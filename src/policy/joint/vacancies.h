// What the machines have free while a plan is being made: what jobs that are to leave give back,
// and what others are to have, is counted here before the yard hears of it.
#pragma once

#include <vector>

#include "base/sorted_list.h"
#include "yard/plan.h"

namespace trainyard {

class Vacancies {
 public:
  explicit Vacancies(const Yard& yard);

  void give_back(JobId job, const Placement& place);
  void take(JobId job, const Placement& place);
  /// Whether the job could be there.
  [[nodiscard]] bool has_room(JobId job, const Placement& place) const;

  /// Adds up to so many workers to the job's place, on the first machines with room; says how many.
  std::int32_t add(JobId job, std::int32_t workers, Placement& place);
  /// The same for a job that needs at least so many; else nothing is taken.
  std::int32_t add_at_least(JobId job, std::int32_t least, std::int32_t most, Placement& place);
  /// Adds up to so many workers, with GPUs, on machines of this kind, close together: first where
  /// the job is already, then on the machine that they fill best, or on the fewest, of one rack if
  /// they fit.
  std::int32_t add_close(JobId job, KindId kind, std::int32_t workers, Placement& place);

 private:
  [[nodiscard]] const Resources& each(JobId job, MachineId machine) const;
  /// How many workers of the job would fit there, up to so many.
  [[nodiscard]] std::int32_t fitting(JobId job, MachineId machine, std::int32_t most) const;
  void put(JobId job, MachineId machine, std::int32_t workers, Placement& place);
  void add_in(JobId job, const std::vector<MachineId>& machines, std::int32_t& left,
              Placement& place);

  const Yard& yard_;
  std::vector<Resources> free_;       // by machine
  std::vector<MachineId> with_gpus_;  // those that have or had GPUs free, in order: few, mostly
};

/// Jobs that need no GPUs compete with nobody for them: first come, first served.
void start_without_gpus(const Yard& yard, const SortedList<JobId>& waiting, Plan& plan);

/// The first workers of a placement.
Placement first_of(const Placement& place, std::int32_t workers);

}  // namespace trainyard
