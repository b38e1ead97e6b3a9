#include "live/job/job_terms.h"

namespace trainyard {

MachineTerms terms_of(const JobSpec& spec) {
  const bool whole = spec.exclusive || spec.node.whole;
  MachineTerms terms{
      .shares_cpus = spec.per_worker.milli_cpus == 0 && !whole,
      .shares_memory = spec.per_worker.memory_mib == 0 && !spec.node.all_memory,
      .whole_machine = whole,
      .parts = spec.exclusive ? spec.workers : 1,
      .all_memory = spec.node.all_memory,
      .alone = spec.node.alone,
  };
  if (spec.constraint.empty()) return terms;
  if (auto constraint = parse_constraint(spec.constraint)) terms.constraint = *constraint;
  return terms;
}

}  // namespace trainyard
