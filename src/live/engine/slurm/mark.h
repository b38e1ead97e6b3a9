// What we write on a job of Slurm's so that it is known again, whatever happens to either side: in
// its administrator's comment, which users cannot write.
//
//   trainyard: job=5 run=2 restarts=1 birth=1 since=1794888564 of=1a2b3c4d
//
// "job 5 of the daemon 1a2b3c4d; its last run that was ordered is run 2, which Slurm counts as
// restart 1". The order to start a run and this mark are one update, so that Slurm has both or
// neither. When it was submitted stands there because Slurm forgets that when it requeues a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/job/job_spec.h"

namespace trainyard {

struct SlurmMark {
  std::string daemon;  // which of all daemons; random, and kept in its state directory
  JobNumber job = 0;
  std::uint32_t run = 0;  // 0: none was ordered yet
  std::uint32_t restarts = 0;
  std::uint32_t birth = 1;  // it was reported under so many names
  std::int64_t since = 0;   // submitted, in seconds since the epoch; 0: not said

  bool operator==(const SlurmMark&) const = default;
};

std::string format(const SlurmMark& mark);
/// None: it is not one.
std::optional<SlurmMark> parse_mark(std::string_view text);

/// What a user finds there of a job that cannot be scheduled.
std::string not_taken(std::string_view why);
/// Whether it is of Trainyard: a mark, why a job is not taken, or that the script has held it.
bool is_ours(std::string_view text);

}  // namespace trainyard
